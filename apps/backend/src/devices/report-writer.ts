import { setImmediate as afterReading, setTimeout as sleep } from 'node:timers/promises';
import type { DeviceReport } from './device-report.ts';

/** Reports that alone could not be written, and why; empty: all that were written together are on disk. */
export type Unwritten = ReadonlyMap<DeviceReport, unknown>;

export type ReportWriter = AsyncDisposable & {
  /**
   * Resolves when the report is on disk, or stands among those that could not be written: only if it does not, the device's message may be
   * acknowledged. Reports that are written together are given the same promise, so that whoever waits for thousands of them waits once. It
   * never rejects.
   */
  write(report: DeviceReport): Promise<Unwritten>;
  /** Reports that wait: whoever reads from the broker stops reading while there are many. */
  waiting(): number;
};

type Batch = { reports: DeviceReport[]; written: Promise<Unwritten>; resolve: (unwritten: Unwritten) => void };

/** As many as one transaction takes without holding up other queries for long. */
const maxBatch = 5_000;

/** How long reports are gathered at most after a transaction. */
const maxGatherMs = 10;

/**
 * Writes all reports that came in the meantime in one transaction: one wait for the disk, and one visit to each page, is shared by all of
 * them. The first report after a pause is written at once. A transaction holds up reading, so after one as much time goes to reading as went
 * to writing, up to 10 ms: else the next would begin with the first few that are read.
 * @param writeBatch writes a batch as a whole or not at all.
 * @param onWritten called with each batch, and what writing it gave, once it is on disk, before its writers know.
 */
export function createReportWriter<T>(options: {
  writeBatch: (reports: readonly DeviceReport[]) => Promise<T>;
  onWritten: (reports: readonly DeviceReport[], result: T) => void;
}): ReportWriter {
  /** In the order they came; only the last one may have room. */
  const batches: Batch[] = [];
  let waiting = 0;
  let running: Promise<void> | null = null;

  /** A batch that fails is halved until what cannot be written stands alone: one bad report does not stop the others. */
  const writeParts = async (reports: readonly DeviceReport[], unwritten: Map<DeviceReport, unknown>): Promise<void> => {
    let result: T;
    try {
      result = await options.writeBatch(reports);
    } catch (error) {
      const middle = Math.ceil(reports.length / 2);
      if (reports.length <= 1) {
        for (const report of reports) unwritten.set(report, error);
      } else {
        await writeParts(reports.slice(0, middle), unwritten);
        await writeParts(reports.slice(middle), unwritten);
      }
      return;
    }
    options.onWritten(reports, result);
  };

  const run = async (): Promise<void> => {
    // What is handed over together is written together, and so is all that can be read right now.
    await afterReading();
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      waiting -= batch.reports.length;
      const startedMs = performance.now();
      const unwritten = new Map<DeviceReport, unknown>();
      await writeParts(batch.reports, unwritten);
      batch.resolve(unwritten);
      const writtenMs = performance.now() - startedMs;
      if (waiting < maxBatch) await sleep(Math.min(writtenMs, maxGatherMs));
    }
    running = null;
  };

  return {
    write: (report) => {
      let batch = batches.at(-1);
      if (batch === undefined || batch.reports.length >= maxBatch) {
        const { promise, resolve } = Promise.withResolvers<Unwritten>();
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
      while (running !== null) await running;
    },
  };
}
