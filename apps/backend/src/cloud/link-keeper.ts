import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@station/kit/clock';
import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import { describeError } from '@station/kit/station-error';
import type { Credentials, Link } from './link.ts';

/** The one backend of several that holds the link. */
export type CloudLeadership = {
  isLeader(): boolean;
  subscribe(listener: (isLeader: boolean) => void): Disposable;
};

export type LinkKeeper = AsyncDisposable & {
  /** What is stored may have become different, also through another backend. */
  look(): Promise<void>;
  /**
   * Changes what is stored, and lets the link follow.
   * @throws (rejects) what `work` throws; the link is then as it was.
   */
  change(work: () => Promise<void>): Promise<void>;
};

/** What nobody told of is found: another backend's word may be lost, the database may have been away. */
const lookEveryMs = 5_000;

/**
 * Keeps the link as it is to be: at the backend that leads, with what is stored, and nowhere else. Nothing else starts it, so that a start which
 * was overtaken by a stop cannot come after it.
 * @param credentials what is stored now.
 */
export function startLinkKeeper(parts: {
  link: Pick<Link, 'start' | 'stop' | 'credentials'>;
  credentials(): Promise<Credentials>;
  leadership: CloudLeadership;
  run: ExclusiveRunner['run'];
  onFault(error: unknown): void;
  clock: Clock;
}): LinkKeeper {
  const { link, leadership, run, clock } = parts;
  const ending = new AbortController();
  const { signal } = ending;
  let said: string | null = null;

  const mayHold = (): boolean => !signal.aborted && leadership.isLeader();
  const follow = async (): Promise<void> => {
    try {
      const wanted = mayHold() ? await parts.credentials() : null;
      said = null;
      // Asked again: the leadership may have gone while that was read.
      if (wanted === null || !mayHold()) return link.stop();
      if (!isDeepStrictEqual(wanted, link.credentials())) link.start(wanted);
    } catch (error) {
      const message = describeError(error);
      if (message !== said) parts.onFault(error);
      said = message;
    }
  };
  const look = (): Promise<void> => run(follow);
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      await look();
      await clock.sleep(lookEveryMs, signal).catch(() => undefined);
    }
  };
  const following = leadership.subscribe((isLeader) => (isLeader ? void look() : link.stop()));
  const keeping = keep();
  return {
    look,
    change: (work) =>
      run(async () => {
        await work();
        await follow();
      }),
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      link.stop();
      following[Symbol.dispose]();
      await keeping;
    },
  };
}
