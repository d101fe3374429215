import type { Clock } from '@station/kit/clock';
import { nextTurn, pause } from '@station/kit/timers';
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
  /** Number of waiting reports: the broker client pauses reading while there are many. */
  waiting(): number;
};

/** As many as one transaction can write without blocking other queries for long. */
const maxBatch = 5_000;

/** How long reports are gathered at most after a transaction. */
const maxGatherMs = 10;

const retryMs = 1_000;
/** After so many failures, while the same report without content could be written, the report is rejected. */
const maxRefusals = 3;

/**
 * Writes all reports that arrived meanwhile in one transaction: they share one disk sync. The first report after a pause is written at once.
 * After a transaction it gathers for as long as writing took, up to 10 ms: otherwise the next batch would be very small.
 *
 * Reports are always written in order of arrival: while the database is offline or full, all wait for the first one.
 * @param writeBatch writes a batch as a whole or not at all.
 * @param onWritten called with each batch and its result once it is on disk, before the promises resolve.
 * @param onFailure called when writing begins to fail.
 */
export function createReportWriter<T>(options: {
  writeBatch: (reports: readonly DeviceReport[]) => Promise<T>;
  onWritten: (reports: readonly DeviceReport[], result: T) => void;
  onFailure: (error: unknown) => void;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
}): ReportWriter {
  const { writeBatch, onWritten, onFailure, clock } = options;
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
    onFailure,
    clock,
    closing: closing.signal,
    batches: [],
    waiting: 0,
    running: null,
    isFailing: false,
  };
  return {
    write: (report) => addReport(state, report),
    waiting: () => state.waiting,
    [Symbol.asyncDispose]: async () => {
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
  onFailure: (error: unknown) => void;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  closing: AbortSignal;
  /** In order of arrival; only the last batch may have room. */
  batches: Batch[];
  waiting: number;
  running: Promise<void> | null;
  isFailing: boolean;
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
  const { batches } = state;
  for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
    const startedMs = state.clock.monotonic();
    const rejected = new Set<DeviceReport>();
    state.isFailing = false;
    await writeParts(state, batch.reports, rejected);
    state.waiting -= batch.reports.length;
    batch.resolve(rejected);
    const writtenMs = state.clock.monotonic() - startedMs;
    if (state.waiting < maxBatch) await pause(Math.min(writtenMs, maxGatherMs));
  }
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
