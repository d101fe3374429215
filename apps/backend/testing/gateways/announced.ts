import assert from 'node:assert/strict';
import { readDeviceType } from '@station/protocol/device-types';
import type { AnnouncedDevice, Dialect, Said } from '../../src/gateways/dialect.ts';

/** The device, whose words the station takes as they are. */
export function takenWell(device: AnnouncedDevice | null): AnnouncedDevice {
  assert.ok(device);
  const { firmwareVersion: _version, chip: _chip, ...words } = device.words;
  const read = readDeviceType(JSON.parse(JSON.stringify(words)));
  assert.deepEqual(read.kind === 'ok' ? [] : read.faults, []);
  return device;
}

/** What is not taken, by its reason. */
export const refusedIn = (said: readonly Said[]): { name: string; reason: string; detail: string | null }[] =>
  said.flatMap((one) => (one.kind === 'refused' ? one.entries : []));

/** What a dialect makes of a message, when it knows one device or none yet. */
export function hearingOf<Memory>(dialect: Dialect<Memory>, base: string, device?: AnnouncedDevice) {
  const known = {
    memory: dialect.remember(),
    at: (topic: string) => (device?.topics.heard.includes(topic) ? [device] : []),
    find: (id: string) => (id === device?.externalId ? device : undefined),
  };
  return (topic: string, payload: unknown): readonly Said[] => {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    return dialect.read({ base, discovery: null, topic, text }, known);
  };
}
