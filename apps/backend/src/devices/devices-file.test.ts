import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { hashToken, newToken } from '../core/secrets.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { importDevices } from './devices-file.ts';
import { createDeviceStore } from '../store/device-store.ts';

const device = (externalId: string) => ({ externalId, type: 'light', name: `Lamp ${externalId}`, token: newToken() });

async function setUp() {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const { db } = starting.use(await openTestStore());
  const path = join(folder.path, 'devices.json');
  const devices = createDeviceStore({ db, clock: systemClock });
  const put = (content: unknown): Promise<void> =>
    writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  const read = () => importDevices({ db, disk: nodeDisk, path, clock: systemClock });
  const all = starting.move();
  return { devices, put, read, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

test('devices of the file are added with their tokens, once; one that was removed stays removed', async () => {
  await using all = await setUp();
  const a = device('a');
  const b = device('b');
  await all.put({ devices: [a, b] });
  assert.deepEqual(await all.read(), {
    added: 2,
    logins: [a, b].map(({ externalId, token }) => ({ externalId, token })),
  });
  const row = await all.devices.findByExternalId('a');
  assert.deepEqual([row?.device_token, row?.name, row?.status], [hashToken(a.token), 'Lamp a', 'unknown']);
  assert.equal((await all.read()).added, 0);
  await all.devices.remove(row?.id ?? '');
  assert.deepEqual(await all.read(), { added: 0, logins: [{ externalId: 'b', token: b.token }] });
});

test('a device that the station knows keeps its token, also when the file has another', async () => {
  await using all = await setUp();
  const { token } = await all.devices.provision({ externalId: 'a', type: 'light', name: 'Mine', zoneId: null });
  const c = device('c');
  await all.put({ devices: [device('a'), c] });
  assert.deepEqual(await all.read(), { added: 1, logins: [{ externalId: 'c', token: c.token }] });
  assert.equal((await all.devices.findByExternalId('a'))?.device_token, hashToken(token));
});

test('a missing or invalid file is refused, and the error repeats none of its content', async () => {
  await using all = await setUp();
  await assert.rejects(all.read(), /does not exist/);
  const secret = newToken();
  for (const content of [
    `{"devices":[{"token":"${secret}"`,
    { devices: [{ ...device('a'), token: 5 }] },
    { devices: [device('a/b')] },
  ]) {
    await all.put(content);
    await assert.rejects(
      all.read(),
      (error: Error) => /DEVICES_FILE/.test(error.message) && !error.message.includes(secret),
    );
  }
  assert.deepEqual(await all.devices.list(), []);
});
