import { setImmediate as afterReading, setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@station/kit/clock';
import type { DeviceReport } from '../core/device-events.ts';

/** Reports that were set aside, since they themselves cannot be written; empty: all that were written together are on disk. */
export type SetAside = ReadonlySet<DeviceReport>;

export type ReportWriter = AsyncDisposable & {
  /**
   * Resolves when the report is on disk, or was set aside: the device's message may be acknowledged then. Reports that are written together are
   * given the same promise, so that whoever waits for thousands of them waits once. It never rejects; while nothing can be written it stays
   * unresolved, also when the writer is disposed then.
   */
  write(report: DeviceReport): Promise<SetAside>;
  /** Reports that wait: whoever reads from the broker stops reading while there are many. */
  waiting(): number;
};

type Batch = { reports: DeviceReport[]; written: Promise<SetAside>; resolve: (setAside: SetAside) => void };

/** As many as one transaction takes without holding up other queries for long. */
const maxBatch = 5_000;

/** How long reports are gathered at most after a transaction. */
const maxGatherMs = 10;

const retryMs = 1_000;
/** A report that failed so often, while what is left without its content was written, is itself what is wrong. */
const maxRefusals = 3;

/**
 * Writes all reports that came in the meantime in one transaction: one wait for the disk, and one visit to each page, is shared by all of
 * them. The first report after a pause is written at once. A transaction holds up reading, so after one as much time goes to reading as went
 * to writing, up to 10 ms: else the next would begin with the first few that are read.
 *
 * Whatever fails, reports are written in the order they came: while the database is away or full all wait for the first of them.
 * @param writeBatch writes a batch as a whole or not at all.
 * @param onWritten called with each batch, and what writing it gave, once it is on disk, before its writers know.
 * @param onFailure called when writing begins to fail.
 */
export function createReportWriter<T>(options: {
  writeBatch: (reports: readonly DeviceReport[]) => Promise<T>;
  onWritten: (reports: readonly DeviceReport[], result: T) => void;
  onFailure: (error: unknown) => void;
  clock: Pick<Clock, 'sleep'>;
}): ReportWriter {
  /** In the order they came; only the last one may have room. */
  const batches: Batch[] = [];
  const closing = new AbortController();
  let waiting = 0;
  let running: Promise<void> | null = null;
  let isFailing = false;

  /** @returns what went wrong; null: it is on disk. */
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

  /** A batch that fails is halved until what cannot be written stands alone. */
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

  /** @returns false: it is to be set aside. @throws (rejects) when the writer is disposed before that is clear. */
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
  /** Whether the database takes what is true anyway: the device was heard. Then it is well, and the content is what it does not take. */
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
    // What is handed over together is written together, and so is all that can be read right now.
    await afterReading();
    try {
      await writeAll();
    } catch (error) {
      // What could not be written is told to nobody as written.
      if (!closing.signal.aborted) throw error;
    }
    running = null;
  };

  return {
    write: (report) => {
      let batch = batches.at(-1);
      if (batch === undefined || batch.reports.length >= maxBatch) {
        const { promise, resolve } = Promise.withResolvers<SetAside>();
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

/** Then less may still be taken: SQLITE_FULL (sqlite.org/rescode.html), disk_full (PostgreSQL, appendix A). */
const isFull = (error: unknown): boolean =>
  error instanceof Error &&
  (('errcode' in error && error.errcode === 13) || ('code' in error && error.code === '53100'));
