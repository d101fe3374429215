import type { Journal } from './journal.ts';
import { rollbackTarget } from './operation-decide.ts';
import { addLook, type Failure, judgeProbation, type ProbationSeen } from './probation-decide.ts';
import type { OperationRequest } from './journal-keeper.ts';
import type { StackConditions } from './stack-conditions.ts';
import type { StepContext } from './step-context.ts';

type Parts = Pick<StepContext, 'keeper' | 'engine' | 'clock' | 'surface'> & {
  stackConditions: Pick<StackConditions, 'fail' | 'noteProbation'>;
  /** PROBATION_MINUTES; 0: no release is watched after its verdict. */
  probationMs: number;
  isAutomatic: () => boolean;
};

/** Watches a release for some time after its verdict. */
export type Probation = {
  /** Monotonic time of the next look; null: no release is on probation. */
  dueMs(): number | null;
  /** Looks, when it is time. @returns the way back, when the release should go and updates are automatic. */
  look(signal: AbortSignal): Promise<OperationRequest | null>;
};

const longestLookEveryMs = 30_000;
const looksAtLeast = 20;

export function createProbation(parts: Parts): Probation {
  const { keeper, clock, probationMs } = parts;
  const lookEveryMs = Math.min(longestLookEveryMs, probationMs / looksAtLeast);
  let watched: Watched | null = null;
  /** The release on probation. Its end is kept by the wall clock for the next process, and in this one by the monotonic clock. */
  const current = (): Watched | null => {
    const probation = keeper.isLoaded() && keeper.journal().operation === null ? keeper.journal().probation : undefined;
    if (probation === undefined) watched = null;
    else if (watched?.version !== probation.version) {
      const leftMs = Math.min(probationMs, Math.max(0, wholeSeconds(Date.parse(probation.endsAt) - clock.now())));
      watched = { ...probation, endsMs: clock.monotonic() + leftMs, dueMs: clock.monotonic(), seen: null };
    }
    return watched !== null && clock.monotonic() < watched.endsMs ? watched : null;
  };
  return {
    dueMs: () => current()?.dueMs ?? null,
    look: async (signal) => {
      const release = current();
      if (release === null || clock.monotonic() < release.dueMs) return null;
      release.dueMs = clock.monotonic() + lookEveryMs;
      const { seen, failure } = await lookOnce(parts, release, signal);
      release.seen = seen;
      parts.stackConditions.noteProbation(failure);
      return failure === null ? null : wayBack(parts, keeper.journal(), failure);
    },
  };
}

const wholeSeconds = (ms: number): number => Math.ceil(ms / 1000) * 1000;

type Watched = {
  version: string;
  hasPage: boolean;
  /** Monotonic times. */
  endsMs: number;
  dueMs: number;
  /** Null before the first look of this process. */
  seen: ProbationSeen | null;
};

async function lookOnce(
  { keeper, engine, surface }: Parts,
  { seen: before, hasPage }: Watched,
  signal: AbortSignal,
): Promise<{ seen: ProbationSeen; failure: Failure | null }> {
  const { installed } = keeper.journal();
  const all = await engine.containers();
  const containers = all.filter(({ service }) => installed !== null && service in installed.imageIds);
  const memory = (await engine.memoryUse?.(containers)) ?? {};
  const pageFault = hasPage ? (await surface.startPage(signal)).fault : null;
  const seen = addLook(before, { containers, memory, pageFault });
  return { seen, failure: judgeProbation(seen, containers) };
}

/** A person who decides on updates decides on the way back too: the condition offers it. */
function wayBack({ isAutomatic }: Parts, journal: Journal, because: Failure): OperationRequest | null {
  const target = rollbackTarget(journal);
  if (!isAutomatic() || target === null) return null;
  return { kind: 'rollback', trigger: 'automatic', to: target.release, because };
}
