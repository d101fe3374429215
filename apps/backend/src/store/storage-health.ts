import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import { within } from '@station/kit/within';
import type { StorageFault } from '@station/protocol/rest';
import type { BackendConditions } from '../core/conditions.ts';
import type { DiskSpace } from '../core/space.ts';
import { databaseFaultOf } from '../core/storage-faults.ts';
import type { Store } from './database.ts';
import type { Database } from './schema.ts';
import { decideStorageFault } from './storage-health-decide.ts';

export type StorageHealth = AsyncDisposable & {
  /** A write failed. Errors that are not about storage are ignored. */
  failed(error: unknown): void;
  /** A write is on disk. */
  written(): void;
  /**
   * Why nothing can be written now; null: writes succeed. Writes a row to find out, unless a write succeeded within the last seconds.
   * Answers within about three seconds and never rejects.
   */
  check(): Promise<StorageFault | null>;
};

type StorageHealthParts = {
  store: Pick<Store, 'db' | 'answers' | 'onError'>;
  conditions: Pick<BackendConditions, 'set'>;
  readSpace: () => Promise<DiskSpace | null>;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
};

/** So long a successful write counts as proof: longer than states wait for the disk (ADR 80). */
const provenMs = 45_000;
/** How often it is tried while writes fail. */
const probeEveryMs = 1_000;
const answerTimeoutMs = 1_000;

type State = StorageHealthParts & {
  failure: { fault: StorageFault; atMs: number } | null;
  writtenMs: number | null;
  freeBytes: number | null;
  /** Shared by those who ask at the same time. */
  probing: Promise<void> | null;
  watching: Promise<void> | null;
  closing: AbortController;
};

/**
 * Whether the database can be written: by the outcome of the last writes, and by a row that is written to find out. A fault raises the
 * condition `storage_full` or `storage_unwritable`, and ends when writes succeed again.
 */
export function startStorageHealth(parts: StorageHealthParts): StorageHealth {
  const state: State = {
    ...parts,
    failure: null,
    writtenMs: null,
    freeBytes: null,
    probing: null,
    watching: null,
    closing: new AbortController(),
  };
  const listening = parts.store.onError((error) => fail(state, error));
  return {
    failed: (error) => fail(state, error),
    written: () => void (state.writtenMs = parts.clock.monotonic()),
    check: () => check(state),
    [Symbol.asyncDispose]: async () => {
      listening[Symbol.dispose]();
      state.closing.abort();
      await state.watching;
    },
  };
}

function fail(state: State, error: unknown): void {
  const fault = databaseFaultOf(error);
  if (fault === null || state.closing.signal.aborted) return;
  state.failure = { fault, atMs: state.clock.monotonic() };
  state.watching ??= watch(state);
}

/** Probes until writes succeed again. */
async function watch(state: State): Promise<void> {
  const { clock, closing, readSpace } = state;
  try {
    while (faultOf(state) !== null) {
      state.freeBytes = (await readSpace())?.freeBytes ?? null;
      tell(state);
      await clock.sleep(probeEveryMs, closing.signal);
      await probe(state);
    }
  } catch (error) {
    if (!closing.signal.aborted) throw error;
    return;
  }
  state.failure = null;
  // In the same turn: the next failure starts it again.
  state.watching = null;
  tell(state);
}

const faultOf = ({ failure: failed, writtenMs, freeBytes, clock }: State): StorageFault | null =>
  decideStorageFault({ nowMs: clock.monotonic(), failed, writtenMs, freeBytes });

function tell(state: State): void {
  const fault = faultOf(state);
  const isFull = fault === 'disk full';
  state.conditions.set('storage_full', isFull, { reason: fault });
  state.conditions.set('storage_unwritable', fault !== null && !isFull, { reason: fault });
}

async function check(state: State): Promise<StorageFault | null> {
  const { store, clock } = state;
  const isProven = state.writtenMs !== null && clock.monotonic() - state.writtenMs < provenMs;
  // A slow disk is no fault: then the answer of the last writes counts.
  if (faultOf(state) === null && !isProven) await within(answerTimeoutMs, probe(state));
  const fault = faultOf(state);
  if (fault !== null) return fault;
  return (await store.answers()) ? null : 'no answer';
}

/** Writes the station's row with its own content: it needs the disk as every write does, and changes nothing. Never rejects. */
function probe(state: State): Promise<void> {
  state.probing ??= writeRow(state.store.db)
    .then(
      () => void (state.writtenMs = state.clock.monotonic()),
      (error: unknown) => fail(state, error),
    )
    .finally(() => (state.probing = null));
  return state.probing;
}

const writeRow = async (db: Database): Promise<void> => {
  await db.transaction().execute((transaction) => sql`update station set id = id`.execute(transaction));
};
