import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxDeviceTypeBytes } from '@station/protocol/device-types';
import { createDeviceEvents } from '../core/device-events.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { steppedClock } from '../../testing/stepped-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { openDeviceDescriptions } from './device-descriptions.ts';

const lock = (key: string, more: object = {}) => ({
  type: 'door-lock',
  capabilities: [{ key, kind: 'boolean' }],
  ...more,
});

async function withDescriptions() {
  await using starting = new AsyncDisposableStack();
  const store = starting.use(await openTestStore());
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const clock = steppedClock();
  const refused: string[] = [];
  const described: string[] = [];
  const log = { refused: (faults: readonly string[]) => void refused.push(faults.join()), added: () => undefined };
  const open = () => openDeviceDescriptions({ db: store.db, events, log, clock, logger });
  starting.use(events.subscribe((event) => event.kind === 'described' && described.push(event.deviceId)));
  const devices = createDeviceStore({ db: store.db, clock });
  const descriptions = starting.use(await open());
  const running = starting.move();
  return {
    db: store.db,
    events,
    clock,
    descriptions,
    open,
    refused,
    described,
    logger,
    add: async (externalId: string) => {
      const device = { externalId, type: 'door-lock', name: externalId, zoneId: null };
      return { id: (await devices.provision(device)).id, type: 'door-lock' };
    },
    /** The first capability, by which tests tell descriptions apart. */
    first: (id: string) => descriptions.find(id)?.capabilities[0]?.key,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

test('each device has its own description, and only the latest one', async () => {
  await using all = await withDescriptions();
  const { descriptions, first, clock } = all;
  const honest = await all.add('honest');
  const hijacked = await all.add('hijacked');
  await descriptions.take(honest, lock('locked'));
  await descriptions.take(hijacked, lock('unlocked'));
  assert.deepEqual([first(honest.id), first(hijacked.id)], ['locked', 'unlocked']);
  await clock.advance(10_000);
  await descriptions.take(hijacked, lock('open'));
  await until('the change', () => first(hijacked.id) === 'open');
  assert.equal(first(honest.id), 'locked');
  assert.equal((await all.db.selectFrom('device_descriptions').selectAll().execute()).length, 2);
  await using next = await all.open();
  assert.deepEqual(
    next
      .all()
      .map(({ deviceIds }) => deviceIds)
      .sort(),
    [[honest.id], [hijacked.id]].sort(),
  );
});

test('devices of one make share an entry', async () => {
  await using all = await withDescriptions();
  const one = await all.add('one');
  const other = await all.add('other');
  for (const device of [one, other]) await all.descriptions.take(device, lock('locked'));
  assert.deepEqual(
    all.descriptions.all().map(({ deviceIds }) => deviceIds),
    [[one.id, other.id]],
  );
  assert.equal(all.descriptions.find(one.id), all.descriptions.find(other.id));
});

test('a description is gone with its device, and with a handshake that has none', async () => {
  await using all = await withDescriptions();
  const silent = await all.add('silent');
  const removed = await all.add('removed');
  for (const device of [silent, removed]) await all.descriptions.take(device, lock('locked'));
  await all.db.deleteFrom('devices').where('id', '=', removed.id).execute();
  all.events.emit({ kind: 'removed', deviceId: removed.id, externalId: 'removed' });
  assert.equal(all.first(removed.id), undefined);
  await all.clock.advance(10_000);
  await all.descriptions.take(silent, null);
  assert.equal(all.first(silent.id), undefined);
  assert.deepEqual(await all.db.selectFrom('device_descriptions').selectAll().execute(), []);
  await all.descriptions.take(removed, lock('again'));
  assert.deepEqual(await all.db.selectFrom('device_descriptions').selectAll().execute(), []);
});

test('a device that describes itself anew again and again is heard every ten seconds, with its latest', async () => {
  await using all = await withDescriptions();
  const device = await all.add('restless');
  for (let count = 0; count < 230; count++) await all.descriptions.take(device, lock(`k${count}`));
  assert.deepEqual([all.first(device.id), all.described.length], ['k0', 1]);
  await all.clock.advance(10_000);
  await until('the latest counts', () => all.first(device.id) === 'k229');
  assert.equal(all.described.length, 2);
});

test('names of other types take no place and change nothing', async () => {
  await using all = await withDescriptions();
  const device = await all.add('impostor');
  for (let count = 0; count < 230; count++)
    await all.descriptions.take(device, { ...lock('x'), type: `junk-${count}` });
  assert.deepEqual([all.descriptions.all(), all.described], [[], []]);
});

test('a faulty or too large description is refused, and the one of before stays', async () => {
  await using all = await withDescriptions();
  const device = await all.add('faulty');
  await all.descriptions.take(device, lock('locked'));
  for (const faulty of [lock('x\n'), lock('x', { names: { en: 'x'.repeat(maxDeviceTypeBytes) } })]) {
    await all.clock.advance(10_000);
    await all.descriptions.take(device, faulty);
  }
  assert.equal(all.refused.length, 2);
  assert.match(all.refused[1] ?? '', /larger than 32768 bytes/);
  assert.equal(all.first(device.id), 'locked');
});

test('what another replica stored counts once it says so', async () => {
  await using all = await withDescriptions();
  const device = await all.add('shared');
  await using other = await all.open();
  await other.take(device, lock('locked'));
  await until('it is known', () => all.first(device.id) === 'locked');
});
