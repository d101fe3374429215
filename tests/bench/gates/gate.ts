import { imageRecipes } from '../../../scripts/release/image-recipes.ts';
import type { Changes } from '../../e2e/bad-releases/offered.ts';

/** Caught: the release is refused, or the one before runs again. */
export type Verdict = 'caught' | 'kept';

export const changeable = ['backend', 'frontend'] as const;
export type Changeable = (typeof changeable)[number];

/** A stack with something that updates it. Every release comes upon the first one. */
export type Gate = AsyncDisposable & {
  /** @returns a verdict for each way of updating that was tried, by its name in the table. */
  judge(changes: Changes): Promise<Partial<Record<Column, Verdict>>>;
};

export const columns = ['Station', 'health check', 'Podman', 'Podman, Notify=healthy'] as const;
export type Column = (typeof columns)[number];

/** How the health of a service is asked: the arguments of a program in its container. Failures in the first seconds do not count. */
export type Check = { command: readonly string[]; startSeconds: number; intervalSeconds: number };

/** Null: nobody asks. */
export type Checks = Record<Changeable, Check | null>;

/** Others wait this long for a release to become healthy. */
export const patienceSeconds = 45;
/** As Station in the end-to-end tests: so long a release must be good. */
export const stabilizationSeconds = 2;
export const checkTimeoutSeconds = 5;
export const checkRetries = 3;

/** What Station asks there, too; nothing of that stack needs its frontend. */
export const checksOfForeign: Checks = {
  backend: {
    command: ['wget', '-q', '-O', '/dev/null', 'http://127.0.0.1/api/health'],
    startSeconds: 10,
    intervalSeconds: 2,
  },
  frontend: null,
};

/** Those of the images, but asked more often than every 30 s: otherwise the bench takes hours. */
export const checksOfHome: Checks = { backend: checkOf('backend'), frontend: checkOf('frontend') };

function checkOf(name: Changeable): Check {
  const { Test, StartPeriod } = imageRecipes[name].config('').Healthcheck;
  return { command: Test.slice(1), startSeconds: StartPeriod / 1e9, intervalSeconds: 5 };
}

/** Services that a release changes. */
export const changedBy = (changes: Changes): Changeable[] =>
  changeable.filter((service) => changes[service] !== undefined);
