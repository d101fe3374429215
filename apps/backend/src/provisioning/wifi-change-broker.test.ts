import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@station/kit/clock';
import { type PublishCommand, UnansweredError } from '../core/commands.ts';
import { createDeviceEvents } from '../core/device-events.ts';
import { createLeadership } from '../core/leadership.ts';
import { createDeviceStore } from '../store/device-store.ts';
import type { SecretBox } from '../store/secret-box.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createSettingsStore } from './settings-store.ts';
import { createWifiChangeStore } from './wifi-change-store.ts';
import { startWifiChanges } from './wifi-change.ts';
import { createWifiOffers } from './wifi-offer.ts';

const clock = systemClock;
const network = { ssid: 'Home', password: 'password of the home' };

/** Hides a text well enough for a test. `key`: what it was sealed with. */
const boxOf = (key: string): SecretBox => ({
  seal: (text) => Buffer.from(key + text).toString('base64'),
  open: (sealed) => {
    const text = Buffer.from(sealed, 'base64').toString();
    return text.startsWith(key) ? text.slice(key.length) : null;
  },
});

/** Changes of the Wi-Fi with two online devices, and a broker that does what a test says. */
async function changesFor({ isLeader = true, isReady = true }: { isLeader?: boolean; isReady?: boolean } = {}) {
  await using starting = new AsyncDisposableStack();
  const { db } = starting.use(await openTestStore());
  const broker = { told: [] as string[], isReady, publish: (async () => undefined) as PublishCommand };
  const leadership = createLeadership();
  leadership.set(isLeader ? 1 : null);
  const key = { of: 'a' };
  const box: SecretBox = {
    seal: (...text) => boxOf(key.of).seal(...text),
    open: (...text) => boxOf(key.of).open(...text),
  };
  const settings = createSettingsStore({ db, box, clock });
  const devices = createDeviceStore({ db, clock });
  for (const externalId of ['one', 'two']) {
    await devices.provision({ externalId, type: 'light', name: externalId, zoneId: null });
  }
  await db.updateTable('devices').set({ status: 'online' }).execute();
  const changes = starting.use(
    startWifiChanges({
      store: createWifiChangeStore({ db, box, clock }),
      offers: createWifiOffers({ settings, hasDevices: async () => true }),
      broker: {
        isReady: () => broker.isReady,
        publishCommand: async (externalId, payload, expiresInMs) => {
          broker.told.push(externalId);
          await broker.publish(externalId, payload, expiresInMs);
        },
      },
      events: createDeviceEvents(recordedLog()),
      leadership,
      clock,
      logger: recordedLog(),
    }),
  );
  const running = starting.move();
  return {
    changes,
    broker,
    leadership,
    key,
    results: async () => (await changes.view()).change?.devices.map(({ state, reason }) => [state, reason]),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

test('a message that the broker refuses is not told, with the reason; the change ends', async () => {
  await using all = await changesFor();
  all.broker.publish = async (externalId) => {
    if (externalId === 'one') throw new Error('refused');
    throw new UnansweredError();
  };
  await all.changes.start(network, 'user');
  await until('both are tried', async () => (await all.results())?.[1]?.[0] === 'told');
  // A message without an answer may have arrived.
  const refused = 'The broker did not take the message.';
  assert.deepEqual(await all.results(), [
    ['not_told', refused],
    ['told', null],
  ]);
  assert.equal((await all.changes.view()).change?.state, 'running');
});

test('nobody is told before the broker is ready', async () => {
  await using all = await changesFor({ isReady: false });
  await all.changes.start(network, 'user');
  await all.changes.settled();
  assert.deepEqual(all.broker.told, []);
  all.broker.isReady = true;
  await until('both are told', () => all.broker.told.length === 2);
});

test('with several backends the leader tells the devices', async () => {
  await using all = await changesFor({ isLeader: false });
  await all.changes.start(network, 'user');
  await all.changes.settled();
  await sleep(50);
  assert.deepEqual(all.broker.told, []);
  all.leadership.set(2);
  await until('both are told', () => all.broker.told.length === 2);
});

test('a password that cannot be read any more is not guessed', async () => {
  await using all = await changesFor({ isReady: false });
  await all.changes.start(network, 'user');
  all.key.of = 'b';
  all.broker.isReady = true;
  await all.changes.settled();
  await until('it ends', async () => (await all.changes.view()).change?.state === 'ended');
  const unreadable = 'The station cannot read the password any more.';
  assert.deepEqual(await all.results(), [
    ['not_told', unreadable],
    ['not_told', unreadable],
  ]);
  assert.deepEqual(all.broker.told, []);
});

test('one change runs at a time, also when two begin at once', async () => {
  await using all = await changesFor({ isReady: false });
  const started = await Promise.all([all.changes.start(network, 'a'), all.changes.start(network, 'b')]);
  assert.deepEqual(started.toSorted(), [false, true]);
});
