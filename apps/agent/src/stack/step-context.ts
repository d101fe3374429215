import type { KeeperParts, JournalKeeper } from './journal-keeper.ts';
import type { OperationRecord } from './journal.ts';
import type { Port80Lock } from './proxy-service.ts';
import type { SeenImages } from './seen-images.ts';
import type { Attempts, HealthGate, StepFailure } from './stack-facts.ts';
import type { ProbeAnswer, RegistryFailure } from './stack-ports.ts';
import type { SurfaceProbe } from './surface-ports.ts';

/** What the steps use. */
export type StepContext = KeeperParts & {
  keeper: JournalKeeper;
  lock: Port80Lock;
  /** One request to the health check address; never throws. */
  probe: (signal: AbortSignal) => Promise<ProbeAnswer>;
  surface: SurfaceProbe;
  gate: HealthGate;
  /** Absent without UPDATE_PUBLIC_KEY: a tag may then name another image later. */
  seenImages?: SeenImages | undefined;
  /** Called at each sign of progress of a long step. */
  alive: () => void;
};
/** Records the result of a step of the current phase. */
export function note({ keeper: { run } }: StepContext, result: Partial<Attempts>): void {
  run.attempts = { ...run.attempts, ...result };
}

export function failureAfter(
  before: StepFailure | { kind: 'ok' } | null,
  answer: Omit<RegistryFailure, 'code'> &
    Pick<StepFailure, 'code'> & { fetched?: Record<string, string>; unread?: readonly string[] },
  { logger }: StepContext,
): StepFailure {
  const earlier = before?.kind === 'failed' ? before : null;
  const failures = (earlier?.failures ?? 0) + 1;
  const { code, reason, transient, detail, unread, retryAfterMs } = answer;
  // Keep what an earlier try has fetched and this one has not.
  const fetched = { ...earlier?.fetched, ...answer.fetched };
  if (detail !== undefined) logger.event('engine_failed', { step: code, detail });
  logger.event('update_retry', { code, reason, attempt: failures });
  return {
    kind: 'failed',
    failures,
    code,
    reason,
    transient,
    fetched,
    ...(unread ? { unread } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

export function operationOf({ keeper }: StepContext): OperationRecord {
  const { operation } = keeper.journal();
  if (!operation) throw new Error('a step of an operation without an operation');
  return operation;
}
