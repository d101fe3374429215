import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

/** Calls `work` once after `ms`, unless disposed before. Keeps no process running. */
export function after(ms: number, work: () => void): Disposable {
  const timer = setTimeout(work, ms).unref();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Calls `work` every `ms` until disposed. Keeps no process running. */
export function every(ms: number, work: () => void): Disposable {
  const timer = setInterval(work, ms).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Resolves after a few milliseconds, by no clock that a test could set. */
export const pause = (ms: number): Promise<void> => sleep(ms);

/** Resolves in the next turn of the event loop, after what can be read now was read. */
export const nextTurn = (): Promise<void> => setImmediate();
