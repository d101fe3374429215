import type { Clock } from '@station/kit/clock';
import type { Failure } from './write-decide.ts';

/** The reason of a signal that ends a try, or all of them. */
export class GivenUp extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.error);
    this.failure = failure;
  }
}

/** A signal that aborts with the failure after some time, unless `done` aborts. */
export function endAfter(clock: Clock, ms: number, failure: Failure, done: AbortSignal): AbortSignal {
  const controller = new AbortController();
  clock.sleep(ms, done).then(
    () => controller.abort(new GivenUp(failure)),
    () => undefined,
  );
  return controller.signal;
}

/** Waits at most `ms`. @throws GivenUp with the failure when the time is over. */
export async function waitFor<T>(
  options: { clock: Clock; ms: number; signal: AbortSignal; failure: () => Failure },
  wait: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, ms, signal, failure } = options;
  const done = new AbortController();
  const limit = new AbortController();
  clock.sleep(ms, done.signal).then(
    () => limit.abort(new GivenUp(failure())),
    () => undefined,
  );
  try {
    return await wait(AbortSignal.any([signal, limit.signal]));
  } finally {
    done.abort();
  }
}

/** Stops waiting for a call; its own time limit ends it. */
export async function abortable<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
  call.catch(() => undefined);
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([call, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
