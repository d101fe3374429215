import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff, retry } from '@station/kit/retry';
import { describeError, StationError } from '@station/kit/station-error';
import type { ErrorCode } from '@station/protocol/errors';
import type { AgentConditions } from '@station/kit/conditions';
import type { Step } from './stack-decide.ts';

/** A fault outside of the stack that stands in the way of all work on it. At most one is known at a time. */
type Blocker = 'compose_project_unreadable' | 'state_not_writable' | 'engine_unreachable';

export type Blockers = {
  current(): Blocker | null;
  /** Takes note of a fault. @returns false when it is no blocker. */
  note(error: unknown): boolean;
  /** Takes note of a step that worked: what would have blocked it is over, though the work may go on for long. */
  stepTaken(step: Step['kind']): void;
  /**
   * Does work until it succeeds, however long the engine or the disk do not let it.
   * @param afterTry called after each try, once its outcome is noted.
   */
  untilDone(work: () => Promise<void>, signal: AbortSignal, afterTry?: () => void): Promise<void>;
};

type BlockersParts = {
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  random: () => number;
  /** Takes the text for `lastError` of the status. */
  fail: (code: string, message: string) => void;
  /** Called at each try: whoever waits for the end of a fault does not hang. */
  alive: () => void;
};

export function createBlockers(parts: BlockersParts): Blockers {
  const state: State = { current: null, toldReason: null };
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
  /** Why the compose project cannot be read, as it was told last. */
  toldReason: string | null;
};

const blockers = ['compose_project_unreadable', 'state_not_writable', 'engine_unreachable'] as const;

/** The conditions follow the state; nobody reads them back. */
function enter({ conditions }: BlockersParts, state: State, next: Blocker | null): void {
  state.current = next;
  for (const blocker of blockers) conditions.set(blocker, blocker === next);
  if (next !== 'compose_project_unreadable') state.toldReason = null;
}

function noteFault(parts: BlockersParts, state: State, error: unknown): void {
  const blocker = blockerOf(error);
  enter(parts, state, blocker);
  if (blocker === 'engine_unreachable') return parts.fail('unavailable', refusals.engine_unreachable.message);
  if (blocker === 'compose_project_unreadable') {
    // Its causes may hold what is nobody's business.
    const reason = error instanceof Error ? error.message : blocker;
    parts.fail(blocker, reason);
    // It is tried again and again: only another reason is news.
    if (reason !== state.toldReason) parts.logger.event('compose_project_unreadable', { reason });
    state.toldReason = reason;
    return;
  }
  parts.fail('internal', 'Stack work failed; it is tried again.');
  if (blocker === null) parts.logger.event('unexpected_error', { where: 'stack', message: describeError(error) });
}

/** What a request is answered while a blocker stands. */
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

/** Steps that cannot be taken without the compose project. */
const projectSteps: readonly Step['kind'][] = ['up', 'probe'];
/** Steps that ask nothing of the engine. */
const writingSteps: readonly Step['kind'][] = ['write_journal', 'write_files', 'record', 'bring_up'];

/** Faults of a disk that is full, broken or read-only. */
const isFileFault = (error: unknown): boolean =>
  error instanceof Error &&
  'syscall' in error &&
  'code' in error &&
  ['ENOSPC', 'EROFS', 'EIO', 'EACCES', 'EDQUOT'].includes(String(error.code));
