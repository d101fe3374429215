import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';

/**
 * Waits until a request that is refused has arrived as a whole; what comes is thrown away. Answering and closing while the
 * other side still writes resets the connection, and the answer is lost with it. The server's own request timeout ends a
 * request that never does.
 */
export async function discardUnreadBody(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  request.resume();
  // A client that goes away in the middle is no fault of ours.
  await finished(request).catch(() => undefined);
}
