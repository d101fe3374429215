import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '@station/kit/clock';
import { startForgetfulBroker } from '../../testing/forgetful-broker.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { until } from '../../testing/until.ts';
import { connectBroker } from './broker-client.ts';

const mebibyte = 1024 * 1024;
const size = mebibyte / 4;

test('large messages waiting to be written pause reading by their size; it goes on when they are written', async () => {
  await using broker = await startForgetfulBroker(5);
  const disk = Promise.withResolvers<void>();
  let received = 0;
  const onMessage = (): Promise<void> => {
    received += 1;
    return disk.promise;
  };
  await using link = connectBroker({
    url: broker.url,
    inflight: 10,
    username: null,
    password: null,
    authority: null,
    clientId: 'station',
    stationId: 's',
    shared: null,
    filters: () => [],
    handler: { onMessage, onListening: () => undefined },
    waiting: () => received,
    clock: systemClock,
    logger: recordedLog(),
  });
  await until('it listens', link.isReady);
  const all = (40 * mebibyte) / size;
  for (let id = 1; id <= all; id++) broker.publish('station/s/device/d/state', Buffer.alloc(size), id);
  await until('it has read what may wait', () => received * size > 32 * mebibyte);
  for (let turns = 0; turns < 500; turns++) await turn();
  assert.equal(received, (32 * mebibyte) / size + 1);
  disk.resolve();
  await until('it goes on', () => received === all);
});
