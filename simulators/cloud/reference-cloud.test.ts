import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { cloudPath } from '@station/protocol/cloud-messages';
import { startReferenceCloud } from './reference-cloud.ts';

/** Messages that a station under development may send. */
const invalidFrames = [
  'not json',
  '',
  'null',
  '7',
  '"station_auth"',
  '{"type":"claim_handshake"}',
  '{"type":"claim_handshake","chipId":7,"claimSecret":{}}',
  '{"jsonrpc":"2.0","method":"station.event","params":"text"}',
  '{"jsonrpc":"2.0","method":"station.event","params":null}',
];

test('collects invalid frames before and after the login, and continues', async () => {
  await using cloud = await startReferenceCloud({});
  const socket = new WebSocket(`${cloud.host}${cloudPath}`);
  await once(socket, 'open');
  for (const frame of invalidFrames) socket.send(frame);
  socket.send(JSON.stringify({ type: 'station_auth', stationToken: cloud.issueToken() }));
  const connection = await cloud.connection();
  for (const frame of invalidFrames) socket.send(frame);
  socket.send('{"jsonrpc":"2.0","method":"station.event"}');
  socket.on('message', (data) => {
    const { id } = JSON.parse((data as Buffer).toString('utf8')) as { id?: string };
    if (id !== undefined) socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: 'there' }));
  });
  assert.equal(await connection.call('devices.snapshot'), 'there');
  assert.deepEqual(
    cloud.invalidFrames.map(({ text }) => text),
    [...invalidFrames, ...invalidFrames],
  );
  assert.deepEqual(
    cloud.states.map(({ params }) => params),
    [{}],
    'a notification without params is valid',
  );
  assert.deepEqual(cloud.waiting(), []);
  socket.terminate();
});
