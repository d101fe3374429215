import { isoTime, type Clock } from '@station/kit/clock';
import type { Release } from '@station/protocol/release';
import type { AgentConditions } from '@station/kit/conditions';
import type { Journal } from './journal.ts';
import { rollbackTarget } from './operation-decide.ts';
import type { StackEngine } from './stack-ports.ts';

export type LastError = { code: string; message: string; at: string };

/** Says what is the matter with the stack: `lastError` of the status, and the conditions that follow from the journal. */
export type StackConditions = {
  fail(code: string, message: string): void;
  lastError(): LastError | null;
  /** Says once what is the matter after the operation that ended last. */
  noteEnd(journal: Journal): void;
  /** Takes note of the version that is to be installed automatically, null when none is. */
  noteWanted(version: string | null, journal: Journal): void;
  /** Looks at the stack once it is settled. */
  noteSettled(journal: Journal): Promise<void>;
  /** A clock may be set long after the start, and may go wrong long after it. */
  noteClock(journal: Journal): void;
};

/** What stands after an update that failed, by the code of the failure, for as long as that release is to be installed. */
const failures = [
  ['disk_space_low', 'disk_space_low'],
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
  let toldId: string | null = null;
  const fail = (code: string, message: string): void => {
    lastError = { code, message, at: isoTime(clock.now()) };
  };
  return {
    fail,
    lastError: () => lastError,
    noteEnd: ({ history: [last] }) => {
      if (last === undefined || last.id === toldId) return;
      toldId = last.id;
      if (last.result === 'failed' && last.reason !== null) fail(last.code ?? 'update_failed', last.reason);
      for (const [id, code] of failures) conditions.set(id, last.code === code);
    },
    noteWanted: (version, { history }) => {
      // What nobody is to install any more has no fault left that stands.
      if (version === null || history[0]?.to !== version) for (const [id] of failures) conditions.set(id, false);
    },
    noteSettled: async (journal) => {
      conditions.set('stack_unhealthy', journal.installed !== null && journal.upInBoot === null);
      const target = rollbackTarget(journal)?.release ?? null;
      conditions.set('rollback_unavailable', await isMissingImages(engine, target));
    },
    noteClock: ({ timeFloor }) =>
      conditions.set('clock_behind', timeFloor !== null && isoTime(clock.now()) < timeFloor),
  };
}

async function isMissingImages(engine: Pick<StackEngine, 'imageId'>, release: Release | null): Promise<boolean> {
  const ids = Object.values(release?.imageIds ?? {});
  // An engine that does not answer is another condition; it says nothing of the images.
  const found = await Promise.all(ids.map((id) => engine.imageId(id).catch(() => id)));
  return found.some((id) => id === null);
}
