import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsStalePort } from './stale-ports.ts';

const message =
  'Error response from daemon: driver failed programming external connectivity on endpoint station-mqtt (0a1b): ' +
  'Bind for 0.0.0.0:1883 failed: port is already allocated';
const publishing = (...ports: number[]) => ({
  call: async () => ({ status: 200, body: ports.map((port) => ({ Ports: [{ PrivatePort: 1, PublicPort: port }] })) }),
});

test('a port that the engine holds for no running container is stale', async () => {
  assert.equal(await holdsStalePort(publishing(80, 11883), message), true);
  assert.equal(await holdsStalePort(publishing(), message), true);
});

test('a port of a running container, or of a program of the machine, is not', async () => {
  assert.equal(await holdsStalePort(publishing(80, 1883), message), false);
  assert.equal(await holdsStalePort(publishing(), 'listen tcp4 0.0.0.0:80: bind: address already in use'), false);
});
