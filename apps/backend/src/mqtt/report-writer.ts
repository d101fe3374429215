import type { Clock } from '@station/kit/clock';
import { after, nextTurn, pause } from '@station/kit/timers';
import type { DeviceReport } from '../core/device-events.ts';
import { storageFaultOf } from '../core/storage-faults.ts';

/** Reports of a batch that were rejected because their content cannot be written; empty: the whole batch is on disk. */
export type RejectedReports = ReadonlySet<DeviceReport>;

export type ReportWriter = AsyncDisposable & {
  /**
   * Resolves when the report is on disk or rejected: then the device's message may be acknowledged. Reports of one batch get the same
   * promise. It never rejects; it stays unresolved while the database cannot be written, also after the writer is disposed.
   */
  write(report: DeviceReport): Promise<RejectedReports>;
  /** Number of waiting reports: the broker client pauses reading while there are many. Those that may wait do not count. */
  waiting(): number;
  /** From now on no report waits longer than it must: the backend ends. */
  hurry(): void;
};

/** As many as one transaction can write without blocking other queries for long. */
const maxBatch = 5_000;

/** How long reports are gathered at most after a transaction. */
const maxGatherMs = 10;

/**
 * How long reports that may wait do so. Each write costs some 30 kB on the card, mostly the file system's journal (ADR 80). A power cut loses
 * at most one round of devices that report each 30 s.
 */
const windowMs = 30_000;

const retryMs = 1_000;
/** After so many failures, while the same report without content could be written, the report is rejected. */
const maxRefusals = 3;

/**
 * Writes all reports that arrived meanwhile in one transaction: they share one disk sync. The first report after a pause is written at once.
 * After a transaction it gathers for as long as writing took, up to 10 ms: otherwise the next batch would be very small.
 *
 * Reports are always written in order of arrival: while the database is offline or full, all wait for the first one.
 * A batch that `takeBatch` takes is published at once, and its promise resolves with the next write, at the latest after 30 s.
 * @param writeBatch writes a batch and what was taken as a whole or not at all; the batch may be empty.
 * @param takeBatch null: the batch must be written.
 * @param onWritten called with each batch and its result once it is on disk or taken, before the promises resolve.
 * @param onFailure called when writing begins to fail.
 */
export function createReportWriter<T>(options: {
  writeBatch: (reports: readonly DeviceReport[]) => Promise<T>;
  takeBatch?: (reports: readonly DeviceReport[]) => Promise<T | null>;
  onWritten: (reports: readonly DeviceReport[], result: T) => void;
  onFailure: (error: unknown) => void;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
}): ReportWriter {
  const { writeBatch, takeBatch, onWritten, onFailure, clock } = options;
  const closing = new AbortController();
  const state: WriterState = {
    writeAndPublish: async (reports) => {
      let result: T;
      try {
        result = await writeBatch(reports);
      } catch (error) {
        return { error };
      }
      onWritten(reports, result);
      return null;
    },
    write: async (reports) => void (await writeBatch(reports)),
    take: async (reports) => {
      // What cannot be read is written, where failures are handled.
      const result = await takeBatch?.(reports).catch(() => null);
      if (result === null || result === undefined) return false;
      onWritten(reports, result);
      return true;
    },
    onFailure,
    clock,
    closing: closing.signal,
    batches: [],
    waiting: 0,
    running: null,
    isFailing: false,
    held: [],
    window: null,
    isDue: false,
    isHurried: false,
  };
  return {
    write: (report) => addReport(state, report),
    waiting: () => state.waiting,
    hurry: () => {
      state.isHurried = true;
      endWindow(state);
    },
    [Symbol.asyncDispose]: async () => {
      state.window?.[Symbol.dispose]();
      closing.abort();
      while (state.running !== null) await state.running;
    },
  };
}

type Batch = {
  reports: DeviceReport[];
  written: Promise<RejectedReports>;
  resolve: (rejected: RejectedReports) => void;
};

/** Null: the write succeeded. */
type Failure = { error: unknown } | null;

type WriterState = {
  writeAndPublish: (reports: readonly DeviceReport[]) => Promise<Failure>;
  /** Writes without publishing the result. */
  write: (reports: readonly DeviceReport[]) => Promise<void>;
  /** @returns whether the batch is published and may wait. */
  take: (reports: readonly DeviceReport[]) => Promise<boolean>;
  onFailure: (error: unknown) => void;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  closing: AbortSignal;
  /** In order of arrival; only the last batch may have room. */
  batches: Batch[];
  waiting: number;
  running: Promise<void> | null;
  isFailing: boolean;
  /** Published, and on disk with the next write. */
  held: Batch[];
  /** Ends the time of those that are held. */
  window: Disposable | null;
  isDue: boolean;
  isHurried: boolean;
};

