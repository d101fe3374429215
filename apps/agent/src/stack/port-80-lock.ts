import type { Clock } from '@station/kit/clock';

/** Who listens on port 80: the stack's reverse proxy or, while `isTaken`, the setup page of the hotspot. */
export type Port80Lock = {
  isTaken(): boolean;
  take(): void;
  release(): void;
};

export function createPort80Lock(): Port80Lock {
  let taken = false;
  return {
    isTaken: () => taken,
    take: () => {
      taken = true;
    },
    release: () => {
      taken = false;
    },
  };
}

const lookMs = 500;

/** @param parts.alive is called while it waits: waiting is no standstill. */
export async function untilFree(
  lock: Port80Lock,
  { clock, alive }: { clock: Clock; alive: () => void },
  signal: AbortSignal,
): Promise<void> {
  while (lock.isTaken()) {
    alive();
    await clock.sleep(lookMs, signal);
  }
}
