import { type Clock, isoTime } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import { toErrorResponse } from '@station/kit/http-errors';
import type { AgentLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import type { HistoryEntry, Operation } from '@station/protocol/agent-api';
import type { StartAnswer } from '../core/stack-port.ts';
import type { JournalKeeper } from './journal-keeper.ts';

/** Whoever does not wait for the result is answered by then, however slow the update server is. */
const promptMs = 2_000;

/** @param version null: the latest one, or the one to go back to. */
type Wanted = { kind: 'update' | 'rollback'; version: string | null };

export type AskedOperation = {
  /**
   * Asks for an update or a rollback. It is answered by `ask`, or after two seconds with an operation that is being prepared; what `ask`
   * says then is the result of that operation.
   * @param ask given: the id of the operation that it begins.
   */
  begin(wanted: Wanted, ask: (id: string) => Promise<StartAnswer>): Promise<StartAnswer>;
  /** The operation that is being prepared; null: none. */
  operation(): Operation | null;
  /** Calls `listener` when that operation has begun or ended. */
  onChange(listener: () => void): Disposable;
};

type Parts = {
  clock: Clock;
  logger: AgentLogger;
  newId: () => string;
  keeper: Pick<JournalKeeper, 'record' | 'journal' | 'isLoaded'>;
  runner: ExclusiveRunner;
};

export function createAskedOperation({ clock, logger, newId, keeper, runner }: Parts): AskedOperation {
  const changed = createEmitter<void>();
  let asked: Operation | null = null;
  const show = (operation: Operation | null): void => {
    asked = operation;
    changed.emit();
  };
  /** What came of it, in the history. */
  const note = async (entry: HistoryEntry): Promise<HistoryEntry> => {
    await runner.run(() => keeper.record({ kind: 'note', entry }));
    return entry;
  };
  return {
    operation: () => asked,
    onChange: changed.subscribe,
    begin: async ({ kind, version }, ask) => {
      const id = newId();
      // The result of a late answer is written into the journal, which must have been read.
      if (!keeper.isLoaded()) return ask(id);
      const startedMs = clock.monotonic();
      const startedAt = isoTime(clock.now());
      const answer = ask(id);
      const answered = new AbortController();
      const late = clock.sleep(promptMs, answered.signal).then(
        () => 'late' as const,
        () => answer,
      );
      const first = await Promise.race([answer, late]).finally(() => answered.abort());
      if (first !== 'late') return first;
      const progress = { doneBytes: 0, totalBytes: null, percent: null };
      show({ id, kind, phase: 'preparing', trigger: 'manual', startedAt, version, progress });
      const end = async (result: StartAnswer): Promise<HistoryEntry | null> => {
        if (result.kind === 'started') {
          show(null);
          return result.ended;
        }
        const entry: HistoryEntry = {
          id,
          kind,
          trigger: 'manual',
          result: 'failed',
          from: keeper.journal().installed?.version ?? null,
          to: version,
          ...whyNotBegun(result),
          startedAt,
          endedAt: isoTime(clock.now()),
          durationMs: Math.round(clock.monotonic() - startedMs),
          downtimeMs: null,
          isSwitched: false,
        };
        // Whoever follows the operation must find it or its result.
        return note(entry).finally(() => show(null));
      };
      const ended = answer.catch((error: unknown) => refusalOf(error, kind, logger)).then(end);
      // Whoever asked may have left, and a disk that cannot be written is a condition of its own.
      return { kind: 'started', operationId: id, ended: ended.catch(() => null) };
    },
  };
}

function refusalOf(error: unknown, kind: Wanted['kind'], logger: AgentLogger): StartAnswer {
  if (error instanceof StationError) return { kind: 'refused', code: error.code, message: error.message };
  logger.failed(`${kind} that was asked for`, error);
  return { kind: 'refused', code: 'internal', message: toErrorResponse(error).body.message };
}

function whyNotBegun(result: Exclude<StartAnswer, { kind: 'started' }>): Pick<HistoryEntry, 'code' | 'reason'> {
  if (result.kind === 'refused') return { code: result.code, reason: result.message };
  return { code: 'already_current', reason: `${result.version ?? 'The release'} runs already.` };
}
