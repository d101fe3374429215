import type { Progress } from '@station/protocol/agent-api';
import type { PullProgress } from './ports.ts';

/** Adds up the progress of several pulls, weighted by bytes. It never goes back, also when one of them starts over. */
export type ProgressMeter = {
  /** Expected bytes, when the registry told them before. */
  expect(totalBytes: number | null): void;
  update(service: string, progress: PullProgress): void;
  read(): Progress;
};

export function createProgressMeter(): ProgressMeter {
  let expected: number | null = null;
  let furthest = 0;
  const services = new Map<string, PullProgress>();
  return {
    expect: (totalBytes) => {
      expected = totalBytes;
      furthest = 0;
      services.clear();
    },
    update: (service, progress) => {
      services.set(service, progress);
    },
    read: () => {
      const parts = [...services.values()];
      const sum = parts.reduce((bytes, part) => bytes + part.doneBytes, 0);
      const told = parts.reduce<number | null>(
        (bytes, part) => (bytes === null || part.totalBytes === null ? null : bytes + part.totalBytes),
        0,
      );
      // A layer that images share is expected once, and each of their pulls counts it: as much is not to be fetched at all.
      const shared = expected === null || told === null ? 0 : Math.max(0, told - expected);
      const done = Math.max(sum - shared, ...parts.map((part) => part.doneBytes), 0);
      const totalBytes = expected ?? (parts.length === 0 ? null : told);
      furthest = Math.max(furthest, totalBytes === null ? done : Math.min(done, totalBytes));
      const percent = totalBytes === null ? null : totalBytes === 0 ? 100 : Math.floor((100 * furthest) / totalBytes);
      return { doneBytes: furthest, totalBytes, percent };
    },
  };
}
