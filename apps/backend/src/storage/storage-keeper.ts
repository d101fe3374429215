import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';
import type { Leadership } from '../core/leadership.ts';
import type { DiskTenant } from '../core/space.ts';
import type { Store } from '../store/database.ts';
import type { DatabaseSizes, DatabaseSpace } from '../store/database-space.ts';
import { historyKinds } from '../history/device-storage.ts';
import {
  countedBytes,
  type DroppedTotals,
  droppedTotals,
  isHistoryMeasured,
  largestUsage,
  measureHistory,
} from '../history/history-rows.ts';
import { trimRows } from './row-limits.ts';
import { shedOldest } from '../history/shed-history.ts';
import { decideShortage, type ShortageFacts } from './shortage-decide.ts';
import { decideStorage, kindToShed, roomOf, runsRoom, type StorageStep } from './storage-decide.ts';

export type StorageKeeper = AsyncDisposable &
  DiskTenant & {
    budgetBytes: number;
    dropped(): DroppedTotals;
  };

type KeeperParts = {
  store: Pick<Store, 'db' | 'kind'>;
  space: DatabaseSpace;
  budgetBytes: number;
  /** Number of reports that wait to be written. */
  waiting: () => number;
  leadership: Leadership;
  clock: Clock;
  logger: BackendLogger;
};

const lookEveryMs = 2_000;
/** Tables with a limit of rows grow by some thousand rows a minute at most. */
const trimEveryMs = 60_000;
/** Between two steps, so that the messages of devices are written. */
const stepPauseMs = 20;
/** History that one step deletes: some milliseconds of work. */
const shedAtOnceBytes = 128 * 1024;
const mostWaitingWhenQuiet = 50;
const logEveryMs = 60 * 60_000;

type KeeperState = {
  isShedding: boolean;
  hasHistory: boolean;
  mostRowBytes: number | null;
  usedBytes: number;
  dropped: DroppedTotals;
};

