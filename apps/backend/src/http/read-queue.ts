import type { FastifyInstance } from 'fastify';
import { StationError } from '@station/kit/station-error';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route reads much, at once or as a stream. Few such requests are answered at a time; the others wait. */
    heavy?: HeavyRead;
  }
}

type HeavyRead = 'answer' | 'stream';

/** Each takes some megabytes while it is answered, and the database answers one query at a time anyway. */
const atOnce = 1;
/** One of them may be read slowly. */
const streamsAtOnce = 2;
const maxWaiting = 40;
const waitMs = 10_000;
/** How much of the time goes to them in the long run, and how much at once: a board may have one processor for them and for devices. */
const share = 0.1;
const burstMs = 200;
/** At most, for one read: a stream takes as long as its reader wants. */
const chargedMs = 100;
const retryAfterSeconds = 2;

type ReadQueue = {
  /**
   * Resolves when it is the caller's turn, with the function that ends the turn.
   * @throws (rejects) `busy` when too many wait, or when the turn does not come in time.
   */
  enter(): Promise<() => void>;
};

const defaults = { atOnce, maxWaiting, waitMs, share, burstMs };

/**
 * Lets few callers at a time pass, in order of arrival, and nobody while they took more than their share of the time.
 * @param now monotonic time in milliseconds.
 */
export function createReadQueue(
  limits: Partial<typeof defaults> = {},
  now: () => number = () => performance.now(),
): ReadQueue {
  const { atOnce, maxWaiting, waitMs, share, burstMs } = { ...defaults, ...limits };
  const waiting = new Set<() => void>();
  let running = 0;
  /** When the time of all turns so far is paid for. */
  let paidAt = 0;
  let pause: NodeJS.Timeout | null = null;
  const earlyMs = (): number => paidAt - burstMs / share - now();
  const begin = (): (() => void) => {
    running += 1;
    const began = now();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      running -= 1;
      paidAt = Math.max(paidAt, now()) + Math.min(now() - began, chargedMs) / share;
      startNext();
    };
  };
  function startNext(): void {
    const [next] = waiting;
    if (next === undefined || running >= atOnce || pause !== null) return;
    const early = earlyMs();
    if (early <= 0) return next();
    pause = setTimeout(() => {
      pause = null;
      startNext();
    }, early);
  }
  return {
    enter: () => {
      if (waiting.size === 0 && running < atOnce && earlyMs() <= 0) return Promise.resolve(begin());
      if (waiting.size >= maxWaiting) return Promise.reject(busy());
      return new Promise((resolve, reject) => {
        const start = (): void => {
          clearTimeout(timer);
          waiting.delete(start);
          resolve(begin());
          startNext();
        };
        const timer = setTimeout(() => {
          waiting.delete(start);
          reject(busy());
        }, waitMs);
        waiting.add(start);
        startNext();
      });
    },
  };
}

/** Queues the requests of all routes with `heavy` that are registered from now on. */
export function queueHeavyReads(app: FastifyInstance, answers: ReadQueue = createReadQueue()): void {
  const queues = { answer: answers, stream: createReadQueue({ atOnce: streamsAtOnce, share: 1 }) };
  app.addHook('onRoute', (route) => {
    const kind = route.config?.heavy;
    if (kind === undefined) return;
    const queue = queues[kind];
    const ends = new WeakMap<object, () => void>();
    route.preHandler = [
      ...[route.preHandler ?? []].flat(),
      async (request) => {
        ends.set(request, await queue.enter());
      },
    ];
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      async (request, reply, payload) => {
        const end = ends.get(request);
        if (end === undefined) return;
        // A stream is read until the connection is done with it.
        if (isStream(payload) && !reply.raw.destroyed) reply.raw.once('close', end);
        else end();
      },
    ];
  });
}

const isStream = (payload: unknown): boolean =>
  typeof payload === 'object' && payload !== null && 'pipe' in payload && typeof payload.pipe === 'function';

const busy = (): StationError =>
  new StationError('busy', 'The station answers other large requests now. Try again in a moment.', {
    details: { retryAfterSeconds },
  });
