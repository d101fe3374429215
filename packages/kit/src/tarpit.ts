import { systemClock } from './clock.ts';
import { every } from './timers.ts';

/** An unread connection has up to 64 KiB of what arrived in the kernel, which counts for the container as well. */
const defaultMost = 500;
const holdMs = 2_000;
/** One at a time: those that ended together would come back together. */
const endEveryMs = 20;

type Held = { pause(): unknown; destroy(): unknown; once(event: 'close', listener: () => void): unknown };

export type Tarpit = {
  /**
   * Reads no more of a connection, and ends it after 2 s, 50 a second; sooner when there are too many.
   * @param end default: destroys it.
   */
  hold(socket: Held, end?: () => void): void;
};

/**
 * Ends connections of strangers late: who makes each that is ended again at once makes few, and costs little.
 * @param most connections at once. @param now monotonic time in milliseconds.
 */
export function createTarpit({ most = defaultMost, now = systemClock.monotonic } = {}): Tarpit {
  /** In the order of arrival. */
  const held = new Map<Held, { until: number; end: () => void }>();
  let checking: Disposable | null = null;
  const endOldest = (isDue: (until: number) => boolean): void => {
    for (const [socket, { until, end }] of held) {
      if (!isDue(until)) return;
      held.delete(socket);
      end();
      return;
    }
  };
  const check = (): void => {
    endOldest((until) => until <= now());
    if (held.size > 0) return;
    checking?.[Symbol.dispose]();
    checking = null;
  };
  return {
    hold: (socket, end = () => socket.destroy()) => {
      // Whoever reads from it may have resumed it.
      socket.pause();
      if (held.has(socket)) return;
      held.set(socket, { until: now() + holdMs, end });
      socket.once('close', () => held.delete(socket));
      checking ??= every(endEveryMs, check);
      if (held.size > most) endOldest(() => true);
    },
  };
}
