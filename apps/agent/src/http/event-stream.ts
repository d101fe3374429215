import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '@station/kit/clock';
import { createFairPlaces } from '@station/kit/fair-places';
import type { AgentLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import type { LogLine } from '@station/protocol/agent-machine';
import type { LogFollower } from '../core/operator-ports.ts';

export type EventStreams = {
  /** Takes over the response and writes each logged event to it until either side ends. */
  follow(response: ServerResponse): void;
};

export type LogStreams = {
  /** Takes over the response and writes lines of logs to it until either side ends. */
  follow(log: LogFollower, response: ServerResponse): void;
};

/** Enough for a burst of events while the reader is busy; the events of a whole update are a few tens of kilobytes. */
const maxBufferedBytes = 256 * 1024;
/** Shorter than the idle time after which proxies cut a connection. */
const heartbeatMs = 15_000;
/** Programs of the machine, over TCP, share the first; the backend on its socket always has a place. */
const maxStreams = { each: 32, all: 64 } as const;

/**
 * `GET /events`: server-sent events (WHATWG HTML, section 9.2), `data` being one event of the catalogue as JSON. A reader that
 * does not keep up is dropped; it may reconnect and read /status for what it missed.
 * @param parts.stopping ends all streams.
 */
export function createEventStreams(parts: { logger: AgentLogger; clock: Clock; stopping: AbortSignal }): EventStreams {
  const { logger, clock, stopping } = parts;
  const places = createFairPlaces<ServerResponse>(maxStreams);
  return {
    follow: (response) => {
      const isLocalSocket = response.req.socket.remoteAddress === undefined;
      places.enter(response, [isLocalSocket ? 'socket' : 'tcp'])?.destroy();
      const closed = openStream(response, { clock, stopping, comment: 'the events of the agent as they happen' });
      const subscription = logger.subscribe((event) => {
        if (response.writableLength > maxBufferedBytes) response.destroy();
        else response.write(`data: ${JSON.stringify(event)}\n\n`);
      });
      onAbort(closed, () => {
        places.leave(response);
        subscription[Symbol.dispose]();
      });
    },
  };
}

/** Few: each follows all services of the stack. */
const maxLogStreams = 6;

/**
 * `GET /logs`: server-sent events, `data` being one `LogLine` as JSON. A reader that does not keep up slows down the reading of the
 * logs of services; lines of the agent itself, which do not wait, end a stream that is far behind.
 */
export function createLogStreams(parts: { clock: Clock; stopping: AbortSignal }): LogStreams {
  const { clock, stopping } = parts;
  let open = 0;
  return {
    follow: (log, response) => {
      if (open >= maxLogStreams) throw new StationError('unavailable', 'Too many clients follow the logs already.');
      open += 1;
      const closed = openStream(response, { clock, stopping, comment: 'the logs as they are written' });
      const onLine = (line: LogLine): Promise<void> | void => {
        if (closed.aborted) return undefined;
        if (response.writableLength > maxBufferedBytes) {
          response.destroy();
          return;
        }
        if (response.write(`data: ${JSON.stringify(line)}\n\n`)) return undefined;
        return once(response, 'drain', { signal: closed }).then(
          () => undefined,
          () => undefined,
        );
      };
      // A log that cannot be followed ends the stream; the reader asks again.
      const ended = log(onLine, closed).catch(() => undefined);
      void ended.finally(() => {
        open -= 1;
        response.end();
      });
    },
  };
}

/** Begins a stream of server-sent events. @returns aborts when either side has ended it. */
function openStream(
  response: ServerResponse,
  { clock, stopping, comment }: { clock: Clock; stopping: AbortSignal; comment: string },
): AbortSignal {
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
  response.write(`: ${comment}\n\n`);
  void beat(response, clock, closed.signal).finally(() => {
    stopping.removeEventListener('abort', close);
    response.end();
  });
  return closed.signal;
}

const onAbort = (signal: AbortSignal, then: () => void): void =>
  signal.aborted ? then() : signal.addEventListener('abort', then, { once: true });

/** Sends comments that keep the connection open and detect a dead one. */
async function beat(response: ServerResponse, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(heartbeatMs, signal).catch(() => undefined);
    if (!signal.aborted) response.write(':\n\n');
  }
}
