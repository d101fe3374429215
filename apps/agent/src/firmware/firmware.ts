import { join } from 'node:path';
import { makeDirectoryDurable } from '@station/kit/durable-files';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { createBackoff, retry } from '@station/kit/retry';
import type { Status } from '@station/protocol/agent-api';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import { isNewer } from '@station/protocol/version';
import { decide, type Step } from './firmware-decide.ts';
import { createPartial } from './firmware-download.ts';
import type { FirmwareCheck } from './firmware-poll.ts';
import {
  createRun,
  emptyRecords,
  type FirmwareRecords,
  type FirmwareParts,
  type FirmwareRun,
  isPending,
  changeRecords,
  look,
  recordsFile,
  observe,
  readRecords,
} from './firmware-run.ts';
import { createAnnouncer, describeFirmware, setConditions } from './firmware-status.ts';
import { clearPath, isFileFault, lostReason } from './unreadable-files.ts';

export type Firmware = {
  /** Fetches, checks, publishes and hands over firmware until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Reads the manifest now and retries waiting work soon. `ok`: it was read, and all of it is valid. */
  check(): Promise<{ ok: boolean }>;
  /** Hands over now what the backend knows otherwise: approval may be needed, or not any more. */
  handOverAgain(): void;
  status(): Status['firmware'];
};

/** A file that was refused is fetched again as a whole, to the disk: whoever asks for checks without a pause would wear it out. */
const betweenRefetchesMs = 60_000;

/** The firmware duty of the agent: a loop of observe → decide → apply, separate from the stack's (docs/adr/0013). */
export function createFirmware(parts: FirmwareParts): Firmware {
  const { clock, logger } = parts;
  const run = createRun(parts);
  const announce = createAnnouncer(run, parts);
  const pollRunner = createExclusiveRunner();
  let signal = AbortSignal.abort();
  let wake = new AbortController();
  /** Monotonic. */
  let refetchedMs = -Infinity;

  const checkManifest = (): Promise<boolean> =>
    pollRunner.run(async () => {
      const answer = await run.poll.check(signal);
      if (answer.kind === 'unavailable') return false;
      run.isManifestRejected = answer.kind === 'rejected';
      if (answer.kind === 'rejected') return false;
      await takeManifest(run, parts, answer);
      announce();
      return answer.refused.length === 0;
    });

  const wait = async (untilMs: number): Promise<void> => {
    wake = new AbortController();
    const forMs = Math.max(10, untilMs - clock.monotonic());
    await clock.sleep(forMs, AbortSignal.any([signal, wake.signal])).catch(() => signal.throwIfAborted());
  };

  return {
    run: async (given) => {
      signal = given;
      const persist = createPersistence(run, parts, signal);
      const apply = createExecutors(run, parts, { checkManifest, signal });
      await persist(() => load(run, parts));
      for (;;) {
        signal.throwIfAborted();
        // Decide again for each try: after a failure another step may come next.
        await persist(async () => {
          setConditions(run, parts);
          run.isClockRight = (await parts.isClockRight()) === true;
          const step = decide(observe(run, parts));
          await (step.kind === 'wait' ? wait(step.untilMs) : apply[step.kind](step as never));
        });
      }
    },
    check: async () => {
      if (signal.aborted) return { ok: false };
      const isRefetch = clock.monotonic() - refetchedMs >= betweenRefetchesMs;
      if (isRefetch) refetchedMs = clock.monotonic();
      run.attempts.hurry(isRefetch ? 'all' : 'failed');
      run.handOver.hurry();
      try {
        return { ok: await checkManifest() };
      } catch (error) {
        if (!signal.aborted) logger.failed('firmware', error);
        return { ok: false };
      } finally {
        wake.abort();
      }
    },
    handOverAgain: () => {
      run.handOver.hurry();
      wake.abort();
    },
    status: () => describeFirmware(run, parts),
  };
}

async function takeManifest(
  run: FirmwareRun,
  parts: FirmwareParts,
  { entries, refused, deviceTypes }: Extract<FirmwareCheck, { kind: 'ok' }>,
): Promise<void> {
  if (parts.source.isSigned) await raiseFloors(run, parts, entries);
  run.entries = entries;
  run.refused = refused;
  run.attempts.keepOnly(entries);
  // As text: what is nested ten thousand times would exhaust the stack of a comparison.
  if (JSON.stringify(run.deviceTypes) !== JSON.stringify(deviceTypes)) run.handOver.hurry();
  run.deviceTypes = deviceTypes;
}

