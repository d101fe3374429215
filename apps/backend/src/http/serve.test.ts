import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes } from '@station/protocol/routes';
import { recordedLog } from '../../testing/recorded-log.ts';
import { runBackend } from '../../testing/running-backend.ts';
import { requireHandlers, serve } from './serve.ts';
import { createHttpServer, type HttpServer } from './server.ts';

const declared = Object.keys(routes);

test('what is served is what is declared, and the WebSocket', async () => {
  await using running = await runBackend();
  const served = running.backend.routes.flatMap(({ method, url }) => [method].flat().map((one) => `${one} ${url}`));
  assert.deepEqual(served.filter((key) => !key.startsWith('HEAD ')).toSorted(), [...declared, 'GET /ws'].toSorted());
});

test('a declared route without a handler stops the start', async () => {
  const served = declared.map((key) => {
    const [method = '', url = ''] = key.split(' ');
    return { method, url };
  });
  await using complete = createHttpServer({ logger: recordedLog() });
  requireHandlers(complete, served);
  await complete.ready();
  await using incomplete = createHttpServer({ logger: recordedLog() });
  requireHandlers(incomplete, served.slice(1));
  await assert.rejects(async () => incomplete.ready(), new RegExp(`No handler is registered for ${declared[0]}$`));
});

test('a second handler of a route stops the start', async () => {
  const extraRoutes = async (app: HttpServer): Promise<void> => serve(app, 'GET /api/scenes', () => []);
  await assert.rejects(runBackend({ extraRoutes }), /'GET' already declared for route '\/api\/scenes'/);
});
