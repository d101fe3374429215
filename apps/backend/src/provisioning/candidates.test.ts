import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Candidate } from '@station/protocol/provisioning';
import { createRepeatFilter } from '@station/kit/repeat-filter';
import { createCandidates } from './candidates.ts';
import { maxCandidates } from './candidate-decide.ts';

const candidate = (address: string, rssi: number): Candidate => ({
  address,
  name: 'SH_light_lamp7',
  rssi,
  service_uuids: [],
  service_data: {},
  protocol: 'station',
  externalId: 'lamp7',
  deviceType: 'light',
  defaultName: 'Light LAMP',
  deviceId: null,
  lastSeenAt: 'now',
});
const madeUp = (index: number): string =>
  (index + 0xc0_00_00_00_00_00).toString(16).toUpperCase().match(/../g)?.join(':') ?? '';
const lamp = 'AA:AA:AA:AA:AA:01';

/** What is heard, and sent as the radio sends it. */
function neighbourhood() {
  let nowMs = 0;
  const sent = new Set<string>();
  const counted = { messages: 0 };
  const candidates = createCandidates({
    send: ({ address }) => {
      counted.messages += 1;
      sent.add(address);
    },
    sendLost: (address) => {
      counted.messages += 1;
      sent.delete(address);
    },
    monotonic: () => nowMs,
  });
  const filter = createRepeatFilter();
  let next = 0;
  const hear = (address: string, rssi: number): void => {
    if (filter.admits(address, nowMs, candidates.has(address))) candidates.hear(address, candidate(address, rssi));
  };
  return {
    candidates,
    sent,
    messages: () => counted.messages,
    hear,
    /** A second in which the lamp advertises once, in the middle of a flood. */
    second: (flood: number, withLamp = true): void => {
      for (let count = 0; count < flood; count += 1) {
        nowMs += 1_000 / flood;
        hear(madeUp(next++ % 100_000), -20);
        if (withLamp && count === Math.floor(flood / 2)) hear(lamp, -70);
        if (count % (flood / 10) === 0) candidates.sweep(0);
      }
    },
  };
}

test('a device that was there before a flood stays, and one that comes during it is found', () => {
  for (const isThereBefore of [true, false]) {
    const near = neighbourhood();
    if (isThereBefore) for (let second = 0; second < 5; second += 1) near.second(10);
    for (let second = 0; second < 5; second += 1) near.second(10_000, isThereBefore);
    for (let second = 0; second < 30; second += 1) near.second(10_000);
    assert.ok(near.sent.has(lamp), isThereBefore ? 'there before' : 'came during the flood');
    assert.ok(near.candidates.candidates().length <= maxCandidates);
  }
});

test('a flood is sent on a few times a second, whatever it says', () => {
  const near = neighbourhood();
  for (let second = 0; second < 20; second += 1) near.second(10_000);
  assert.ok(near.messages() < 50 + 2 * 20 * 10 + 50, `${near.messages()} messages in 20 s`);
});
