import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ForeignReading } from '../core/foreign-devices-port.ts';
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
