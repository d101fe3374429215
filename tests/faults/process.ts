/** The simulated process has ended by a power cut or a kill. Thrown by every port that it still calls. */
export class Ended extends Error {
  constructor() {
    super('the simulated process has ended');
    this.name = 'Ended';
  }
}

/** A run that never becomes idle; the explorer counts it as a wrong result. */
export class Endless extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'Endless';
  }
}

export type SimulatedProcess = {
  /**
   * Called right before each effect on the world and each question to the engine, where a crash can make a difference.
   * Ends the process at the chosen point.
   * @throws Ended from then on.
   */
  point(label: string): void;
  /** @throws Ended once the process has ended; no crash point. */
  alive(): void;
  /** Crash points passed so far. */
  points(): number;
};

export type ProcessOptions = {
  /** Number of the crash point, from 1, at which the process ends; null: never. */
  endAt: number | null;
  /** Sees every crash point, before it takes effect. */
  onPoint?: (index: number, label: string) => void;
  /** Called once when the process ends. */
  onEnd?: (reason: Error) => void;
};

/** No correct run has more crash points; a loop without sleep ends here. */
const mostPoints = 20_000;

export function createProcess({ endAt, onPoint, onEnd }: ProcessOptions): SimulatedProcess {
  let count = 0;
  let end: Error | null = null;
  const alive = (): void => {
    if (end) throw end;
  };
  const finish = (error: Error): void => {
    end = error;
    onEnd?.(error);
  };
  return {
    alive,
    points: () => count,
    point: (label) => {
      alive();
      count += 1;
      onPoint?.(count, label);
      if (count === endAt) finish(new Ended());
      if (count > mostPoints) finish(new Endless(`more than ${mostPoints} effects`));
      alive();
    },
  };
}
