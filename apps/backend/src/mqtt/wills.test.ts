import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { doubtfulWillGraceMs, willGraceMs } from './availability-decide.ts';
import { createListeners, type Presence } from './listeners.ts';
import { createWills } from './wills.ts';

const lamp = { id: 'id', externalId: 'lamp' };

async function judged(presence: Presence | undefined): Promise<unknown[]> {
  let nowMs = 0;
  const counted: unknown[] = [];
  const sleep = async (ms: number): Promise<void> => void (nowMs += ms);
  const wills = createWills({
    presence: () => presence && (async () => presence),
    counts: (...given) => counted.push(given),
    clock: { ...systemClock, sleep, monotonic: () => nowMs },
    signal: new AbortController().signal,
  });
  wills(lamp, 5);
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  return counted;
}

test('a will of a device that is connected says nothing; where nobody can tell, it is doubtful', async () => {
  assert.deepEqual(await judged('present'), []);
  assert.deepEqual(await judged('absent'), [['id', 5 + willGraceMs, 0]]);
  assert.deepEqual(await judged('unknown'), [['id', 5 + willGraceMs, doubtfulWillGraceMs]]);
  assert.deepEqual(await judged(undefined), [['id', 5, 0]]);
});

const somebody = 0;
const nobody = 0x10;
const refused = 0x87;

/** @param codes of the broker: for what nobody subscribes to, for the device now, and for it before; null: it is offline. */
async function presence(codes: { control: number | null; now: number; before?: number }): Promise<Presence> {
  let current = codes.before ?? nobody;
  const listeners = createListeners({
    stationId: 's',
    publish: async (topic) => {
      if (codes.control === null) throw new Error('The broker is offline');
      return topic === 's/nobody' || topic.endsWith('/nobody') ? codes.control : current;
    },
  });
  if (codes.before !== undefined) await listeners.publish('station/s/device/lamp/handshake/ack', '{}', 1);
  current = codes.now;
  return listeners.presenceOf('lamp');
}

test('who subscribes tells whether a device is connected, where the broker says so', async () => {
  assert.equal(await presence({ control: nobody, now: somebody }), 'present');
  assert.equal(await presence({ control: nobody, now: nobody, before: somebody }), 'absent');
  assert.equal(await presence({ control: nobody, now: nobody, before: nobody }), 'unknown', 'it never subscribed');
  assert.equal(await presence({ control: nobody, now: nobody }), 'unknown', 'nothing is known of before');
  assert.equal(await presence({ control: somebody, now: somebody }), 'unknown', 'somebody reads along');
  assert.equal(await presence({ control: refused, now: somebody }), 'unknown');
  assert.equal(await presence({ control: null, now: somebody }), 'unknown');
});
