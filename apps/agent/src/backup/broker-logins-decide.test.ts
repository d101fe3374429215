import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerLogins } from '@station/protocol/agent-backup';
import { joinLogins } from './broker-logins-decide.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const topicOf = (name: string, end: string): string => `station/${stationId}/device/${name}/${end}`;
const allow = (acltype: string, topic: string) => ({ acltype, topic, priority: 0, allow: true });
const rights = (name: string) => [
  allow('publishClientSend', topicOf(name, 'state')),
  allow('subscribeLiteral', topicOf(name, 'command')),
];
const secret = (of: string) => ({ password: `${of}-password`, salt: 'salt-salt', iterations: 101 });
const device = (username: string, of = username, more: object = {}) => ({
  username,
  textName: '',
  ...secret(of),
  roles: [{ rolename: `device-${username}` }],
  ...more,
});
const role = (name: string, acls: unknown = rights(name)) => ({ rolename: `device-${name}`, acls });

const backend = {
  username: 'backend',
  ...secret('own'),
  roles: [{ rolename: 'admin' }, { rolename: 'station-backend' }],
};
const ofAdmin = { username: 'bridge', ...secret('bridge'), roles: [{ rolename: 'reader' }] };
const ownRoles = [
  { rolename: 'admin', acls: [allow('publishClientSend', '$CONTROL/dynamic-security/#')] },
  { rolename: 'reader', acls: [allow('subscribePattern', 'station/#')] },
];
const present = {
  clients: [backend, ofAdmin, device('other')],
  roles: [...ownRoles, role('other')],
  groups: [],
  defaultACLAccess: { publishClientReceive: true },
} as BrokerLogins;

type Joined = { clients: { username: string }[]; roles: unknown[]; defaultACLAccess: object };
const join = (clients: object[], roles: object[], more: object = {}): Joined =>
  joinLogins(present, { clients, roles, ...more } as BrokerLogins) as unknown as Joined;

test('devices get their logins back, and those of this station are replaced', () => {
  const joined = join([{ ...backend, ...secret('old') }, device('lamp')], [role('lamp')]);
  assert.deepEqual(joined.clients, [backend, ofAdmin, device('lamp')]);
  assert.deepEqual(joined.roles, [...ownRoles, role('lamp')]);
});

test('what nobody has a right to is decided here', () => {
  const joined = join([], [], { defaultACLAccess: { publishClientSend: true, subscribe: true }, groups: [{ a: 1 }] });
  const closed = { publishClientSend: false, publishClientReceive: false, subscribe: false, unsubscribe: true };
  assert.deepEqual(joined, { ...present, clients: [backend, ofAdmin], roles: ownRoles, defaultACLAccess: closed });
});

for (const { name, clients, roles = [] } of [
  { name: 'a login without a role', clients: [{ username: 'backdoor', ...secret('x') }] },
  {
    name: 'a login with the role of the admin',
    clients: [device('backdoor', 'x', { roles: [{ rolename: 'admin' }] })],
  },
  { name: 'a login of the backend', clients: [device('backend', 'x')], roles: [role('backend')] },
  { name: "a login of this station's admin", clients: [device('bridge', 'x')], roles: [role('bridge')] },
  { name: 'a name with a wildcard', clients: [device('+')], roles: [role('+')] },
  { name: 'a device with the topics of another one', clients: [device('lamp')], roles: [role('lamp', rights('door'))] },
  {
    name: 'a device whose station is a wildcard',
    clients: [device('lamp')],
    roles: [role('lamp', [allow('publishClientSend', 'station/+/device/lamp/state')])],
  },
  { name: 'all topics', clients: [device('lamp')], roles: [role('lamp', [allow('subscribePattern', '#')])] },
  {
    name: 'the commands of a device, to send',
    clients: [device('lamp')],
    roles: [role('lamp', [allow('publishClientSend', topicOf('lamp', 'command'))])],
  },
  { name: 'a login without a password', clients: [device('lamp', 'x', { password: null })], roles: [role('lamp')] },
  { name: 'a password that costs minutes', clients: [device('lamp', 'x', { iterations: 1e9 })], roles: [role('lamp')] },
  { name: 'roles that are none', clients: [device('lamp', 'x', { roles: 'device-lamp' })], roles: [role('lamp', 7)] },
])
  test(`not taken from a backup: ${name}`, () => assert.deepEqual(join(clients, roles).clients, [backend, ofAdmin]));

test('other roles, groups and rights of a device in a backup are left out', () => {
  const roles = [{ rolename: 'device-lamp' }, { rolename: 'admin' }];
  const greedy = device('lamp', 'lamp', { roles, groups: [{ groupname: 'all' }], clientid: 'backend' });
  const joined = join(
    [greedy, device('lamp', 'second')],
    [role('lamp', [...rights('lamp'), allow('subscribePattern', '#')])],
  );
  assert.deepEqual(joined.clients, [backend, ofAdmin, device('lamp')]);
  assert.deepEqual(joined.roles, [...ownRoles, role('lamp')]);
});
