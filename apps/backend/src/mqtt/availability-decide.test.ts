import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decideOffline,
  doubtfulWillGraceMs,
  gapGraceMs,
  silenceMs,
  willGraceMs,
  type HeardDevice,
} from './availability-decide.ts';

const start = 1_000_000;
const device = (facts: Partial<HeardDevice>): HeardDevice => ({
  id: 'd',
  status: 'online',
  heardMs: null,
  willMs: null,
  ...facts,
});

const cases: {
  story: string;
  device: Partial<HeardDevice>;
  nowMs: number;
  listeningSinceMs: number | null;
  offline: boolean;
}[] = [
  {
    story: 'silent for three minutes',
    device: { heardMs: start },
    nowMs: start + silenceMs,
    listeningSinceMs: 0,
    offline: true,
  },
  {
    story: 'silent for a little less',
    device: { heardMs: start },
    nowMs: start + silenceMs - 1,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'never heard, after a start of the backend',
    device: {},
    nowMs: start + silenceMs - 1,
    listeningSinceMs: start,
    offline: false,
  },
  {
    story: 'not heard within three minutes of it',
    device: {},
    nowMs: start + silenceMs,
    listeningSinceMs: start,
    offline: true,
  },
  {
    story: 'not heard for an hour, because the broker was away until now',
    device: { heardMs: start - 3_600_000 },
    nowMs: start + 1,
    listeningSinceMs: start,
    offline: false,
  },
  { story: 'the broker is away', device: { heardMs: 0 }, nowMs: start, listeningSinceMs: null, offline: false },
  {
    story: 'a device that was never seen is not gone',
    device: { status: 'unknown' },
    nowMs: start * 2,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'its last will',
    device: { heardMs: start - 1, willMs: start },
    nowMs: start + willGraceMs,
    listeningSinceMs: 0,
    offline: true,
  },
  {
    story: 'its last will a moment ago',
    device: { heardMs: start - 1, willMs: start },
    nowMs: start + willGraceMs - 1,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'the will of a connection that it replaced',
    device: { heardMs: start + 1, willMs: start },
    nowMs: start + willGraceMs,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'the will that a broker published when it ended',
    device: { heardMs: start - 1, willMs: start },
    nowMs: start + willGraceMs,
    listeningSinceMs: start + 1,
    offline: false,
  },
  {
    story: 'the will of a device that was not heard since the backend started',
    device: { status: 'unknown', willMs: start },
    nowMs: start + willGraceMs,
    listeningSinceMs: 0,
    offline: true,
  },
  {
    story: 'a will that its last word may have followed',
    device: { heardMs: start - 1, willMs: start, isWillDoubtful: true },
    nowMs: start + doubtfulWillGraceMs - 1,
    listeningSinceMs: 0,
    offline: false,
  },
  {
    story: 'a will that its last word may have followed, and then nothing more',
    device: { heardMs: start - 1, willMs: start, isWillDoubtful: true },
    nowMs: start + doubtfulWillGraceMs,
    listeningSinceMs: 0,
    offline: true,
  },
  {
    story: 'shown so already',
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

test('a will from before a gap at another replica counts once what waited there is heard', () => {
  const gone = device({ heardMs: start - 1, willMs: start });
  const facts = { listeningSinceMs: start + 5_000, willsSinceMs: start - 60_000, devices: [gone] };
  assert.deepEqual(decideOffline({ ...facts, nowMs: start + 5_000 + gapGraceMs - 1 }), []);
  assert.deepEqual(decideOffline({ ...facts, nowMs: start + 5_000 + gapGraceMs }), ['d']);
});
