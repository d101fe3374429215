import type { Clock } from '@station/kit/clock';
import { doubtfulWillGraceMs, willGraceMs } from './availability-decide.ts';
import type { Presence } from './listeners.ts';

type WillParts = {
  /** How it is found out whether a device is connected; undefined: the broker passes on no will of one that is. */
  presence: () => ((externalId: string) => Promise<Presence>) | undefined;
  /** @param ageMs when it was published, at most. @param doubtMs as `AvailabilityKeeper.will`. */
  counts: (deviceId: string, ageMs: number, doubtMs: number) => void;
  clock: Clock;
  /** Aborts when the backend ends. */
  signal: AbortSignal;
};

/**
 * Decides what a last will means. It may be of an older connection, which ends long after the device has a newer one: a board that changed
 * its Wi-Fi, or that has a new client id each time. Then it says nothing; where nobody can tell, only a longer silence proves offline.
 * @param ageMs the broker published it at most so long ago.
 */
export function createWills({ presence, counts, clock, signal }: WillParts) {
  return (device: { id: string; externalId: string }, ageMs: number): void => {
    const presenceOf = presence();
    if (presenceOf === undefined) return counts(device.id, ageMs, 0);
    const fromMs = clock.monotonic();
    const judge = async (): Promise<void> => {
      // A device that has just connected subscribes first.
      await clock.sleep(willGraceMs, signal);
      const found = await presenceOf(device.externalId);
      if (found === 'present') return;
      counts(device.id, ageMs + clock.monotonic() - fromMs, found === 'absent' ? 0 : doubtfulWillGraceMs);
    };
    // Only the end of the backend rejects.
    judge().catch(() => undefined);
  };
}
