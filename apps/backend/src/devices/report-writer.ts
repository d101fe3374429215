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

/**
 * Gathers reports while a transaction is being written, and writes all of them in the next one: one wait for the disk is shared by all that
 * came in the meantime. Under little load a report is written at once.
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
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch);
      queue = queue.slice(maxBatch);
      await writeParts(batch);
    }
    running = null;
  };

  return {
    write: (report) =>
      new Promise((resolve, reject) => {
        queue.push({ report, resolve, reject });
        // Not in this very turn: what is handed over together is written together.
        running ??= Promise.resolve().then(run);
      }),
    waiting: () => queue.length,
    [Symbol.asyncDispose]: async () => {
      while (running !== null) await running;
    },
  };
}
