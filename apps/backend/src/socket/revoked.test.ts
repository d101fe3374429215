import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { systemClock } from '@station/kit/clock';
import { createAccessTokens } from '../core/access-tokens.ts';
import { createHttpServer } from '../http/server.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { createSocketHub } from './hub.ts';
import { registerSocketRoute } from './connection.ts';

test('a user who is revoked during the log-in gets nothing and is closed', async () => {
  const logger = recordedLog();
  const clock = systemClock;
  const tokens = createAccessTokens({
    secret: 'a secret of the configuration, 32+ bytes',
    clock,
    findHolder: async () => null,
  });
  const hub = createSocketHub();
  await using app = createHttpServer({ logger });
  const describe = async () => {
    tokens.revoke('petro');
    return { version: '1.0.0', station: { id: 'station', name: 'Station' } };
  };
  await registerSocketRoute(app, { hub, tokens, describe, clock, logger });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;

  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  let received = 0;
  socket.on('message', () => {
    received++;
    socket.terminate();
  });
  const closed = once(socket, 'close');
  await once(socket, 'open');
  const { token } = await tokens.issue({ userId: 'petro', role: 'admin', sessionId: 'laptop' }, tokens.moment());
  socket.send(JSON.stringify({ type: 'auth', token }));
  assert.equal((await closed)[0], 4401);
  assert.deepEqual([received, hub.size()], [0, 0]);
});
