import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff, retry } from '@station/kit/retry';
import { StationError } from '@station/kit/station-error';
import type { ErrorCode } from '@station/protocol/errors';
import type { AgentConditions } from '@station/kit/conditions';
import type { Step } from './stack-decide.ts';

/** A fault outside the stack that blocks all work on it. At most one is known at a time. */
type Blocker = 'compose_project_unreadable' | 'state_not_writable' | 'engine_unreachable';

export type Blockers = {
  current(): Blocker | null;
  /** Records a fault. @returns false when it is no blocker. */
  note(error: unknown): boolean;
  /** Records a successful step: a fault that would have blocked this step is over. */
  stepTaken(step: Step['kind']): void;
  /**
   * Retries work until it succeeds, however long the engine or the disk is unavailable.
   * @param afterTry called after each try, once its outcome is recorded.
   */
  untilDone(work: () => Promise<void>, signal: AbortSignal, afterTry?: () => void): Promise<void>;
};

type BlockersParts = {
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  random: () => number;
  /** Sets `lastError` of the status. */
  fail: (code: string, message: string) => void;
  /** Called at each try: a loop that waits until a fault is over is not stuck. */
  alive: () => void;
};

export function createBlockers(parts: BlockersParts): Blockers {
  const state: State = { current: null, reportedReason: null };
  return {
    current: () => state.current,
    note: (error) => {
      if (blockerOf(error) === null) return false;
      noteFault(parts, state, error);
      return true;
    },
    stepTaken: (step) => {
      const over = writingSteps.includes(step) ? ['state_not_writable'] : ['engine_unreachable'];
      if (projectSteps.includes(step)) over.push('compose_project_unreadable');
      if (state.current !== null && over.includes(state.current)) enter(parts, state, null);
    },
    untilDone: async (work, signal, afterTry = () => undefined) => {
      const attempt = (): Promise<void> => {
        parts.alive();
        return work();
      };
      const onFailure = ({ error }: { error: unknown }): void => {
        noteFault(parts, state, error);
        afterTry();
      };
      const backoff = createBackoff({ initialMs: 1000, maxMs: 60_000, jitter: 0.2, random: parts.random });
      await retry(attempt, { clock: parts.clock, signal, backoff, onFailure });
      enter(parts, state, null);
      afterTry();
    },
  };
}

type State = {
  current: Blocker | null;
  /** Why the compose project cannot be read, as it was logged last. */
  reportedReason: string | null;
};

const blockers = ['compose_project_unreadable', 'state_not_writable', 'engine_unreachable'] as const;

/** Sets the state and the conditions that follow from it. */
function enter({ conditions }: BlockersParts, state: State, next: Blocker | null): void {
  state.current = next;
  for (const blocker of blockers) conditions.set(blocker, blocker === next);
  if (next !== 'compose_project_unreadable') state.reportedReason = null;
}

function noteFault(parts: BlockersParts, state: State, error: unknown): void {
  const blocker = blockerOf(error);
  enter(parts, state, blocker);
  if (blocker === 'engine_unreachable') return parts.fail('unavailable', refusals.engine_unreachable.message);
  if (blocker === 'compose_project_unreadable') {
    // Its causes may contain secrets.
    const reason = error instanceof Error ? error.message : blocker;
    parts.fail(blocker, reason);
    // The read is retried all the time: log only a new reason.
    if (reason !== state.reportedReason) parts.logger.event('compose_project_unreadable', { reason });
    state.reportedReason = reason;
    return;
  }
  parts.fail('internal', 'Work on the stack failed. The agent tries again.');
  if (blocker === null) parts.logger.failed('stack', error);
}

/** The answer to a request while a blocker exists. */
export const refusals: Readonly<Record<Blocker, { code: ErrorCode; message: string }>> = {
  compose_project_unreadable: {
    code: 'compose_project_unreadable',
    message: 'The compose project of the stack cannot be read. The log says why.',
  },
  state_not_writable: {
    code: 'disk_space_low',
    message:
      'The agent cannot write its state: the disk is full or cannot be written. Nothing is changed until it can.',
  },
  engine_unreachable: { code: 'unavailable', message: 'The container engine does not answer.' },
};

function blockerOf(error: unknown): Blocker | null {
  if (isFileFault(error)) return 'state_not_writable';
  if (!(error instanceof StationError)) return null;
  if (error.code === 'compose_project_unreadable') return error.code;
  return error.code === 'unavailable' ? 'engine_unreachable' : null;
}

/** Steps that need the compose project. */
const projectSteps: readonly Step['kind'][] = ['up', 'probe'];
/** Steps that do not use the engine. */
const writingSteps: readonly Step['kind'][] = ['write_journal', 'write_files', 'record', 'bring_up'];

/** Faults of a disk that is full, broken or read-only. */
const isFileFault = (error: unknown): boolean =>
  error instanceof Error &&
  'syscall' in error &&
  'code' in error &&
  ['ENOSPC', 'EROFS', 'EIO', 'EACCES', 'EDQUOT'].includes(String(error.code));
