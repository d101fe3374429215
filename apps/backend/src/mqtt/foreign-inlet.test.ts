import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { ForeignReading } from '../core/foreign-devices-port.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createForeignInlet } from './foreign-inlet.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';

test('a message that is read in pieces is taken whole before the next one, each piece when it is on disk', async () => {
  const seen: string[] = [];
  const isTaken = Promise.withResolvers<void>();
  const state = (externalId: string) => ({ externalId, end: 'state' as const, body: { state: {} } });
  const piece = (at: number): ForeignReading => {
    seen.push(`read ${at}`);
    const stored = Promise.resolve().then(() => void seen.push(`stored ${at}`));
    return { messages: [state(`lamp-${at}`)], stored, ...(at < 3 && { next: () => piece(at + 1) }) };
  };
  const { receive } = createForeignInlet({
    stationId,
    foreign: { read: ({ topic }) => (topic === 'list' ? piece(1) : { messages: [state('other')], stored: null }) },
    receive: async ({ topic }) => {
      seen.push(topic.split('/')[3] ?? '');
      if (topic.includes('lamp-3')) await isTaken.promise;
    },
    clock: systemClock,
    logger: recordedLog(),
  });
  const payload = Buffer.from('');
  let isAcknowledged = false;
  const list = receive({ topic: 'list', payload }).then(() => (isAcknowledged = true));
  await receive({ topic: 'state', payload });
  const first = ['read 1', 'stored 1', 'lamp-1'];
  const second = ['read 2', 'stored 2', 'lamp-2'];
  const third = ['read 3', 'stored 3', 'lamp-3'];
  assert.deepEqual(seen, [first, second, third, 'other'].flat());
  assert.equal(isAcknowledged, false);
  isTaken.resolve();
  await list;
});

test('a message that cannot be read is lost alone, at once, later or in pieces, and is logged once', async () => {
  const fail = (): never => {
    throw new RangeError('Invalid string length');
  };
  const taken: string[] = [];
  const state = (externalId: string) => ({ externalId, end: 'state' as const, body: { state: {} } });
  const read = (topic: string): ForeignReading => {
    if (topic === 'odd piece') return { messages: [state('first')], stored: Promise.resolve(), next: fail };
    if (topic === 'odd id') return { messages: [state('a/b'), state('second')], stored: null };
    return topic === 'good' ? { messages: [state('good')], stored: null } : fail();
  };
  const logger = recordedLog();
  const { receive, hear } = createForeignInlet({
    stationId,
    foreign: { read: ({ topic }) => read(topic) },
    receive: async ({ topic }) => void taken.push(topic.split('/')[3] ?? ''),
    clock: systemClock,
    logger,
  });
  hear(fail);
  const payload = Buffer.from('');
  await Promise.all(['odd', 'odd piece', 'odd', 'odd id', 'good'].map((topic) => receive({ topic, payload })));
  assert.deepEqual(taken, ['first', 'second', 'good']);
  assert.equal(logger.events('unexpected_error').length, 1);
});
