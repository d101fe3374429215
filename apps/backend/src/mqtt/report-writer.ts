import { setImmediate as afterReading, setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@station/kit/clock';
import type { DeviceReport } from '../core/device-events.ts';

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

type Batch = {
  reports: DeviceReport[];
  written: Promise<RejectedReports>;
  resolve: (setAside: RejectedReports) => void;
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
  clock: Pick<Clock, 'sleep'>;
}): ReportWriter {
  /** In order of arrival; only the last batch may have room. */
  const batches: Batch[] = [];
  const closing = new AbortController();
  let waiting = 0;
  let running: Promise<void> | null = null;
  let isFailing = false;

  /** @returns the error; null: it is on disk. */
  const tryToWrite = async (reports: readonly DeviceReport[]): Promise<{ error: unknown } | null> => {
    let result: T;
    try {
      result = await options.writeBatch(reports);
    } catch (error) {
      if (!isFailing) options.onFailure(error);
      isFailing = true;
      return { error };
    }
    options.onWritten(reports, result);
    return null;
  };

  /** Splits a failed batch in halves until the report that cannot be written is alone. */
  const writeParts = async (reports: readonly DeviceReport[], setAside: Set<DeviceReport>): Promise<void> => {
    const failure = await tryToWrite(reports);
    if (failure === null) return;
    const [first] = reports;
    if (reports.length > 1) {
      const middle = Math.ceil(reports.length / 2);
      await writeParts(reports.slice(0, middle), setAside);
      await writeParts(reports.slice(middle), setAside);
    } else if (first !== undefined && !(await insist(first, failure.error))) {
      setAside.add(first);
    }
  };

  /** @returns false: the report is rejected. @throws (rejects) when the writer is disposed before that is clear. */
  const insist = async (report: DeviceReport, error: unknown): Promise<boolean> => {
    let refusals = 0;
    for (let failure: { error: unknown } | null = { error }; failure !== null; failure = await tryToWrite([report])) {
      if (!isFull(failure.error) && (await isTakenWithoutContent(report))) {
        refusals += 1;
        if (refusals === maxRefusals) return false;
      } else {
        refusals = 0;
        await options.clock.sleep(retryMs, closing.signal);
      }
    }
    return true;
  };
  /** Whether the database accepts an empty report of the device. Then the database works, and the content is the cause. */
  const isTakenWithoutContent = ({ deviceId, at }: DeviceReport): Promise<boolean> =>
    options.writeBatch([{ kind: 'state', deviceId, at, state: {} }]).then(
      () => true,
      () => false,
    );

  const writeAll = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      const startedMs = performance.now();
      const setAside = new Set<DeviceReport>();
      isFailing = false;
      await writeParts(batch.reports, setAside);
      waiting -= batch.reports.length;
      batch.resolve(setAside);
      const writtenMs = performance.now() - startedMs;
      if (waiting < maxBatch) await sleep(Math.min(writtenMs, maxGatherMs));
    }
  };
  const run = async (): Promise<void> => {
    // Reports that arrive in the same turn, and all that can be read now, join one batch.
    await afterReading();
    try {
      await writeAll();
    } catch (error) {
      // After an abort, unwritten reports stay unresolved.
      if (!closing.signal.aborted) throw error;
    }
    running = null;
  };

  return {
    write: (report) => {
      let batch = batches.at(-1);
      if (batch === undefined || batch.reports.length >= maxBatch) {
        const { promise, resolve } = Promise.withResolvers<RejectedReports>();
        batch = { reports: [], written: promise, resolve };
        batches.push(batch);
      }
      batch.reports.push(report);
      waiting += 1;
      running ??= run();
      return batch.written;
    },
    waiting: () => waiting,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      while (running !== null) await running;
    },
  };
}

/** A smaller write may still fit: SQLITE_FULL (sqlite.org/rescode.html), disk_full (PostgreSQL, appendix A). */
const isFull = (error: unknown): boolean =>
  error instanceof Error &&
  (('errcode' in error && error.errcode === 13) || ('code' in error && error.code === '53100'));
