import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { WebSocketServer, type WebSocket } from 'ws';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createDeviceEvents } from '../core/device-events.ts';
import { builtInTypes } from '../../testing/built-in-types.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createLeadership } from '../core/leadership.ts';
import { openSecretBox } from '../store/secret-box.ts';
import { createSocketHub } from '../socket/hub.ts';
import { ensureStation } from '../store/station-store.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createBroadcastTap } from './outgoing-events.ts';
import { createCloudConfigStore } from './cloud-config-store.ts';
import { readCloudSettings } from './cloud-settings.ts';
import { startCloud, type CloudOthers } from './cloud.ts';

const token = 'a token that is long enough';

/** Backends on one database, and a cloud that accepts everyone and records their first message. */
async function setUp() {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const store = starting.use(await openTestStore());
  const box = await openSecretBox({ disk: nodeDisk, path: join(folder.path, 'key') });
  const clock = systemClock;
  await ensureStation(store.db, { stationId: 'chip', generateId: () => 'chip', timeZone: 'UTC', clock });
  const config = createCloudConfigStore({ db: store.db, box, clock });
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const hellos: { type: string; stationToken?: string; claimSecret?: string }[] = [];
  const open = new Set<WebSocket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.once('message', (data) => {
      const hello = JSON.parse((data as Buffer).toString('utf8')) as (typeof hellos)[number];
      hellos.push(hello);
      if (hello.type === 'station_auth') socket.send('{"type":"auth_ok","acks":true}');
    });
  });
  await once(server, 'listening');
  starting.defer(() => {
    for (const socket of open) socket.terminate();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { settings } = readCloudSettings({ CLOUD_HOST: `ws://127.0.0.1:${port}` });
  assert.ok(settings !== null);

  const all = starting.move();
  const listeners = new Set<() => void>();
  const others: CloudOthers = {
    publishCloudChanged: () => setImmediate(() => listeners.forEach((listener) => listener())),
    onCloudChanged: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
  const backend = async (leads: boolean, ownBox = box) => {
    const logger = recordedLog();
    const leadership = createLeadership();
    leadership.set(leads ? 1 : null);
    const tap = createBroadcastTap();
    const cloud = all.use(
      await startCloud({
        settings,
        stationId: 'chip',
        store,
        box: ownBox,
        devices: createDeviceStore({ db: store.db, clock }),
        types: builtInTypes,
        commands: { send: async () => ({ kind: 'unknown_device' }) },
        scenes: { list: async () => [], run: async () => ({ sent: [], failed: [] }) },
        publish: async () => undefined,
        events: createDeviceEvents(logger),
        hub: tap.on(createSocketHub()),
        tap,
        tokens: { revoke: () => undefined },
        leadership,
        others,
        clock,
        disk: nodeDisk,
        logger,
        random: Math.random,
        onReset: () => undefined,
      }),
    );
    return { cloud, leadership, logger };
  };
  return { store, config, box, hellos, open, backend, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

test('a disconnect at one backend makes the link holder end the link and show the new code', async () => {
  await using all = await setUp();
  await all.config.claim(token);
  const leader = await all.backend(true);
  const other = await all.backend(false);
  await until('the link is up', async () => (await leader.cloud.status()).state === 'authenticated');
  await other.cloud.unclaim();
  const claim = await other.cloud.claim();
  await until('the station says the new code', () => all.hellos.length === 2);
  assert.deepEqual(all.hellos[1], { type: 'claim_handshake', chipId: 'chip', claimSecret: claim?.claimSecret });
  await until('the link of before is gone', () => all.open.size === 1);
  assert.equal((await leader.cloud.status()).state, 'unclaimed');
});

test('a failed disconnect leaves the link unchanged; a second attempt succeeds', async () => {
  await using all = await setUp();
  await all.config.claim(token);
  const { cloud } = await all.backend(true);
  await until('the link is up', async () => (await cloud.status()).state === 'authenticated');
  const rename = (from: string, to: string) => all.store.db.schema.alterTable(from).renameTo(to).execute();
  await rename('cloud_commands', 'away');
  await assert.rejects(cloud.unclaim());
  await rename('away', 'cloud_commands');
  const { state, claimedAt } = await cloud.status();
  assert.equal(state, 'authenticated');
  assert.ok(claimedAt !== null);
  assert.equal(all.hellos.length, 1);
  await cloud.unclaim();
  assert.equal((await cloud.status()).state, 'unclaimed');
});

test('a claim during a change of leadership: the token is stored, and only the new leader uses it', async () => {
  await using all = await setUp();
  let onSeal = (): void => undefined;
  const box = {
    ...all.box,
    seal: (...given: Parameters<typeof all.box.seal>) => {
      onSeal();
      return all.box.seal(...given);
    },
  };
  const first = await all.backend(true, box);
  await until('the station says its code', () => all.hellos.length === 1);
  // While the token is being stored.
  onSeal = () => first.leadership.set(null);
  for (const socket of all.open) socket.send(JSON.stringify({ type: 'claim_success', stationToken: token }));
  await until('the token is kept', async () => (await all.config.read()).stationToken === token);
  const second = await all.backend(true);
  await until('the link is up', async () => (await second.cloud.status()).state === 'authenticated');
  assert.equal((await first.cloud.status()).isHeldHere, false);
  await until('there is one connection', () => all.open.size === 1);
  assert.deepEqual(
    all.hellos.map(({ type }) => type),
    ['claim_handshake', 'station_auth'],
  );
});
