import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Value } from 'typebox/value';
import { payloadSchemas } from './device-messages.ts';
import type { DeviceTopicEnd } from './topics.ts';

const cases: Record<DeviceTopicEnd, { good: unknown[]; bad: unknown[] }> = {
  handshake: {
    good: [
      { type: 'climate', firmwareVersion: '1.2.3', chip: 'esp32' },
      { type: 'climate', firmwareVersion: '1.2.3', chip: 'esp32', kit_tag: 'kit-7' },
      { type: 'climate', firmwareVersion: '1.2.3', chip: 'esp32', kit_tag: null, rssi: -60 },
    ],
    bad: [
      {},
      { type: 'climate' },
      { type: '', firmwareVersion: '1', chip: 'c' },
      { type: 1, firmwareVersion: '1', chip: 'c' },
    ],
  },
  state: {
    good: [{ state: {} }, { state: { temperature: 21.5, power: true, note: null } }, { state: { a: 1 }, at: 'now' }],
    bad: [{}, { state: [] }, { state: null }, { state: 'on' }, { temperature: 21 }, [], null, 'x', 1],
  },
  event: {
    good: [
      { event: 'device_event', data: { action: 'command_ack', commandId: 'x' } },
      { event: 'user_event', data: { action: 'button_pressed' }, more: 1 },
    ],
    bad: [{ event: 'other', data: { action: 'x' } }, { event: 'user_event', data: {} }, { event: 'user_event' }],
  },
  heartbeat: {
    good: [{ status: 'online' }, { status: 'offline', uptime: 5 }],
    bad: [{}, { status: 'asleep' }, { status: true }],
  },
};

for (const [end, { good, bad }] of Object.entries(cases) as [DeviceTopicEnd, { good: unknown[]; bad: unknown[] }][]) {
  test(`${end}: accepts valid payloads with unknown keys, and refuses others`, () => {
    for (const payload of good) assert.ok(Value.Check(payloadSchemas[end], payload), JSON.stringify(payload));
    for (const payload of bad) assert.ok(!Value.Check(payloadSchemas[end], payload), JSON.stringify(payload));
  });
}