function addReport(state: WriterState, report: DeviceReport): Promise<RejectedReports> {
  let batch = state.batches.at(-1);
  if (batch === undefined || batch.reports.length >= maxBatch) {
    const { promise, resolve } = Promise.withResolvers<RejectedReports>();
    batch = { reports: [], written: promise, resolve };
    state.batches.push(batch);
  }
  batch.reports.push(report);
  state.waiting += 1;
  state.running ??= run(state);
  return batch.written;
}

async function run(state: WriterState): Promise<void> {
  // Reports that arrive in the same turn, and all that can be read now, join one batch.
  await nextTurn();
  try {
    await writeAll(state);
  } catch (error) {
    // After an abort, unwritten reports stay unresolved.
    if (!state.closing.aborted) throw error;
  }
  state.running = null;
}

async function writeAll(state: WriterState): Promise<void> {
  for (let batch = state.batches.shift(); batch !== undefined || state.isDue; batch = state.batches.shift()) {
    const startedMs = state.clock.monotonic();
    state.isFailing = false;
    if (batch !== undefined) await handle(state, batch);
    if (state.isDue) await writeHeld(state);
    const writtenMs = state.clock.monotonic() - startedMs;
    if (state.waiting < maxBatch) await pause(Math.min(writtenMs, maxGatherMs));
  }
}

async function handle(state: WriterState, batch: Batch): Promise<void> {
  const { reports } = batch;
  if (!state.isHurried && (await state.take(reports))) {
    state.held.push(batch);
    state.window ??= after(windowMs, () => endWindow(state));
    state.waiting -= reports.length;
    return;
  }
  const rejected = new Set<DeviceReport>();
  await writeParts(state, reports, rejected);
  release(state);
  state.waiting -= reports.length;
  batch.resolve(rejected);
}

/** The time of what is held is up. */
function endWindow(state: WriterState): void {
  if (state.held.length === 0) return;
  state.isDue = true;
  state.running ??= run(state);
}

async function writeHeld(state: WriterState): Promise<void> {
  while ((await tryToWrite(state, [])) !== null) await state.clock.sleep(retryMs, state.closing);
  release(state);
}

/** What was held is on disk. */
function release(state: WriterState): void {
  state.window?.[Symbol.dispose]();
  state.window = null;
  state.isDue = false;
  for (const { resolve } of state.held.splice(0)) resolve(new Set());
}

/** Splits a failed batch in halves until the report that cannot be written is alone. */
async function writeParts(
  state: WriterState,
  reports: readonly DeviceReport[],
  rejected: Set<DeviceReport>,
): Promise<void> {
  const failure = await tryToWrite(state, reports);
  if (failure === null) return;
  const [first] = reports;
  if (reports.length > 1) {
    const middle = Math.ceil(reports.length / 2);
    await writeParts(state, reports.slice(0, middle), rejected);
    await writeParts(state, reports.slice(middle), rejected);
  } else if (first !== undefined && !(await writeOrReject(state, first, failure))) {
    rejected.add(first);
  }
}

async function tryToWrite(state: WriterState, reports: readonly DeviceReport[]): Promise<Failure> {
  const failure = await state.writeAndPublish(reports);
  if (failure !== null && !state.isFailing) state.onFailure(failure.error);
  state.isFailing ||= failure !== null;
  return failure;
}

/**
 * Repeats a failed write. The kit's `retry` does not fit: a refused report is repeated without a wait.
 * @returns false: the report is rejected. @throws (rejects) when the writer is disposed before that is clear.
 */
async function writeOrReject(state: WriterState, report: DeviceReport, first: Failure): Promise<boolean> {
  let refusals = 0;
  // On a full disk a smaller write may fit, so its success says nothing about the content.
  for (let failure = first; failure !== null; failure = await tryToWrite(state, [report])) {
    if (storageFaultOf(failure.error) === null && (await isTakenWithoutContent(state, report))) {
      refusals += 1;
      if (refusals === maxRefusals) return false;
    } else {
      refusals = 0;
      await state.clock.sleep(retryMs, state.closing);
    }
  }
  return true;
}

/** Whether the database accepts an empty report of the device. Then the database works, and the content is the cause. */
const isTakenWithoutContent = ({ write }: WriterState, { deviceId, at }: DeviceReport): Promise<boolean> =>
  write([{ kind: 'state', deviceId, at, state: {} }]).then(
    () => true,
    () => false,
  );
