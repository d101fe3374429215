import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeviceEvents, type DeviceReport } from '../core/device-events.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createDeviceFaults } from './device-faults.ts';

function faultsOf(fault: string | null = null) {
  const events = createDeviceEvents(recordedLog());
  const faults = createDeviceFaults({ devices: [{ id: 'lamp', fault }], events });
  const received = (
    ...message: [
      end: 'state' | 'event' | 'heartbeat' | 'handshake',
      code: 'bad_shape' | 'bad_value' | null,
      at?: number,
    ]
  ) => {
    const [end, code, at = 1] = message;
    const report = faults.received('lamp', end, code, at);
    return report?.kind === 'fault' ? report.fault : undefined;
  };
  return { events, faults, received };
}

test('faulty messages of one kind are counted; a good message to their topic ends the fault', () => {
  const { received } = faultsOf();
  assert.equal(received('state', null), undefined);
  assert.deepEqual(received('state', 'bad_value', 1), { code: 'bad_value', end: 'state', at: 1, count: 1 });
  assert.deepEqual(received('state', 'bad_value', 2), { code: 'bad_value', end: 'state', at: 2, count: 2 });
  assert.equal(received('heartbeat', null), undefined);
  assert.equal(received('event', null), undefined);
  assert.equal(received('state', null), null);
  assert.equal(received('state', null), undefined);
});

test('a fault of another kind replaces the fault, and a handshake ends each', () => {
  const { received } = faultsOf('{"code":"bad_value","end":"state","at":1,"count":7}');
  assert.deepEqual(received('event', 'bad_shape', 2), { code: 'bad_shape', end: 'event', at: 2, count: 1 });
  assert.equal(received('state', null), undefined);
  assert.equal(received('handshake', null), null);
});

test('a state that is too full is a fault until a whole state of the device fits; receiving a message decides nothing', () => {
  const { faults, received } = faultsOf();
  const state = (deviceId: string, at: number): DeviceReport => ({ kind: 'state', deviceId, at, state: {} });
  const written = (reports: DeviceReport[], cut: string[]) =>
    faults
      .statesWritten(reports, cut)
      .map((report) => [report.deviceId, report.kind === 'fault' ? (report.fault?.count ?? null) : undefined]);
  assert.deepEqual(written([state('lamp', 1)], []), []);
  assert.deepEqual(written([state('lamp', 2), state('hall', 2), state('lamp', 3)], ['lamp', 'lamp']), [['lamp', 2]]);
  assert.equal(received('state', null, 4), undefined);
  assert.deepEqual(written([state('lamp', 4)], ['lamp']), [['lamp', 3]]);
  assert.deepEqual(written([state('hall', 5)], []), []);
  assert.deepEqual(written([state('lamp', 6)], []), [['lamp', null]]);
  assert.deepEqual(written([state('lamp', 7)], []), []);
});

test('a fault outlives the backend, is taken over from other replicas, and goes with its device', () => {
  const { events, faults, received } = faultsOf('{"code":"bad_value","end":"state","at":1,"count":7}');
  assert.equal(received('state', 'bad_value', 2)?.count, 8);
  faults.written([
    { kind: 'fault', deviceId: 'lamp', at: 3, fault: { code: 'bad_value', end: 'state', at: 3, count: 20 } },
  ]);
  assert.equal(received('state', 'bad_value', 4)?.count, 21);
  events.emit({ kind: 'removed', deviceId: 'lamp', externalId: 'x' });
  assert.equal(received('state', null), undefined);
});
