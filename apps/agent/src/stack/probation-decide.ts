import { ownValue } from '@station/protocol/own-value';
import type { ContainerFact } from './stack-ports.ts';
import type { FailureCode } from './stack-facts.ts';

/** What was seen of a release since its verdict, in this process. Pure data; a new process begins anew. */
export type ProbationSeen = {
  /** Container id → its restarts before the first look. */
  baseline: Readonly<Record<string, number>>;
  /** Ids of the containers that had done their work and ended before the first look. */
  ended: readonly string[];
  /** The latest looks in a row in which the page could not be shown, and why. */
  page: { looks: number; fault: string };
  /** Service → the latest looks in a row in which its memory was full. */
  memory: Readonly<Record<string, number>>;
};

export type ProbationLook = {
  containers: readonly ContainerFact[];
  /** Service → the part of its memory limit that it uses. */
  memory: Readonly<Record<string, number>>;
  /** Null: the page can be shown, or the release had none. */
  pageFault: string | null;
};

export type Failure = { code: FailureCode; reason: string };

/** Restarts of one container: a single one may have another cause. */
const restartsOfALoop = 3;
/** Looks in a row: a page that is away for a moment, or a peak of memory, is not the end of a release. */
const looksInARow = 5;
const fullMemory = 0.97;

const noProbation: ProbationSeen = { baseline: {}, ended: [], page: { looks: 0, fault: '' }, memory: {} };

/** Adds a look. While a service is stopped, a person may have stopped it: then nothing but restarts counts. */
export function addLook(before: ProbationSeen | null, look: ProbationLook): ProbationSeen {
  const { containers, pageFault } = look;
  const seen = before ?? firstLook(containers);
  const isStopped = containers.some(({ id, state }) => state !== 'running' && !seen.ended.includes(id));
  if (isStopped) return { ...seen, page: noProbation.page, memory: {} };
  const full = Object.entries(look.memory).filter(([, part]) => part >= fullMemory);
  return {
    ...seen,
    page: pageFault === null ? noProbation.page : { looks: seen.page.looks + 1, fault: pageFault },
    memory: Object.fromEntries(full.map(([service]) => [service, (ownValue(seen.memory, service) ?? 0) + 1])),
  };
}

const firstLook = (containers: readonly ContainerFact[]): ProbationSeen => ({
  ...noProbation,
  baseline: Object.fromEntries(containers.map(({ id, restartCount }) => [id, restartCount])),
  ended: containers.filter(({ state, exitCode }) => state === 'exited' && exitCode === 0).map(({ id }) => id),
});

/** Why the release should go; null: nothing speaks against it. */
export function judgeProbation(seen: ProbationSeen, containers: readonly ContainerFact[]): Failure | null {
  for (const { id, service, restartCount } of containers) {
    const restarts = restartCount - (ownValue(seen.baseline, id) ?? 0);
    if (restarts >= restartsOfALoop)
      return { code: 'release_crashes', reason: `service "${service}" has crashed ${restarts} times since the update` };
  }
  for (const [service, looks] of Object.entries(seen.memory)) {
    if (looks >= looksInARow)
      return { code: 'release_out_of_memory', reason: `service "${service}" uses all the memory that it may use` };
  }
  if (seen.page.looks >= looksInARow) return { code: 'release_page_broken', reason: seen.page.fault };
  return null;
}
