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

/** What a book hears, told of as the radio tells it. */
function neighbourhood() {
  let nowMs = 0;
  const told = new Set<string>();
  const sent = { messages: 0 };
  const book = createCandidates({
    tell: ({ address }) => {
      sent.messages += 1;
      told.add(address);
    },
    tellLost: (address) => {
      sent.messages += 1;
      told.delete(address);
    },
    monotonic: () => nowMs,
  });
  const filter = createRepeatFilter();
  let next = 0;
  const hear = (address: string, rssi: number): void => {
    if (filter.admits(address, nowMs, book.has(address))) book.hear(address, candidate(address, rssi));
  };
  return {
    book,
    told,
    messages: () => sent.messages,
    hear,
    /** A second in which the lamp advertises once, in the middle of a flood. */
    second: (flood: number, withLamp = true): void => {
      for (let count = 0; count < flood; count += 1) {
        nowMs += 1_000 / flood;
        hear(madeUp(next++ % 100_000), -20);
        if (withLamp && count === Math.floor(flood / 2)) hear(lamp, -70);
        if (count % (flood / 10) === 0) book.sweep(0);
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
    assert.ok(near.told.has(lamp), isThereBefore ? 'there before' : 'came during the flood');
    assert.ok(near.book.candidates().length <= maxCandidates);
  }
});

test('a flood is told a few times a second, whatever it says', () => {
  const near = neighbourhood();
  for (let second = 0; second < 20; second += 1) near.second(10_000);
  assert.ok(near.messages() < 50 + 2 * 20 * 10 + 50, `${near.messages()} messages in 20 s`);
});
