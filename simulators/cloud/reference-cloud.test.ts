import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { cloudPath } from '@station/protocol/cloud-messages';
import { startReferenceCloud } from './reference-cloud.ts';

/** Messages that a station under development may send. */
const misfits = [
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

test('frames that are not of the protocol are kept apart, before and after the log-in, and the cloud goes on', async () => {
  await using cloud = await startReferenceCloud({});
  const socket = new WebSocket(`${cloud.host}${cloudPath}`);
  await once(socket, 'open');
  for (const misfit of misfits) socket.send(misfit);
  socket.send(JSON.stringify({ type: 'station_auth', stationToken: cloud.issueToken() }));
  const connection = await cloud.connection();
  for (const misfit of misfits) socket.send(misfit);
  socket.send('{"jsonrpc":"2.0","method":"station.event"}');
  socket.on('message', (data) => {
    const { id } = JSON.parse((data as Buffer).toString('utf8')) as { id?: string };
    if (id !== undefined) socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: 'there' }));
  });
  assert.equal(await connection.call('devices.snapshot'), 'there');
  assert.deepEqual(
    cloud.misfits.map(({ text }) => text),
    [...misfits, ...misfits],
  );
  assert.deepEqual(
    cloud.states.map(({ params }) => params),
    [{}],
    'one without params is in order',
  );
  assert.deepEqual(cloud.waiting(), []);
  socket.terminate();
});
