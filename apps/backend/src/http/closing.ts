import type { HttpServer } from './server.ts';

/** How long current requests may still take when the backend stops; the whole stop must end within 5 s. */
const drainMs = 3_000;

/** Aborts when the server begins to close: endless streams would block it. Answers then close their connections. */
export function closingSignal(app: HttpServer): AbortSignal {
  const controller = new AbortController();
  app.addHook('preClose', async () => controller.abort());
  app.addHook('onSend', async (_request, reply) => {
    // Otherwise the connection of the last request would keep the server open.
    if (controller.signal.aborted) void reply.header('connection', 'close');
  });
  return controller.signal;
}

/** Stops listening, and answers current requests within the time limit. */
export async function closeInTime(app: HttpServer): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
  }
}
