import { StationError } from '@station/kit/station-error';

/** What makes a station somebody's: the set-up, or the restore of a backup. Never both at once: the restore would take the new account away. */
export type FirstRun = {
  isRestoring(): boolean;
  /** @returns null when a restore runs: nothing was done. */
  setUp<T>(action: () => Promise<T>): Promise<T | null>;
  /** Refuses the set-up from now on, unless `action` fails: then the process starts again. @throws StationError conflict */
  restore<T>(action: () => Promise<T>): Promise<T>;
};

export function createFirstRun(): FirstRun {
  let isRestoring = false;
  let settingUp = 0;
  return {
    isRestoring: () => isRestoring,
    setUp: async (action) => {
      if (isRestoring) return null;
      settingUp += 1;
      try {
        return await action();
      } finally {
        settingUp -= 1;
      }
    },
    restore: async (action) => {
      if (isRestoring || settingUp > 0)
        throw new StationError('conflict', 'Somebody sets up or restores this station now. Wait a moment.');
      isRestoring = true;
      try {
        return await action();
      } catch (error) {
        isRestoring = false;
        throw error;
      }
    },
  };
}
