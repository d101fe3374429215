import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '@station/kit/clock';
import { createDeviceEvents } from '../core/device-events.ts';
import { alwaysLeader } from '../core/leadership.ts';
import { hashToken } from '../core/secrets.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createRemovedLogins } from '../store/removed-device-store.ts';
import type { Store } from '../store/database.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { simulateRadio } from '../../testing/simulated-radio.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { openExpectedDevices } from './expected-devices.ts';
import { startProvisionings } from './provisioning-service.ts';
import { createProvisioningStore, type NewProvisioning } from './provisioning-store.ts';

const handshake = { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' };
const box = { seal: (text: string) => text, open: (text: string) => text };

type Case = { seed: number; kind: 'embedded' | 'external'; method: NewProvisioning['method']; isKnown: boolean };

/** Repeatable numbers in [0, 1) (Lehmer, 48271 mod 2^31 - 1). */
function numbersFrom(seed: number): () => number {
  let state = seed + 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** One device that is added, with a broker that holds logins, and a station that may be restarted. */
async function world({ db }: Store, { seed, kind, method, isKnown }: Case) {
  const externalId = `${kind}-${method}-${isKnown}-${seed}`;
  let ahead = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
  };
  const isBrokerExternal = kind === 'external';
  const store = createProvisioningStore({ db, box, clock, isBrokerExternal });
  const devices = createDeviceStore({ db, clock });
  const before = isKnown ? await devices.provision({ externalId, type: 'light', name: 'Old', zoneId: null }) : null;
  /** Of the external broker. */
  const logins = new Map(before && isBrokerExternal ? [[externalId, before.token]] : []);
  const logger = recordedLog();
  const removedLogins = createRemovedLogins(db);
  /** What the device has in its memory. */
  let token = before?.token ?? null;
  const start = () => {
    const events = createDeviceEvents(logger);
    const radio = simulateRadio({ externalId });
    const expected = openExpectedDevices({ store, events, stationEvents: { note: () => undefined }, clock, logger });
    const broker = {
      kind,
      isReady: () => true,
      reconnect: async () => undefined,
      addLogins: async (all: readonly { externalId: string; token: string }[]) =>
        all.forEach((login) => logins.set(login.externalId, login.token)),
    };
    const provisionings = startProvisionings({
      store,
      expected,
      broker,
      radio,
      events,
      leadership: alwaysLeader,
      clock,
      logger,
      stationId: 'station',
      uuids: { serviceUuid: 'service', characteristicUuid: 'characteristic' },
      brokerAddress: async () => ({ host: 'broker', port: 1883 }),
    });
    return { events, radio, expected, provisionings };
  };
  let running = start();
  const mayLogIn = async (): Promise<boolean> => {
    if (token === null) return false;
    if (isBrokerExternal) return logins.get(externalId) === token;
    const device = await devices.findByExternalId(externalId);
    return device?.device_token === hashToken(token) || running.expected.mayLogIn(externalId, hashToken(token));
  };
  const removeNoted = async (): Promise<void> => {
    for (const login of await removedLogins.list()) {
      const isGone = (await devices.findByExternalId(login.externalId)) === null;
      if (isGone && !(await running.expected.hasLogin(login.externalId))) logins.delete(login.externalId);
      await removedLogins.forget(login);
    }
  };
  const rows = await store.create([
    {
      externalId,
      deviceType: null,
      name: null,
      defaultName: 'New',
      zoneId: undefined,
      method,
      address: 'A',
      startedBy: 'somebody',
      secrets: { wifi: { ssid: 'Home', password: 'password' } },
      ...(method === 'manual' ? { status: 'waiting', withinMs: 60_000 } : { status: 'queued', withinMs: null }),
    },
  ]);
  const row = rows![0]!;
  const current = async () => (await store.find(row.id))!;
  const actions: Record<string, () => Promise<unknown>> = {
    turn: () => running.provisionings.settled(),
    writeSucceeds: async () => {
      await running.provisionings.settled();
      const write = running.radio.writes.at(-1);
      if (write === undefined) return;
      if (method === 'ble') token = String(write.payload['device_token']);
      write.end({ ok: true });
    },
    writeFails: async () => running.radio.writes.at(-1)?.end({ ok: false, error: 'disconnected' }),
    /** The radio reports nothing yet, but the device has it. */
    writeArrives: async () => {
      const written = running.radio.writes.at(-1)?.payload['device_token'];
      if (written !== undefined) token = String(written);
    },
    sheet: async () => {
      const now = await current();
      if (method === 'ble' || now.status !== 'waiting') return;
      const [made] = (await running.provisionings.makeLogins([now])) ?? [];
      if (made !== undefined && Math.abs(seed % 3) > 0) token = made;
    },
    connect: async () => {
      if (!(await mayLogIn())) return;
      const device = await devices.findByExternalId(externalId);
      if (device === null) await running.expected.receive(externalId, handshake);
      else {
        const report = { kind: 'handshake', deviceId: device.id, at: clock.now(), ...handshake, kitTag: null } as const;
        running.events.emit({ kind: 'reports', reports: [report] });
      }
    },
    offline: async () =>
      db.updateTable('devices').set({ status: 'offline' }).where('external_id', '=', externalId).execute(),
    cancel: async () => running.provisionings.cancel(await current()),
    restart: async () => {
      await running.provisionings[Symbol.asyncDispose]();
      running.expected[Symbol.dispose]();
      running = start();
    },
    later: async () => (ahead += 45_000),
    removeNoted,
  };
  return {
    actions,
    current,
    async check(): Promise<void> {
      const row = await current();
      const ended = logger.events('provisioning_ended');
      assert.equal(ended.length, 1, 'it ends once');
      await removeNoted();
      const device = await devices.findByExternalId(externalId);
      assert.equal(device !== null, isKnown || row.status === 'succeeded', 'it is in the list');
      const hasLogin = isBrokerExternal ? logins.has(externalId) : device !== null;
      assert.equal(hasLogin, isKnown || row.status === 'succeeded', 'there is a login');
      assert.equal(row.secrets, null);
      if (!isKnown) assert.equal(row.token_hash, null);
      // Whatever was written to a device of the station, and whatever the radio said of it.
      if (isKnown && method === 'ble' && !isBrokerExternal) assert.ok(await mayLogIn(), 'the device can log in');
      if (row.status === 'succeeded') assert.ok(await mayLogIn(), 'what the device has is its login');
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await running.provisionings[Symbol.asyncDispose]();
      running.expected[Symbol.dispose]();
    },
  };
}

for (const kind of ['embedded', 'external'] as const) {
  for (const method of ['ble', 'improv', 'manual'] as const) {
    test(`${kind}, ${method}: whatever the order of events, it ends once, and a login is left only where one belongs`, async () => {
      await using store = await openTestStore();
      const ends = new Set<string>();
      for (let seed = 0; seed < 60; seed += 1) {
        await using all = await world(store, { seed, kind, method, isKnown: seed % 2 === 0 });
        const next = numbersFrom(seed * 7_919 + kind.length + method.length);
        const names = Object.keys(all.actions);
        const done: string[] = [];
        for (let step = 0; step < 14; step += 1) {
          const name = names[Math.floor(next() * names.length)]!;
          done.push(name);
          await all.actions[name]!();
        }
        const isOver = async (): Promise<boolean> => {
          await all.actions['turn']!();
          await all.actions['writeFails']!();
          for (let minutes = 0; minutes < 90; minutes += 1) await all.actions['later']!();
          return (
            (await all.current()).ends_at === null &&
            !['queued', 'writing', 'waiting'].includes((await all.current()).status)
          );
        };
        await until('it ends', isOver);
        ends.add((await all.current()).status);
        await all.check().catch((error: unknown) => {
          throw new Error(`seed ${seed}: ${done.join(', ')}`, { cause: error });
        });
      }
      assert.ok(ends.size >= 3, [...ends].join(', '));
    });
  }
}
