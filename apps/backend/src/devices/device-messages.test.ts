import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerMessage } from '@station/protocol/socket';
import { createDeviceEvents } from '../core/device-events.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { startDeviceMessages } from './device-messages.ts';

const now = '2026-03-01T12:00:00.000Z';
const early = '1970-01-01T00:00:01.000Z';

async function withMessages(clients = 1) {
  let watching = clients;
  const sent: { message: ServerMessage; key: string | undefined }[] = [];
  const hub = {
    broadcast: (message: ServerMessage, key?: string) => void sent.push({ message, key }),
    size: () => watching,
  };
  const events = createDeviceEvents(recordedLog());
  const lamp = { id: 'lamp', state: '{"on":true,"brightness":40}', state_at: 100, value_times: null };
  // Only these columns are read.
  const devices = { list: async () => [lamp] as never };
  const subscription = await startDeviceMessages({ hub, events, devices, clock: manualClock() });
  const watch = (): void => void (watching = 1);
  return { events, sent, subscription, watch };
}

test('a state is sent whole, once for each device and batch, under the key of its device', async () => {
  const { events, sent } = await withMessages();
  events.emit({
    kind: 'reports',
    reports: [
      { kind: 'state', deviceId: 'lamp', at: 500, state: { brightness: 50 } },
      { kind: 'state', deviceId: 'hall', at: 500, state: { temperature: 20 } },
      { kind: 'state', deviceId: 'lamp', at: 1_000, state: { brightness: 60 } },
    ],
  });
  assert.deepEqual(sent[0], {
    message: {
      type: 'device_state',
      at: now,
      deviceId: 'lamp',
      state: { on: true, brightness: 60 },
      stateAt: early,
      stateTimes: { on: '1970-01-01T00:00:00.100Z' },
    },
    key: 'device_state lamp',
  });
  assert.deepEqual(
    sent.map(({ key }) => key),
    ['device_state lamp', 'device_state hall'],
  );
});

test('a report that arrived without clients is part of the next state', async () => {
  const { events, sent, watch } = await withMessages(0);
  const report = (state: object) =>
    events.emit({ kind: 'reports', reports: [{ kind: 'state', deviceId: 'lamp', at: 1_000, state: { ...state } }] });
  report({ brightness: 1 });
  assert.equal(sent.length, 0);
  watch();
  report({ on: false });
  assert.deepEqual(sent[0]?.message, {
    type: 'device_state',
    at: now,
    deviceId: 'lamp',
    state: { on: false, brightness: 1 },
    stateAt: early,
    stateTimes: {},
  });
});

test('events, status changes, commands and removals are broadcast; a confirmation only as a command message', async () => {
  const { events, sent } = await withMessages();
  const event = (action: string) =>
    ({ kind: 'event', deviceId: 'lamp', at: 1_000, eventKind: 'device_event', data: { action } }) as const;
  events.emit({ kind: 'reports', reports: [event('command_ack'), event('button_pressed')] });
  events.emit({ kind: 'status', deviceId: 'lamp', status: 'offline', at: 1_000 });
  const command = { commandId: 'c1', deviceId: 'lamp', action: 'set', userId: null, at: 1_000 };
  for (const status of ['pending', 'expired'] as const) {
    events.emit({ kind: 'command', command: { ...command, status, reason: null } });
  }
  events.emit({ kind: 'changed', deviceId: 'lamp', externalId: 'x' });
  events.emit({ kind: 'removed', deviceId: 'lamp', externalId: 'x' });
  const commandMessage = (status: string) => ({
    type: 'device_command',
    at: early,
    commandId: 'c1',
    deviceId: 'lamp',
    action: 'set',
    status,
    reason: null,
  });
  assert.deepEqual(
    sent.map(({ message }) => message),
    [
      { type: 'device_event', at: early, deviceId: 'lamp', kind: 'device_event', data: { action: 'button_pressed' } },
      { type: 'device_status', at: early, deviceId: 'lamp', status: 'offline' },
      ...['pending', 'expired'].map(commandMessage),
      { type: 'device_changed', at: now, deviceId: 'lamp' },
      { type: 'device_removed', at: now, deviceId: 'lamp' },
    ],
  );
});

test('after disposal it broadcasts nothing more', async () => {
  const { events, sent, subscription } = await withMessages();
  subscription[Symbol.dispose]();
  events.emit({ kind: 'status', deviceId: 'lamp', status: 'online', at: 1 });
  assert.deepEqual(sent, []);
});
