import { setImmediate as afterReading, setTimeout as sleep } from 'node:timers/promises';
import type { DeviceReport } from './device-report.ts';

export type ReportWriter = AsyncDisposable & {
  /**
   * Resolves when the report is on disk: only then may the device's message be acknowledged.
   * @throws (rejects) when it alone cannot be written; others of its batch are not touched by that.
   */
  write(report: DeviceReport): Promise<void>;
  /** Reports that wait: whoever reads from the broker stops reading while there are many. */
  waiting(): number;
};

type Waiting = { report: DeviceReport; resolve: () => void; reject: (error: unknown) => void };

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
  let queue: Waiting[] = [];
  let running: Promise<void> | null = null;

  /** A batch that fails is halved until what cannot be written stands alone: one bad report does not stop the others. */
  const writeParts = async (batch: readonly Waiting[]): Promise<void> => {
    const reports = batch.map(({ report }) => report);
    let result: T;
    try {
      result = await options.writeBatch(reports);
    } catch (error) {
      const middle = Math.ceil(batch.length / 2);
      if (batch.length <= 1) {
        for (const { reject } of batch) reject(error);
      } else {
        await writeParts(batch.slice(0, middle));
        await writeParts(batch.slice(middle));
      }
      return;
    }
    options.onWritten(reports, result);
    for (const { resolve } of batch) resolve();
  };

  const run = async (): Promise<void> => {
    // What is handed over together is written together, and so is all that can be read right now.
    await afterReading();
    for (;;) {
      const batch = queue.slice(0, maxBatch);
      queue = queue.slice(maxBatch);
      const startedMs = performance.now();
      await writeParts(batch);
      const writtenMs = performance.now() - startedMs;
      if (queue.length < maxBatch) await sleep(Math.min(writtenMs, maxGatherMs));
      if (queue.length === 0) break;
    }
    running = null;
  };

  return {
    write: (report) =>
      new Promise((resolve, reject) => {
        queue.push({ report, resolve, reject });
        running ??= run();
      }),
    waiting: () => queue.length,
    [Symbol.asyncDispose]: async () => {
      while (running !== null) await running;
    },
  };
}
