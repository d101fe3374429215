import type { Clock } from '@station/kit/clock';
import type { StackEngine } from './ports.ts';

/** Who stands on port 80: the stack's reverse proxy or, while `isTaken`, the setup page of the hotspot. */
export type FrontDoor = {
  isTaken(): boolean;
  take(): void;
  giveBack(): void;
};

export function createFrontDoor(): FrontDoor {
  let taken = false;
  return {
    isTaken: () => taken,
    take: () => {
      taken = true;
    },
    giveBack: () => {
      taken = false;
    },
  };
}

const lookMs = 500;

/**
 * The engine whose `up` waits while the door is taken: it would start the proxy again, which would find its port in use, and a good
 * release would look like a bad one.
 * @param parts.alive is called while it waits: waiting is no standstill.
 */
export function waitForDoor(
  engine: StackEngine,
  parts: { door: FrontDoor; clock: Clock; alive: () => void },
): StackEngine {
  return {
    ...engine,
    up: async (signal) => {
      while (parts.door.isTaken()) {
        parts.alive();
        await parts.clock.sleep(lookMs, signal);
      }
      return engine.up(signal);
    },
  };
}
