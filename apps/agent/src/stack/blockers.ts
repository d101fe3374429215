import { isoTime, type Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff } from '@station/kit/retry';
import { describeError, StationError } from '@station/kit/station-error';
import type { HistoryEntry, OperationKind, Trigger } from '@station/protocol/agent-api';
import type { ErrorCode } from '@station/protocol/errors';
import type { Release } from '@station/protocol/release';
import type { Conditions } from '../core/conditions.ts';
import type { Step } from './stack-decide.ts';
import { rollbackTarget } from './operation-decide.ts';
import type { StackEngine } from './ports.ts';
import type { Updater } from './journal-keeper.ts';

export type OperationRequest = { kind: OperationKind; trigger: Trigger; to: Release };

export type LastError = { code: string; message: string; at: string };

/** Work on the stack that is brought to its end, however long the engine or the disk are away meanwhile. */
export type StackWork = {
  persist(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Settles the stack, then says what is the matter with it and who was waiting for it. */
  settle(signal: AbortSignal, options?: { bringUpDue?: boolean }): Promise<void>;
  operate(request: OperationRequest, signal: AbortSignal): Promise<HistoryEntry | null>;
  /** Resolves when the operation has ended; null when the agent stops first. */
  ended(id: string): Promise<HistoryEntry | null>;
  stop(): void;
  /** Takes note of a fault that a request has met; false when it is none that stands in the way of all work. */
  hinders(error: unknown): boolean;
  /** What stands in the way of any work now; null when nothing does. */
  hindrance(): { code: ErrorCode; message: string } | null;
  /** Takes note of the version that is to be installed by itself, null when none is. */
  noteWanted(version: string | null): void;
  fail(code: string, message: string): void;
  lastError(): LastError | null;
  /** Monotonic time of the last sign of progress. */
  lastAliveMs(): number;
  alive(): void;
};

export type StackWorkParts = {
  updater: Updater;
  engine: StackEngine;
  conditions: Conditions;
  clock: Clock;
  logger: AgentLogger;
  random: () => number;
};

export function createStackWork(parts: StackWorkParts): StackWork {
  const { updater, engine, conditions, clock, logger, random } = parts;
  const waiting = new Map<string, (entry: HistoryEntry | null) => void>();
  let lastError: LastError | null = null;
  let aliveMs = clock.monotonic();
  /** Why the compose project cannot be read, as it was told last. */
  let toldReason: string | null = null;
  /** The operation whose end was told last. */
  let toldId: string | null = null;

  const alive = (): void => {
    aliveMs = clock.monotonic();
  };

  const fail = (code: string, message: string): void => {
    lastError = { code, message, at: isoTime(clock.now()) };
  };

  const persist = async (work: () => Promise<void>, signal: AbortSignal): Promise<void> => {
    const backoff = createBackoff({ initialMs: 1000, maxMs: 60_000, jitter: 0.2, random });
    for (;;) {
      alive();
      try {
        await work();
        for (const id of hindrances) clear(id);
        return;
      } catch (error) {
        signal.throwIfAborted();
        tellFault(error);
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
  };

  const clear = (id: Hindrance): void => {
    conditions.set(id, false);
    if (id === 'compose_project_unreadable') toldReason = null;
  };

  const tellFault = (error: unknown): void => {
    const fault = hindranceOf(error);
    for (const id of hindrances) if (id !== fault) clear(id);
    if (fault !== null) conditions.set(fault, true);
    if (fault === 'engine_unreachable') return fail('unavailable', answers.engine_unreachable.message);
    if (fault === 'compose_project_unreadable') {
      // Its causes may hold what is nobody's business.
      const reason = error instanceof Error ? error.message : fault;
      fail(fault, reason);
      // It is tried again and again: only another reason is news.
      if (reason !== toldReason) logger.event('compose_project_unreadable', { reason });
      toldReason = reason;
      return;
    }
    fail('internal', 'Stack work failed; it is tried again.');
    if (fault === null) logger.event('unexpected_error', { where: 'stack', message: describeError(error) });
  };

  /** Says once what is the matter after the operation that ended last. */
  const tellLast = (): void => {
    const last = updater.journal().history[0];
    if (last === undefined || last.id === toldId) return;
    toldId = last.id;
    if (last.result === 'failed' && last.reason !== null) fail(last.code ?? 'update_failed', last.reason);
    for (const [id, code] of failures) conditions.set(id, last.code === code);
  };

  /** Says what is the matter now that an operation has ended, then tells who waits for it. */
  const tellEnd = (): void => {
    tellLast();
    for (const [id, resolve] of waiting) {
      if (updater.operation()?.id === id) continue;
      waiting.delete(id);
      resolve(updater.outcome(id));
    }
  };
  updater.onEnd(tellEnd);
  updater.onProgress((taken) => {
    alive();
    if (taken === null) return;
    // A fault is over once a step of its kind works again: the operation may go on for long.
    if (writingSteps.includes(taken)) return clear('state_not_writable');
    clear('engine_unreachable');
    if (projectSteps.includes(taken)) clear('compose_project_unreadable');
  });

  const settle: StackWork['settle'] = async (signal, { bringUpDue = false } = {}) => {
    await persist(() => updater.settle({ signal, bringUpDue }), signal);
    tellEnd();
    const { installed, upInBoot } = updater.journal();
    const target = rollbackTarget(updater.journal());
    conditions.set('stack_unhealthy', installed !== null && upInBoot === null);
    conditions.set('rollback_unavailable', await isMissingImages(engine, target?.release ?? null));
  };

  return {
    persist,
    settle,
    operate: async (request, signal) => {
      let id: string | null = null;
      await persist(async () => {
        id = (await updater.begin(request))?.id ?? id;
      }, signal);
      await settle(signal);
      return id === null ? null : updater.outcome(id);
    },
    ended: (id) => new Promise((resolve) => waiting.set(id, resolve)),
    stop: () => {
      for (const resolve of waiting.values()) resolve(null);
      waiting.clear();
    },
    hinders: (error) => {
      if (hindranceOf(error) === null) return false;
      tellFault(error);
      return true;
    },
    hindrance: () => {
      const standing = hindrances.find((id) => conditions.has(id));
      if (standing) return answers[standing];
      return updater.isLoaded() ? null : answers.engine_unreachable;
    },
    noteWanted: (version) => {
      // What nobody is to install any more has no fault left that stands.
      if (version === null || updater.journal().history[0]?.to !== version)
        for (const [id] of failures) conditions.set(id, false);
    },
    fail,
    lastError: () => lastError,
    lastAliveMs: () => aliveMs,
    alive,
  };
}

/** What stands after an update that failed, by the code of the failure, for as long as that release is to be installed. */
const failures = [
  ['disk_space_low', 'disk_space_low'],
  ['registry_auth_failed', 'registry_auth_failed'],
  ['registry_unreachable', 'registry_unavailable'],
] as const;

const hindrances = ['compose_project_unreadable', 'state_not_writable', 'engine_unreachable'] as const;
type Hindrance = (typeof hindrances)[number];

/** What a request is answered while a hindrance stands. */
const answers: Record<Hindrance, { code: ErrorCode; message: string }> = {
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

function hindranceOf(error: unknown): Hindrance | null {
  if (isFileFault(error)) return 'state_not_writable';
  if (!(error instanceof StationError)) return null;
  if (error.code === 'compose_project_unreadable') return error.code;
  return error.code === 'unavailable' ? 'engine_unreachable' : null;
}

/** Steps that cannot be taken without the compose project. */
const projectSteps: readonly Step['kind'][] = ['up', 'probe'];
/** Steps that ask nothing of the engine. */
const writingSteps: readonly Step['kind'][] = ['write_journal', 'write_files', 'record', 'bring_up'];

async function isMissingImages(engine: StackEngine, release: Release | null): Promise<boolean> {
  const ids = Object.values(release?.imageIds ?? {});
  // An engine that does not answer is another condition; it says nothing of the images.
  const found = await Promise.all(ids.map((id) => engine.imageId(id).catch(() => id)));
  return found.some((id) => id === null);
}

/** Faults of a disk that is full, broken or read-only. */
const isFileFault = (error: unknown): boolean =>
  error instanceof Error &&
  'syscall' in error &&
  'code' in error &&
  ['ENOSPC', 'EROFS', 'EIO', 'EACCES', 'EDQUOT'].includes(String(error.code));
