import type { ServerResponse } from 'node:http';

/**
 * Calls `then` when a response has ended, sent or not. At once when that has happened before, as when the client went away while its
 * permission was looked up: a listener would wait for ever.
 */
export function onceClosed(response: ServerResponse, then: () => void): void {
  if (response.closed) then();
  else response.once('close', then);
}
