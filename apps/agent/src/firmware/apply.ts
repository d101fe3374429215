import type { Step } from './firmware-decide.ts';
import { createPartial } from './partial.ts';
import { isPending, keepNotes, look, type FirmwareParts, type FirmwareRun } from './firmware-run.ts';

export type Executors = { [K in Exclude<Step['kind'], 'wait'>]: (step: Extract<Step, { kind: K }>) => Promise<void> };

/** How each step is done, but for waiting. Each may be done again after a crash. */
export function createExecutors(
  run: FirmwareRun,
  parts: FirmwareParts,
  { checkManifest, signal }: { checkManifest: () => Promise<unknown>; signal: AbortSignal },
): Executors {
  const { logger } = parts;
  return {
    poll: async () => void (await checkManifest()),
    ask_backend: () => run.handOver.ask(isPending(run), signal),
    hand_over: async ({ item }) => {
      const { name, version, checksum } = item;
      if (!(await run.handOver.handOver(item, signal))) return;
      const accepted = { [name]: { version, checksum } };
      await keepNotes(run, parts, ({ handedOver }) => ({ handedOver: { ...handedOver, ...accepted } }));
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
        // Also after a fault: part of it may have been done.
        await look(run, parts);
      }
    },
  };
}
