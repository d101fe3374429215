/**
 * Loaded with `node --import` before a program: its clocks and its timers follow the time of a house (`house-time.ts`), which advances in
 * steps. While the station works, a delay of up to a second stays real: it is not a part of the calendar but of the work.
 */
import { subscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import timers from 'node:timers';
import promises from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

/** Wall clock and monotonic clock in milliseconds. */
type Time = { wall: number; steady: number };

const folder = process.env['HOUSE_TIME'] ?? '';
/** Programs that this one starts for a moment hold the time; the services of a stack do not. */
const childrenStay = process.env['HOUSE_CHILDREN'] === 'stay';
const realUpToMs = 1_000;
/** A request that is open longer is a stream, or waits for something that needs time. */
const openRequestMs = 1_000;
/** The station takes a pause of ten seconds for one in which its machine slept. */
const sliceMs = 9_000;
/** In a longer step the station does not work: what looks more often than each minute, but not in each slice, looks once a minute. */
const quietMs = 60_000;
let isQuiet = false;
const longestHoldMs = 60_000;
/** Turns of the event loop in which most files are read. */
const shortTurns = 10;
/** What comes more often reads at most a file, and goes on when it has. */
const oftenMs = 60_000;

const real = {
  now: Date.now,
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clear: globalThis.clearTimeout,
  sleep: promises.setTimeout,
  turn: promises.setImmediate,
  timeout: AbortSignal.timeout.bind(AbortSignal),
  steady: performance.now.bind(performance),
};
const readTime = (): Time => {
  const [wall = 0, steady = 0] = readFileSync(`${folder}/time`, 'utf8').split(' ').map(Number);
  return { wall, steady };
};
let time = readTime();
const wallNow = (): number => Math.floor((isMainThread ? time : readTime()).wall);

globalThis.Date = new Proxy(Date, {
  construct: (target, args: [], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [wallNow()] : args, newTarget) as Date,
});
globalThis.Date.now = wallNow;

/** As much of `NodeJS.Timeout` as programs use. */
class HouseTimer {
  at: number;
  isRef = true;
  readonly ms: number;
  readonly isInterval: boolean;
  readonly run: () => void;
  constructor(ms: number, isInterval: boolean, run: () => void) {
    this.ms = ms;
    this.isInterval = isInterval;
    this.run = run;
    this.at = time.steady + ms;
    waiting.add(this);
    keepAlive();
  }
  ref(): this {
    return this.#keep(true);
  }
  unref(): this {
    return this.#keep(false);
  }
  hasRef(): boolean {
    return this.isRef;
  }
  refresh(): this {
    this.at = time.steady + this.ms;
    waiting.add(this);
    return this.#keep(this.isRef);
  }
  close(): this {
    waiting.delete(this);
    keepAlive();
    return this;
  }
  [Symbol.dispose](): void {
    this.close();
  }
  #keep(isRef: boolean): this {
    this.isRef = isRef;
    keepAlive();
    return this;
  }
}

const waiting = new Set<HouseTimer>();
let keepAlive = (): void => undefined;

function installTimers(): void {
  const make =
    (isInterval: boolean, own: typeof setTimeout) =>
    (work: (...args: unknown[]) => void, ms = 1, ...args: unknown[]): unknown =>
      ms > realUpToMs || (isInterval && ms === realUpToMs)
        ? new HouseTimer(ms, isInterval, () => work(...args))
        : own(work, ms, ...args);
  const clear = (timer: unknown): void => {
    if (timer instanceof HouseTimer) timer.close();
    else real.clear(timer as NodeJS.Timeout);
  };
  const fakes = {
    setTimeout: make(false, real.setTimeout),
    setInterval: make(true, real.setInterval as typeof setTimeout),
    clearTimeout: clear,
    clearInterval: clear,
  };
  Object.assign(globalThis, fakes);
  Object.assign(timers, fakes);
  promises.setTimeout = (<T>(ms = 1, value?: T, options: { signal?: AbortSignal; ref?: boolean } = {}): Promise<T> =>
    ms > realUpToMs || (isQuiet && ms > 0)
      ? sleep(ms, value as T, options)
      : real.sleep(ms, value, options)) as typeof real.sleep;
  syncBuiltinESMExports();
  AbortSignal.timeout = (ms) => {
    if (ms <= realUpToMs) return real.timeout(ms);
    const ending = new AbortController();
    const late = (): void => ending.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    new HouseTimer(ms, false, late).unref();
    return ending.signal;
  };
  performance.now = () => time.steady;
}

