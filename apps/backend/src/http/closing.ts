import type { HttpServer } from './server.ts';

/** How long requests that are under way may take when the backend stops; with the rest it must be over within 5 s. */
const drainMs = 3_000;

/** Aborts when the server begins to close: streams without an end would hold it up. Answers then end their connections. */
export function closingSignal(app: HttpServer): AbortSignal {
  const controller = new AbortController();
  app.addHook('preClose', async () => controller.abort());
  app.addHook('onSend', async (_request, reply) => {
    // Else the connection of the last request would stay open, and the server with it.
    if (controller.signal.aborted) void reply.header('connection', 'close');
  });
  return controller.signal;
}

/** Stops listening and answers what is under way, for a while. */
export async function closeInTime(app: HttpServer): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
  }
}
