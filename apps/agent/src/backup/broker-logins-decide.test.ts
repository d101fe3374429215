import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinLogins } from './broker-logins-decide.ts';

const login = (username: string, password: string) => ({ username, password });
const file = (...clients: { username: string; password: string }[]) => ({ clients });

for (const { name, present, saved, joined } of [
  {
    name: "the backend keeps this station's password, devices get theirs back",
    present: file(login('backend', 'new')),
    saved: file(login('backend', 'old'), login('lamp', 'a')),
    joined: file(login('backend', 'new'), login('lamp', 'a')),
  },
  {
    name: 'a device that only this station has is replaced by those of the backup',
    present: file(login('backend', 'new'), login('other', 'x')),
    saved: file(login('lamp', 'a')),
    joined: file(login('backend', 'new'), login('lamp', 'a')),
  },
  {
    name: 'without a login of the backend here, the one of the backup is used',
    present: file(),
    saved: file(login('backend', 'old'), login('lamp', 'a')),
    joined: file(login('backend', 'old'), login('lamp', 'a')),
  },
]) {
  test(name, () => assert.deepEqual(joinLogins(present, saved), joined));
}

test('roles and groups of the backup are kept', () => {
  const saved = {
    ...file(login('lamp', 'a')),
    roles: [{ rolename: 'device' }],
    defaultACLAccess: { subscribe: false },
  };
  const joined = joinLogins(file(login('backend', 'new')), saved);
  assert.deepEqual({ ...joined, clients: [] }, { ...saved, clients: [] });
});
