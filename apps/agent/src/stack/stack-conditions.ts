import { isoTime, type Clock } from '@station/kit/clock';
import type { Release } from '@station/protocol/release';
import type { AgentConditions } from '@station/kit/conditions';
import { describeUnhealed, type Unhealed } from './image-care-decide.ts';
import type { Journal } from './journal.ts';
import { rollbackTarget } from './operation-decide.ts';
import type { StackEngine } from './stack-ports.ts';

export type LastError = { code: string; message: string; at: string };

/** Keeps `lastError` of the status and the stack's conditions up to date. */
export type StackConditions = {
  fail(code: string, message: string): void;
  lastError(): LastError | null;
  /** Updates the conditions once for each operation that has ended. */
  noteEnd(journal: Journal): void;
  /** Records which version will be installed automatically; null when none will. */
  noteWanted(version: string | null, journal: Journal): void;
  /** Checks the settled stack: its health, its images and its rollback target. */
  noteSettled(journal: Journal, unhealed: Unhealed): Promise<void>;
  /** @param failure why the release that was installed last should go; null: nothing speaks against it. */
  noteProbation(failure: { code: string; reason: string } | null): void;
  /** Compares the clock with the time floor. The clock may be set, or go wrong, long after the start. */
  noteClock(journal: Journal): void;
};

/** Condition → failure code of an update. The condition stays as long as that release will be installed. */
const failures = [
  ['disk_space_low', 'disk_space_low'],
  ['engine_storage_failed', 'engine_storage_failed'],
  ['registry_auth_failed', 'registry_auth_failed'],
  ['registry_unreachable', 'registry_unavailable'],
] as const;

export function createStackConditions(parts: {
  engine: Pick<StackEngine, 'imageId'>;
  conditions: AgentConditions;
  clock: Clock;
}): StackConditions {
  const { engine, conditions, clock } = parts;
  let lastError: LastError | null = null;
  let reportedId: string | null = null;
  const fail = (code: string, message: string): void => {
    lastError = { code, message, at: isoTime(clock.now()) };
  };
  return {
    fail,
    lastError: () => lastError,
    noteEnd: ({ history: [last] }) => {
      if (last === undefined || last.id === reportedId) return;
      reportedId = last.id;
      conditions.set('release_failing', false);
      if (last.result === 'failed' && last.reason !== null) fail(last.code ?? 'update_failed', last.reason);
      for (const [id, code] of failures) conditions.set(id, last.code === code);
    },
    noteWanted: (version, { history }) => {
      // A release that will no longer be installed keeps no condition.
      if (version === null || history[0]?.to !== version) for (const [id] of failures) conditions.set(id, false);
    },
    noteSettled: async (journal, unhealed) => {
      const damage = describeUnhealed(unhealed);
      if (damage !== null) fail('image_damaged', damage);
      conditions.set('image_damaged', damage !== null);
      conditions.set('stack_unhealthy', journal.installed !== null && journal.upInBoot === null);
      const target = rollbackTarget(journal)?.release ?? null;
      conditions.set('rollback_unavailable', await isMissingImages(engine, target));
    },
    noteProbation: (failure) => {
      if (failure !== null && lastError?.code !== failure.code) fail(failure.code, failure.reason);
      conditions.set('release_failing', failure !== null);
    },
    noteClock: ({ timeFloor }) =>
      conditions.set('clock_behind', timeFloor !== null && isoTime(clock.now()) < timeFloor),
  };
}

async function isMissingImages(engine: Pick<StackEngine, 'imageId'>, release: Release | null): Promise<boolean> {
  const ids = Object.values(release?.imageIds ?? {});
  // An engine that does not answer has its own condition; the images count as present.
  const found = await Promise.all(ids.map((id) => engine.imageId(id).catch(() => id)));
  return found.some((id) => id === null);
}
