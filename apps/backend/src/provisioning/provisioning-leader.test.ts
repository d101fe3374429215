import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock as clock } from '@station/kit/clock';
import { createDeviceEvents } from '../core/device-events.ts';
import { createLeadership } from '../core/leadership.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { simulateRadio } from '../../testing/simulated-radio.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { openExpectedDevices } from './expected-devices.ts';
import { startProvisionings } from './provisioning-service.ts';
import { createProvisioningStore } from './provisioning-store.ts';

test('of several backends the leader writes, and a new leader goes on with what waits', async () => {
  await using opened = new AsyncDisposableStack();
  const { db } = opened.use(await openTestStore());
  const logger = recordedLog();
  const box = { seal: (text: string) => text, open: (text: string) => text };
  const events = createDeviceEvents(logger);
  const store = createProvisioningStore({ db, box, clock, isBrokerExternal: true });
  const start = () => {
    const leadership = createLeadership();
    const radio = simulateRadio({ externalId: 'lamp-1' });
    const expected = opened.use(
      openExpectedDevices({ store, events, stationEvents: { note: () => undefined }, clock, logger }),
    );
    const broker = { kind: 'external', isReady: () => true } as const;
    const logins = { addLogins: async () => undefined, reconnect: async () => undefined };
    const provisionings = opened.use(
      startProvisionings({
        store,
        expected,
        radio,
        events,
        leadership,
        clock,
        logger,
        stationId: 'station',
        broker: { ...broker, ...logins },
        uuids: { serviceUuid: 'service', characteristicUuid: 'characteristic' },
        brokerAddress: async () => ({ host: 'broker', port: 1883 }),
      }),
    );
    return { leadership, radio, expected, provisionings };
  };
  const one = start();
  const two = start();
  one.leadership.set(1);
  const create = async (externalId: string) => {
    const [row] = (await store.create([
      {
        externalId,
        deviceType: null,
        name: null,
        defaultName: 'New',
        zoneId: undefined,
        method: 'ble',
        address: 'A',
        status: 'queued',
        withinMs: null,
        startedBy: 'somebody',
        secrets: { wifi: { ssid: 'Home', password: 'password' } },
      },
    ]))!;
    // The request came to the second.
    two.provisionings.begun([row!]);
    return row!;
  };
  const status = async (id: string) => (await store.find(id))?.status;
  const first = await create('lamp-1');
  await until('the first writes', () => one.radio.writes.length === 1);
  one.radio.writes[0]!.end({ ok: true });
  await until('it was written', async () => (await status(first.id)) === 'waiting');
  const second = await create('lamp-2');
  await until('the second is being written', async () => (await status(second.id)) === 'writing');
  one.leadership.set(null);
  two.leadership.set(2);
  await until('nobody knows its result', async () => (await status(second.id)) === 'failed');
  assert.equal(two.radio.writes.length, 0);
  one.radio.writes[1]!.end({ ok: true });
  const handshake = { type: 'light', firmwareVersion: '1', chip: 'esp32' };
  assert.equal(await one.expected.receive('lamp-1', handshake), 'added');
  assert.equal(await status(first.id), 'succeeded');
  assert.equal(await one.expected.receive('lamp-2', handshake), 'not_expected');
  assert.equal(logger.events('provisioning_ended').length, 2);
});