function sleep<T>(ms: number, value: T, { signal, ref = true }: { signal?: AbortSignal; ref?: boolean }): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  if (signal?.aborted) {
    reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal.reason }));
    return promise;
  }
  const abort = (): void => {
    timer.close();
    reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal?.reason }));
  };
  const timer = new HouseTimer(ms, false, () => {
    signal?.removeEventListener('abort', abort);
    resolve(value);
  });
  if (!ref) timer.unref();
  signal?.addEventListener('abort', abort, { once: true });
  return promise;
}

/** Requests that this program has sent, with the real time of their beginning. */
const requests = new Map<unknown, number>();

function watchRequests(): void {
  const begin = (message: unknown): void => {
    requests.set((message as { request: unknown }).request, real.steady());
  };
  const end = (message: unknown): void => void requests.delete((message as { request: unknown }).request);
  for (const name of ['undici:request:create', 'http.client.request.start']) subscribe(name, begin);
  for (const name of ['undici:request:trailers', 'undici:request:error']) subscribe(name, end);
  for (const name of ['http.client.response.finish', 'http.client.request.error']) subscribe(name, end);
}

function isBusy(): boolean {
  const now = real.steady();
  for (const [request, since] of requests) {
    if (now - since < openRequestMs) return true;
    requests.delete(request);
  }
  const active = process.getActiveResourcesInfo();
  return active.some((kind) => kind.startsWith('FSReq') || (kind === 'ProcessWrap' && !childrenStay));
}

/** Slice after slice; timers end in their order, each at most once in a slice, and what they began comes to its end before the next. */
async function advance(to: Time): Promise<void> {
  isQuiet = to.steady - time.steady > quietMs;
  let nextMinute = time.steady + quietMs;
  while (time.steady < to.steady) {
    const ms = Math.min(sliceMs, to.steady - time.steady);
    time = { wall: time.wall + ms, steady: time.steady + ms };
    const areAllDue = !isQuiet || time.steady >= nextMinute || time.steady >= to.steady;
    if (areAllDue) nextMinute = time.steady + quietMs;
    const due = [...waiting]
      .filter((timer) => timer.at <= time.steady && (areAllDue || timer.ms <= sliceMs))
      .sort((one, other) => one.at - other.at);
    for (const timer of due) {
      // One that ended before may have ended this one.
      if (!waiting.delete(timer)) continue;
      if (timer.isInterval) timer.refresh();
      timer.run();
    }
    if (due.length === 0) continue;
    keepAlive();
    await real.turn();
    if (requests.size > 0 || due.some((timer) => timer.ms >= oftenMs)) await settle();
  }
  time = to;
  await settle();
}

async function settle(): Promise<void> {
  const since = real.steady();
  for (let turns = 0; turns < shortTurns || isBusy(); turns++) {
    if (real.steady() - since > longestHoldMs) return;
    await (turns < shortTurns ? real.turn() : real.sleep(1));
  }
}

if (isMainThread) {
  installTimers();
  watchRequests();
  const socket = connect(`${folder}/steps.sock`);
  socket.on('error', () => undefined);
  createInterface({ input: socket }).on('line', (line) => {
    const [wall = 0, steady = 0] = line.split(' ').map(Number);
    void advance({ wall, steady }).then(() => socket.write('\n'));
  });
  keepAlive = () => void ([...waiting].some(({ isRef }) => isRef) ? socket.ref() : socket.unref());
  keepAlive();
}