/** Keeps the database and its copies within the budget, and returns free space to the disk. */
export function startStorageKeeper(parts: KeeperParts): StorageKeeper {
  const { store, leadership, clock } = parts;
  const stopping = new AbortController();
  const state: KeeperState = {
    isShedding: false,
    hasHistory: true,
    mostRowBytes: null,
    usedBytes: 0,
    dropped: { rateEvents: 0, rateValues: 0, sizeEvents: 0, sizeValues: 0 },
  };
  const apply = createExecutors(parts, state);
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, stopping.signal).catch(() => undefined);
  const stepping = createExclusiveRunner();
  // One after another: two that saw the same sizes would drop twice as much.
  const step = (): Promise<StorageStep> =>
    stepping.run(async () => {
      const next = await decideNext(parts, state);
      state.isShedding = next.kind === 'shed';
      await apply(next);
      return next;
    });
  const running = keepWithin(parts, state, { step, sleep, signal: stopping.signal });
  return {
    budgetBytes: parts.budgetBytes,
    usedBytes: () => state.usedBytes,
    dropped: () => state.dropped,
    relieve: async (missingBytes, signal) => {
      if (!leadership.isLeader()) return;
      state.mostRowBytes = decideShortage(await shortageFacts(parts, missingBytes));
      try {
        for (let kind = ''; kind !== 'wait' && !signal.aborted && !stopping.signal.aborted;) {
          await sleep(stepPauseMs);
          ({ kind } = await step());
        }
      } finally {
        state.mostRowBytes = null;
      }
    },
    settle: async () => {
      if (leadership.isLeader()) await endShortage(store);
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}

type Turns = { step(): Promise<StorageStep>; sleep(ms: number): Promise<void>; signal: AbortSignal };

/** Until the backend ends. */
async function keepWithin(parts: KeeperParts, state: KeeperState, { step, sleep, signal }: Turns): Promise<void> {
  const { store, leadership, clock, logger } = parts;
  let isMeasured = false;
  let trimmedMs = -Infinity;
  while (!signal.aborted) {
    let pauseMs = lookEveryMs;
    try {
      if (leadership.isLeader()) {
        isMeasured ||= await measureOnce(parts, signal);
        if (clock.monotonic() - trimmedMs >= trimEveryMs) {
          trimmedMs = clock.monotonic();
          await trimRows(store, runsRoom({ budgetBytes: parts.budgetBytes, isCopied: store.kind === 'sqlite' }));
        }
        const { kind } = await step();
        if (kind === 'shed' || kind === 'give_back' || kind === 'remove_copy') pauseMs = stepPauseMs;
      }
      state.dropped = await droppedTotals(store);
    } catch (error) {
      logger.failed('keeping the storage within its budget', error);
    }
    await sleep(pauseMs);
  }
}

async function decideNext(
  { store, space, budgetBytes, waiting }: KeeperParts,
  state: KeeperState,
): Promise<StorageStep> {
  const sizes = await space.measure();
  state.usedBytes = totalOf(sizes);
  return decideStorage({
    ...sizes,
    budgetBytes,
    isCopied: store.kind === 'sqlite',
    hasHistory: state.hasHistory,
    isQuiet: waiting() < mostWaitingWhenQuiet,
    isShedding: state.isShedding,
    mostRowBytes: state.mostRowBytes,
  });
}

async function shortageFacts(
  { store, space, budgetBytes, clock }: KeeperParts,
  missingBytes: number,
): Promise<ShortageFacts> {
  const { fileBytes, freeBytes, copies } = await space.measure();
  // Before everything is counted, nothing goes.
  const historyBytes = (await isHistoryMeasured(store)) ? await countedBytes(store) : 0;
  return {
    missingBytes,
    fileBytes,
    freeBytes,
    historyBytes,
    spareCopyBytes: copies.slice(1).reduce((sum, { bytes }) => sum + bytes, 0),
    startedBytes: historyBytes === 0 ? 0 : await beginShortage(store, historyBytes, clock.now()),
    roomBytes: roomOf({ budgetBytes, isCopied: store.kind === 'sqlite' }).rowBytes,
  };
}

const totalOf = ({ fileBytes, diskBytes, logBytes, copies }: DatabaseSizes): number =>
  copies.reduce((sum, { bytes }) => sum + bytes, Math.max(fileBytes, diskBytes) + logBytes);

/** What an earlier release wrote is not counted yet. */
async function measureOnce({ store, clock }: KeeperParts, signal: AbortSignal): Promise<boolean> {
  if (!(await isHistoryMeasured(store))) await measureHistory(store, clock.now(), signal);
  return true;
}

function createExecutors(
  { store, space, clock, logger }: KeeperParts,
  state: KeeperState,
): (step: StorageStep) => Promise<void> {
  let bytes = 0;
  let wasOverBudget = false;
  const counter = createRateLimitedCounter<'shed'>({
    clock,
    everyMs: logEveryMs,
    report: () => {
      logger.event('history_dropped', { bytes });
      bytes = 0;
    },
  });
  const shed = async (): Promise<void> => {
    const usage = await largestUsage(store);
    state.hasHistory = usage !== null;
    if (usage === null) return;
    const { deviceId } = usage;
    const at = clock.now();
    bytes += await shedOldest(store, { deviceId, of: kindToShed(usage, historyKinds), bytes: shedAtOnceBytes, at });
    counter.count('shed', undefined);
  };
  return async (step) => {
    switch (step.kind) {
      case 'shed':
        return shed();
      case 'give_back':
        return space.giveBack();
      case 'checkpoint':
        return space.checkpoint();
      case 'remove_copy':
        return space.removeCopy(step.path);
      case 'wait':
        state.hasHistory = true;
        if (step.isOverBudget && !wasOverBudget) logger.event('storage_over_budget', { bytes: state.usedBytes });
        wasOverBudget = step.isOverBudget;
    }
  };
}

/** The row of `settings` with the history that there was when the disk became nearly full. A restart must not begin anew. */
const shortageKey = 'history.shortage';

/**
 * Begins to delete history for a nearly full disk, or continues it.
 * @param historyBytes what the history takes now. @param now milliseconds since the epoch.
 * @returns what the history took when it began.
 */
async function beginShortage({ db }: Pick<Store, 'db'>, historyBytes: number, now: number): Promise<number> {
  const row = { key: shortageKey, value: String(historyBytes), updated_at: now };
  const begun = await db
    .insertInto('settings')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning('value')
    .executeTakeFirst();
  if (begun !== undefined) return historyBytes;
  const known = await db.selectFrom('settings').select('value').where('key', '=', shortageKey).executeTakeFirst();
  return Number(known?.value ?? historyBytes);
}

/** There is space again. */
async function endShortage({ db }: Pick<Store, 'db'>): Promise<void> {
  const known = await db.selectFrom('settings').select('key').where('key', '=', shortageKey).executeTakeFirst();
  if (known !== undefined) await db.deleteFrom('settings').where('key', '=', shortageKey).execute();
}
