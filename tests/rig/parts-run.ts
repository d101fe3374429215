import type { TestRun } from './test-run.ts';

export type FinishedRun = Pick<TestRun, 'totals' | 'output'>;

/** A part that failed beside the others and passed alone. */
type Flake<Part> = { part: Part; failures: readonly string[] };

export type PartsRun<Part, Run> = {
  /** The run of each part that counts. Parts that an interruption left out are not in it. */
  runs: ReadonlyMap<Part, Run>;
  flakes: readonly Flake<Part>[];
};

/** More failed parts than this are no accident: none of them is repeated. */
const mostRepeated = 2;

/**
 * Runs all parts, several at a time. A part that failed runs once more, alone, when the others are done; that run counts.
 * @param options.lanes how many run at a time.
 * @param options.isExclusive of these, one runs at a time.
 * @param options.isInterrupted true: nothing more begins.
 */
export async function runParts<Part, Run extends FinishedRun>(
  parts: readonly Part[],
  options: {
    lanes: number;
    run: (part: Part) => Promise<Run>;
    isExclusive: (part: Part) => boolean;
    isInterrupted: () => boolean;
  },
): Promise<PartsRun<Part, Run>> {
  const runs = new Map<Part, Run>();
  const queue = [...parts];
  let isExclusiveRunning = false;
  const takeNext = (): Part | undefined => {
    const at = queue.findIndex((part) => !(isExclusiveRunning && options.isExclusive(part)));
    return at === -1 ? undefined : queue.splice(at, 1)[0];
  };
  const work = async (): Promise<void> => {
    while (!options.isInterrupted()) {
      const part = takeNext();
      if (part === undefined) return;
      const isExclusive = options.isExclusive(part);
      isExclusiveRunning ||= isExclusive;
      runs.set(part, await options.run(part));
      if (isExclusive) isExclusiveRunning = false;
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, work));
  const failed = [...runs].filter(([, run]) => hasFailed(run));
  const flakes: Flake<Part>[] = [];
  if (failed.length > mostRepeated) return { runs, flakes };
  for (const [part, first] of failed) {
    if (options.isInterrupted()) break;
    const second = await options.run(part);
    runs.set(part, second);
    if (!hasFailed(second)) flakes.push({ part, failures: namesOfFailures(first.output) });
  }
  return { runs, flakes };
}

const hasFailed = ({ totals }: FinishedRun): boolean => totals.fail + totals.cancelled > 0;

/** Names of the failed tests in a report of Node's `spec` reporter, without the suites that contain them. */
export function namesOfFailures(output: string): string[] {
  const [, list = ''] = output.split('\n✖ failing tests:\n');
  return [...list.matchAll(/^✖ (.*) \([\d.]+ms\)$/gm)].map(([, name = '']) => name);
}
