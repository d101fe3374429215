import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { systemClock } from '@station/kit/clock';
import { createAccessTokens } from '../core/access-tokens.ts';
import { createHttpServer } from '../http/server.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { wholeStation } from '../core/sight.ts';
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
  await registerSocketRoute(app, { hub, tokens, findSight: async () => wholeStation, describe, clock, logger });
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
  const { token } = await tokens.issue(
    { userId: 'petro', role: 'admin', sessionId: 'laptop', endsAt: null },
    tokens.moment(),
  );
  socket.send(JSON.stringify({ type: 'auth', token }));
  assert.equal((await closed)[0], 4401);
  assert.deepEqual([received, hub.size()], [0, 0]);
});

test('of two log-ins at once on one connection, that of another person ends it', async () => {
  const logger = recordedLog();
  const clock = systemClock;
  const secret = 'a secret of the configuration, 32+ bytes';
  const tokens = createAccessTokens({ secret, clock, findHolder: async () => null });
  const hub = createSocketHub();
  await using app = createHttpServer({ logger });
  const both = Promise.withResolvers<void>();
  let logIns = 0;
  const describe = async () => {
    if (++logIns === 2) both.resolve();
    await both.promise;
    return { version: '1.0.0', station: { id: 'station', name: 'Station' } };
  };
  await registerSocketRoute(app, { hub, tokens, findSight: async () => wholeStation, describe, clock, logger });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  const users: unknown[] = [];
  socket.on('message', (data: Buffer) => {
    users.push((JSON.parse(data.toString()) as { user?: { id: string } }).user?.id);
    if (users.length === 2) socket.terminate();
  });
  const closed = once(socket, 'close');
  await once(socket, 'open');
  for (const userId of ['olena', 'petro']) {
    const holder = { userId, role: 'member', sessionId: `phone of ${userId}`, endsAt: null } as const;
    const { token } = await tokens.issue(holder, tokens.moment());
    socket.send(JSON.stringify({ type: 'auth', token }));
  }
  assert.equal((await closed)[0], 4401);
  assert.deepEqual([users, hub.size()], [['olena'], 0]);
});
