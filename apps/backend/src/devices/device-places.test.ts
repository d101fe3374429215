import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createDeviceEvents } from '../core/device-events.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createDevicePlaces } from './device-places.ts';

type Read = PromiseWithResolvers<string | null>;

/** A lamp in the hall, and reads of its zone that the test answers. */
async function withLamp() {
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const places = createDevicePlaces();
  const reads: Read[] = [];
  const moves: string[] = [];
  const following = await places.start({
    events,
    devices: {
      zones: async () => [{ id: 'lamp', zoneId: 'hall' }],
      zoneOf: () => {
        const read: Read = Promise.withResolvers();
        reads.push(read);
        return read.promise;
      },
    },
    hub: { moved: ({ deviceId, from, to }) => void moves.push(`${deviceId} ${from} ${to}`) },
    clock: manualClock(),
    logger,
  });
  const change = (): void => events.emit({ kind: 'changed', deviceId: 'lamp', externalId: 'lamp' });
  return { places, reads, moves, change, events, following };
}

test('while the zone of a device is read again, nobody with some zones is told of it', async () => {
  const { places, reads, moves, change } = await withLamp();
  assert.equal(places.zoneOf('lamp'), 'hall');
  assert.equal(places.zoneOf('unknown'), null);
  change();
  assert.equal(places.zoneOf('lamp'), null);
  reads[0]?.resolve('bedroom');
  await turn();
  assert.deepEqual([places.zoneOf('lamp'), moves], ['bedroom', ['lamp hall bedroom']]);
});

test('of two changes the later one counts, whichever is read first', async () => {
  const { places, reads, moves, change } = await withLamp();
  change();
  change();
  reads[1]?.resolve('bedroom');
  await turn();
  reads[0]?.resolve('hall');
  await turn();
  assert.deepEqual([places.zoneOf('lamp'), moves], ['bedroom', ['lamp hall bedroom']]);
});

test('a zone that could not be read stays hidden', async () => {
  const { places, reads, moves, change } = await withLamp();
  change();
  reads[0]?.reject(new Error('the database does not answer'));
  await turn();
  assert.deepEqual([places.zoneOf('lamp'), moves], [null, []]);
});

test('a removed device keeps its place, so that those who saw it are told', async () => {
  const { places, events, following } = await withLamp();
  events.emit({ kind: 'removed', deviceId: 'lamp', externalId: 'lamp' });
  assert.equal(places.zoneOf('lamp'), 'hall');
  following[Symbol.dispose]();
});