/** Reads the cache and removes damaged items. */
async function load(run: FirmwareRun, parts: FirmwareParts): Promise<void> {
  const { disk, dataDir, logger } = parts;
  await makeDirectoryDurable(disk, dataDir, 0o755);
  run.notes = await loadNotes(run, parts);
  await look(run, parts);
  for (const { file, reason, isLost } of run.contents.damaged) {
    if (!isLost) logger.event('state_repaired', { file, reason });
  }
  for (const item of run.contents.items) {
    // A worn card may damage files, and no device may get a damaged one.
    const fault = await run.cache.faultOf(item);
    if (fault === null) continue;
    await run.cache.withdraw(item);
    logger.event('state_repaired', { file: item.file, reason: fault });
  }
  await look(run, parts);
}

/** The records; empty ones when the file is missing or invalid. */
async function loadNotes(run: FirmwareRun, { disk, dataDir, logger }: FirmwareParts): Promise<FirmwareRecords> {
  const path = join(dataDir, recordsFile);
  const reading = await run.tolerantRead(path, () => readRecords(disk, dataDir));
  if (reading.kind === 'lost') {
    await clearPath(disk, path);
    logger.event('state_repaired', { file: recordsFile, reason: lostReason });
    return emptyRecords;
  }
  if (reading.value.damaged)
    logger.event('state_repaired', { file: recordsFile, reason: 'not records of this version' });
  return reading.value.notes;
}

/** Records the highest signed versions; rarely, because an SD card wears out. */
async function raiseFloors(run: FirmwareRun, parts: FirmwareParts, entries: readonly FirmwareEntry[]): Promise<void> {
  const raised = ({ signedFloors }: FirmwareRecords): Map<string, string> => {
    const floors = new Map(Object.entries(signedFloors));
    const higher = entries.filter(({ name, version }) => isNewer(version, floors.get(name) ?? null));
    return new Map(higher.map(({ name, version }) => [name, version]));
  };
  if (raised(run.notes).size === 0) return;
  await changeRecords(run, parts, (notes) => ({
    signedFloors: { ...notes.signedFloors, ...Object.fromEntries(raised(notes)) },
  }));
}

/** Retries work until it succeeds, however long the disk is unavailable. */
function createPersistence(run: FirmwareRun, parts: FirmwareParts, signal: AbortSignal) {
  const { clock, logger, random } = parts;
  return (work: () => Promise<void>): Promise<void> =>
    retry(
      async () => {
        await work();
        run.diskFault = null;
      },
      {
        clock,
        signal,
        backoff: createBackoff({ initialMs: 5000, maxMs: 5 * 60_000, jitter: 0.2, random }),
        onFailure: ({ error }) => {
          if (isFileFault(error)) run.diskFault = `the disk failed (${error.code})`;
          else logger.failed('firmware', error);
          setConditions(run, parts);
        },
      },
    );
}

type Executors = { [K in Exclude<Step['kind'], 'wait'>]: (step: Extract<Step, { kind: K }>) => Promise<void> };

/** One executor for each step except waiting. Each may run again after a crash. */
function createExecutors(
  run: FirmwareRun,
  parts: FirmwareParts,
  { checkManifest, signal }: { checkManifest: () => Promise<unknown>; signal: AbortSignal },
): Executors {
  const { logger } = parts;
  return {
    poll: async () => void (await checkManifest()),
    ask_backend: () => run.handOver.ask({ isPending: isPending(run), deviceTypes: run.deviceTypes }, signal),
    hand_over: async ({ item }) => {
      const { name, version, checksum, path } = item;
      if (!(await run.handOver.handOver(item, signal))) return;
      const accepted = { [name]: { version, checksum, path } };
      await changeRecords(run, parts, ({ handedOver }) => ({ handedOver: { ...handedOver, ...accepted } }));
      logger.event('firmware_handed_over', { name, version });
    },
    remove_old: async ({ file }) => {
      await run.cache.removeFile(file);
      await look(run, parts);
      logger.event('firmware_old_removed', file);
    },
    remove_partial: async ({ checksum }) => {
      await createPartial(parts.disk, parts.directory, checksum).discard();
      await look(run, parts);
    },
    fetch: async ({ entry }) => {
      try {
        if (await run.fetching.fetch(entry, run.contents.items, signal)) run.handOver.hurry();
      } finally {
        // Also after a fault: a part may have been completed.
        await look(run, parts);
      }
    },
  };
}
