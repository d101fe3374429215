import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { OpenCloudSocket } from './adapters/cloud-socket.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openConnection } from './cloud-connection.ts';

type Handler = Parameters<OpenCloudSocket>[0];

function connected() {
  const sent: string[] = [];
  const pongs: string[] = [];
  const handlers: Handler[] = [];
  const connection = openConnection(
    {
      open: (given) => {
        handlers.push(given);
        return {
          bufferedAmount: 0,
          send: (text) => void sent.push(text),
          ping: () => undefined,
          pause: () => undefined,
          resume: () => undefined,
          end: () => undefined,
        };
      },
      methods: {},
      ignored: { count: () => undefined },
      delivery: { ponged: () => undefined },
      clock: { ...systemClock, now: () => 0 },
      logger: recordedLog(),
    },
    {
      isAuthenticated: () => true,
      onOpen: () => undefined,
      onReceived: () => undefined,
      onPong: () => void pongs.push('pong'),
      onMessage: () => undefined,
      onUseless: () => undefined,
      onClose: () => undefined,
    },
  );
  const [listener = assert.fail()] = handlers;
  return { connection, sent, pongs, listener };
}

test('only a pong answers a ping', () => {
  const { connection, pongs, listener } = connected();
  connection.ping();
  listener.onMessage('{"jsonrpc":"2.0","method":"x"}');
  assert.deepEqual(pongs, []);
  listener.onPong();
  listener.onPong();
  assert.deepEqual(pongs, ['pong']);
  connection.end();
});

test('every notification carries a timestamp: when it happened, else now', () => {
  const { connection, sent } = connected();
  const delivering = connection.delivering(false);
  delivering.notify('device.stateChanged', { deviceId: 'd', state: {}, at: '2026-11-26T00:00:00.000Z' });
  delivering.notify('station.event', { event: 'x' });
  assert.deepEqual(
    sent.map((text) => (JSON.parse(text) as { params: { timestamp: string } }).params.timestamp),
    ['2026-11-26T00:00:00.000Z', '1970-01-01T00:00:00.000Z'],
  );
  connection.end();
});
