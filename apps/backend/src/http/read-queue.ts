import type { FastifyInstance } from 'fastify';
import { systemClock } from '@station/kit/clock';
import { onceClosed } from '@station/kit/once-closed';
import { StationError } from '@station/kit/station-error';
import { after } from '@station/kit/timers';
import type { Route } from '@station/protocol/route';
import { userOf } from './access.ts';
import { isStream } from './stalled-readers.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    heavy?: Route['heavy'];
  }
}

/** Who reads. Turns are shared by people, then by the sessions of one person. */
export type Reader = { person: string; session: string };

/** Each takes some megabytes while it is answered, and the database answers one query at a time anyway. */
const atOnce = { person: 1, all: 1 };
/** A stream takes as long as its reader wants, so a person has one. */
const streamsAtOnce = { person: 1, all: 4 };
const maxWaiting = { person: 20, all: 60 };
const waitMs = 10_000;
/** How much of the time goes to them in the long run, and how much at once: a board may have one processor for them and for devices. */
const share = 0.1;
const burstMs = 200;
/** At most, for one read: a stream takes as long as its reader wants. */
const chargedMs = 100;
const retryAfterSeconds = 2;
/** Answers of one person that wait for their turn or to be read: each may take 256 KiB. */
const maxOpen = 30;
/** Persons and sessions whose latest turn is known. */
const maxKnownTurns = 1_000;

type ReadQueue = {
  /**
   * Resolves when it is the caller's turn, with the function that ends the turn.
   * @throws (rejects) `busy` when too many wait, or when the turn does not come in time.
   */
  enter(reader: Reader): Promise<() => void>;
};

type Waiting = Reader & { turn: PromiseWithResolvers<() => void>; timer: Disposable | null };

const defaults = { atOnce, maxWaiting, waitMs, share, burstMs };

/**
 * Lets few callers at a time pass, and nobody while they took more than their share of the time. The person whose last turn is longest ago is
 * next, so that many reads of one person delay those of another by one turn.
 * @param now monotonic time in milliseconds.
 */
export function createReadQueue(
  limits: Partial<typeof defaults> = {},
  now: () => number = systemClock.monotonic,
): ReadQueue {
  const { atOnce, maxWaiting, waitMs, share, burstMs } = { ...defaults, ...limits };
  /** In the order of arrival. */
  const waiting = new Set<Waiting>();
  const running: Reader[] = [];
  const turns = createTurns();
  const account = createAccount({ share, burstMs }, now);
  let pause: Disposable | null = null;
  const begin = (reader: Reader): (() => void) => {
    running.push(reader);
    turns.note(reader);
    const pay = account.begin();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      running.splice(running.indexOf(reader), 1);
      pay();
      startNext();
    };
  };
  const mayBegin = ({ person }: Reader): boolean =>
    running.length < atOnce.all && countOf(running, person) < atOnce.person;
  const refuse = (one: Waiting): void => {
    leave(waiting, one);
    one.turn.reject(busy());
  };
  const start = (one: Waiting): void => {
    leave(waiting, one);
    one.turn.resolve(begin(one));
    startNext();
  };
  function startNext(): void {
    const next = turns.longestAgo([...waiting].filter(mayBegin));
    if (next === null || pause !== null) return;
    const early = account.earlyMs();
    if (early <= 0) return start(next);
    pause = after(early, () => {
      pause = null;
      startNext();
    });
  }
  return {
    enter: (reader) => {
      if (waiting.size === 0 && mayBegin(reader) && account.earlyMs() <= 0) return Promise.resolve(begin(reader));
      const place = findPlace([...waiting], reader, maxWaiting);
      if (place === 'none') return Promise.reject(busy());
      if (place !== 'free') refuse(place);
      const one: Waiting = { ...reader, turn: Promise.withResolvers(), timer: null };
      one.timer = after(waitMs, () => refuse(one));
      waiting.add(one);
      startNext();
      return one.turn.promise;
    },
  };
}

function leave(waiting: Set<Waiting>, one: Waiting): void {
  one.timer?.[Symbol.dispose]();
  waiting.delete(one);
}

/** What all turns together have taken of the time. */
function createAccount({ share, burstMs }: { share: number; burstMs: number }, now: () => number) {
  /** When the time of all turns so far is paid for. */
  let paidAt = 0;
  return {
    /** How long the next turn is too early. */
    earlyMs: (): number => paidAt - burstMs / share - now(),
    /** @returns charges the turn that begins now. */
    begin: (): (() => void) => {
      const began = now();
      return () => {
        paidAt = Math.max(paidAt, now()) + Math.min(now() - began, chargedMs) / share;
      };
    },
  };
}

const countOf = (readers: readonly Reader[], person: string): number =>
  readers.filter((reader) => reader.person === person).length;

/** When all places are taken, the latest of the person with most of them goes. @returns the one that goes. */
function findPlace(
  waiting: readonly Waiting[],
  { person }: Reader,
  most: { person: number; all: number },
): Waiting | 'free' | 'none' {
  const own = countOf(waiting, person);
  if (own >= most.person) return 'none';
  if (waiting.length < most.all) return 'free';
  const groups = Map.groupBy(waiting, (one) => one.person);
  const [largest = []] = [...groups.values()].toSorted((a, b) => b.length - a.length);
  return (largest.length <= own + 1 ? undefined : largest.at(-1)) ?? 'none';
}

/** Remembers who had a turn, in order. */
function createTurns() {
  const latest = new Map<string, number>();
  let count = 0;
  const sessionOf = ({ person, session }: Reader): string => `${person} ${session}`;
  const turnOf = (key: string): number => latest.get(key) ?? 0;
  return {
    note: (reader: Reader): void => {
      if (latest.size > maxKnownTurns) latest.clear();
      count += 1;
      for (const key of [reader.person, sessionOf(reader)]) latest.set(key, count);
    },
    /** Of equals the first. */
    longestAgo: <T extends Reader>(readers: readonly T[]): T | null => {
      const [first] = readers.toSorted(
        (a, b) => turnOf(a.person) - turnOf(b.person) || turnOf(sessionOf(a)) - turnOf(sessionOf(b)),
      );
      return first ?? null;
    },
  };
}

/** Queues the requests of all routes with `heavy` that are registered from now on. */
export function queueHeavyReads(app: FastifyInstance, answers: ReadQueue = createReadQueue()): void {
  const queues = { answer: answers, stream: createReadQueue({ atOnce: streamsAtOnce, share: 1 }) };
  const open: Reader[] = [];
  app.addHook('onRoute', (route) => {
    const kind = route.config?.heavy;
    if (kind === undefined) return;
    const queue = queues[kind];
    const ends = new WeakMap<object, () => void>();
    route.preHandler = [
      ...[route.preHandler ?? []].flat(),
      async (request, reply) => {
        const { userId, sessionId } = userOf(request);
        const reader = { person: userId, session: sessionId ?? 'none' };
        if (countOf(open, reader.person) >= maxOpen) throw busy();
        open.push(reader);
        onceClosed(reply.raw, () => open.splice(open.indexOf(reader), 1));
        ends.set(request, await queue.enter(reader));
      },
    ];
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      async (request, reply, payload) => {
        const end = ends.get(request);
        if (end === undefined) return;
        // A stream is read until the connection is done with it.
        if (isStream(payload)) onceClosed(reply.raw, end);
        else end();
      },
    ];
  });
}

const busy = (): StationError =>
  new StationError('busy', 'The station answers other large requests now. Try again in a moment.', {
    details: { retryAfterSeconds },
  });
