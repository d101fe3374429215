import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { inspectImage } from '@station/protocol/firmware-image';
import { createThrottle } from '../releases/throttle.ts';
import type { Flash, ImageOrder } from './flash.ts';
import { fetchMissingPart, type Sink } from './image-fetch.ts';

/** The parameters of the command `ota_update` (contracts, section 8). */
export type OtaOrder = ImageOrder & { url: string };

export type Ota = {
  /** Starts the download, or continues it after a power cut. Reports the progress if it is already running. */
  start(order: OtaOrder): void;
  isBusy(): boolean;
  /** Simulates a power cut: nothing is written from now on. */
  stop(): void;
};

export type OtaOptions = {
  flash: Flash;
  /** Chip and project that an image must have. The project is the device type, optionally followed by a hyphen and a suffix. */
  type: string;
  chip: string;
  /** Write speed; default: unlimited. */
  bytesPerSecond?: number;
  report: { progress(percent: number): void; failed(reason: string): void };
  /** The new image is selected; restart the device. */
  onReady: () => void;
};

const progressStep = 5;
const firstPauseMs = 250;
const longestPauseMs = 5_000;

/** Downloads an image into the flash. It retries without limit; only an invalid image is a failure. */
export function createOta(options: OtaOptions): Ota {
  const { flash, report, bytesPerSecond = Infinity } = options;
  let job: { order: OtaOrder; stopping: AbortController; percent: number } | null = null;
  // Shared by all jobs, because they write to the same flash.
  const throttle = createThrottle(bytesPerSecond);

  const receive = async ({ order, stopping: { signal } }: NonNullable<typeof job>): Promise<void> => {
    let offset = flash.begin(order);
    const reportProgress = (isFirst = false): void => {
      // At most 99 % until the image is selected.
      const percent = Math.min(
        100 - progressStep,
        Math.floor((offset / order.size) * (100 / progressStep)) * progressStep,
      );
      if (job === null || (!isFirst && percent <= job.percent)) return;
      job.percent = percent;
      report.progress(percent);
    };
    const sink: Sink = {
      offset: () => offset,
      etag: flash.etag,
      restart: (etag) => {
        flash.restart(etag);
        offset = 0;
      },
      write: async (bytes) => {
        for await (const piece of throttle.send(bytes)) {
          signal.throwIfAborted();
          flash.write(piece);
          offset += piece.length;
          reportProgress();
        }
      },
    };
    reportProgress(true);
    for (let pauseMs = firstPauseMs; offset < order.size; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
      const before = offset;
      const outcome = await fetchMissingPart(sink, { ...order, signal });
      signal.throwIfAborted();
      if (outcome.kind === 'refused') return fail(outcome.reason);
      if (offset >= order.size) break;
      if (offset > before) pauseMs = firstPauseMs;
      await delay(pauseMs, undefined, { signal });
    }
    const fault = faultOf(flash.received(), order, options);
    if (fault !== null) return fail(fault);
    flash.select();
    report.progress(100);
    options.onReady();
  };

  const fail = (reason: string): void => {
    flash.discard();
    job = null;
    report.failed(reason);
  };

  const stop = (): void => {
    job?.stopping.abort();
    job = null;
  };

  return {
    stop,
    isBusy: () => job !== null,
    start: (order) => {
      if (job?.order.checksum === order.checksum) return report.progress(job.percent);
      stop();
      const started = { order, stopping: new AbortController(), percent: 0 };
      job = started;
      void receive(started).catch((error: unknown) => {
        if (!started.stopping.signal.aborted) fail(error instanceof Error ? error.message : String(error));
      });
    },
  };
}

/** Why the device would refuse an image; null when it accepts the image. */
function faultOf(bytes: Buffer, order: OtaOrder, { type, chip }: OtaOptions): string | null {
  const sha256 = (input: Uint8Array): Buffer => createHash('sha256').update(input).digest();
  if (`sha256:${sha256(bytes).toString('hex')}` !== order.checksum) return 'the checksum does not match';
  const image = inspectImage(bytes, sha256);
  if (image.kind === 'refused') return image.reason;
  if (image.kind === 'esp8266') return 'no image for an ESP32';
  if (image.chip !== chip) return `for ${image.chip} instead of ${chip}`;
  const isForeign = image.project !== type && !image.project.startsWith(`${type}-`);
  return isForeign ? `the firmware "${image.project}" instead of "${type}"` : null;
}
