import type { ServerResponse } from 'node:http';
import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';

export type EventStreams = {
  /** Takes over the response and writes each logged event to it until either side ends. */
  follow(response: ServerResponse): void;
};

/** Enough for a burst of events while the reader is busy; the events of a whole update are a few tens of kilobytes. */
const maxBufferedBytes = 256 * 1024;
/** Shorter than the idle time after which proxies cut a connection. */
const heartbeatMs = 15_000;
const maxStreams = 64;

/**
 * `GET /events`: server-sent events (WHATWG HTML, section 9.2), `data` being one event of the catalogue as JSON. A reader that
 * does not keep up is dropped; it may reconnect and read /status for what it missed.
 * @param parts.stopping ends all streams.
 */
export function createEventStreams(parts: { logger: AgentLogger; clock: Clock; stopping: AbortSignal }): EventStreams {
  const { logger, clock, stopping } = parts;
  let open = 0;
  return {
    follow: (response) => {
      if (open >= maxStreams) throw new StationError('unavailable', 'Too many clients follow the events already.');
      open += 1;
      const closed = new AbortController();
      const close = (): void => closed.abort();
      stopping.addEventListener('abort', close, { once: true });
      response.on('close', close);
      // A broken connection closes by its own; its error needs no handling.
      response.on('error', () => undefined);
      // Close the connection with the response, so that it does not delay the agent's stop.
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        connection: 'close',
      });
      response.write(': the events of the agent as they happen\n\n');
      const subscription = logger.subscribe((event) => {
        if (response.writableLength > maxBufferedBytes) response.destroy();
        else response.write(`data: ${JSON.stringify(event)}\n\n`);
      });
      void beat(response, clock, closed.signal).finally(() => {
        open -= 1;
        stopping.removeEventListener('abort', close);
        subscription[Symbol.dispose]();
        response.end();
      });
    },
  };
}

/** Sends comments that keep the connection open and detect a dead one. */
async function beat(response: ServerResponse, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(heartbeatMs, signal).catch(() => undefined);
    if (!signal.aborted) response.write(':\n\n');
  }
}
