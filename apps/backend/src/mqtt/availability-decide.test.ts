import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decideOffline,
  doubtfulWillGraceMs,
  gapGraceMs,
  silenceMs,
  willGraceMs,
  type TrackedDevice,
} from './availability-decide.ts';

const start = 1_000_000;
const device = (facts: Partial<TrackedDevice>): TrackedDevice => ({
  id: 'd',
  status: 'online',
  receivedMs: null,
  willMs: null,
  ...facts,
});

const cases: {
  story: string;
  device: Partial<TrackedDevice>;
  nowMs: number;
  listeningSinceMs: number | null;
  offline: boolean;
}[] = [
  {
    story: 'silent for three minutes',
    device: { receivedMs: start },
    nowMs: start + silenceMs,
    listeningSinceMs: 0,
    offline: true,
  },
  {
    story: 'silent for one millisecond less',
    device: { receivedMs: start },
    nowMs: start + silenceMs - 1,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'no message yet after a start of the backend',
    device: {},
    nowMs: start + silenceMs - 1,
    listeningSinceMs: start,
    offline: false,
  },
  {
    story: 'no message within three minutes after a start',
    device: {},
    nowMs: start + silenceMs,
    listeningSinceMs: start,
    offline: true,
  },
  {
    story: 'no message for an hour, because the broker was offline until now',
    device: { receivedMs: start - 3_600_000 },
    nowMs: start + 1,
    listeningSinceMs: start,
    offline: false,
  },
  { story: 'the broker is offline', device: { receivedMs: 0 }, nowMs: start, listeningSinceMs: null, offline: false },
  {
    story: 'a device that never connected',
    device: { status: 'unknown' },
    nowMs: start * 2,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'its last will',
    device: { receivedMs: start - 1, willMs: start },
    nowMs: start + willGraceMs,
    listeningSinceMs: 0,
    offline: true,
  },
  {
    story: 'its last will, within the grace period',
    device: { receivedMs: start - 1, willMs: start },
    nowMs: start + willGraceMs - 1,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'the last will of a superseded connection',
    device: { receivedMs: start + 1, willMs: start },
    nowMs: start + willGraceMs,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'a last will that the broker published while it closed',
    device: { receivedMs: start - 1, willMs: start },
    nowMs: start + willGraceMs,
    listeningSinceMs: start + 1,
    offline: false,
  },
  {
    story: 'the last will of a device without a message since the backend started',
    device: { status: 'unknown', willMs: start },
    nowMs: start + willGraceMs,
    listeningSinceMs: 0,
    offline: true,
  },
  {
    story: 'a last will that may be older than its last message',
    device: { receivedMs: start - 1, willMs: start, isWillDoubtful: true },
    nowMs: start + doubtfulWillGraceMs - 1,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'a last will that may be older than its last message, then silence',
    device: { receivedMs: start - 1, willMs: start, isWillDoubtful: true },
    nowMs: start + doubtfulWillGraceMs,
    listeningSinceMs: 0,
    offline: true,
  },
  {
    story: 'already shown as offline',
    device: { status: 'offline', willMs: start },
    nowMs: start * 2,
    listeningSinceMs: 0,
    offline: false,
  },
];

for (const { story, device: facts, nowMs, listeningSinceMs, offline } of cases) {
  test(`${offline ? 'offline' : 'not offline'}: ${story}`, () => {
    const decided = decideOffline({ nowMs, listeningSinceMs, devices: [device(facts)] });
    assert.deepEqual(decided, offline ? ['d'] : []);
  });
}

test('a last will from before a gap of another replica counts after its waiting messages arrived', () => {
  const gone = device({ receivedMs: start - 1, willMs: start });
  const facts = { listeningSinceMs: start + 5_000, willsSinceMs: start - 60_000, devices: [gone] };
  assert.deepEqual(decideOffline({ ...facts, nowMs: start + 5_000 + gapGraceMs - 1 }), []);
  assert.deepEqual(decideOffline({ ...facts, nowMs: start + 5_000 + gapGraceMs }), ['d']);
});
