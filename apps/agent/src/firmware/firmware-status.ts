import type { FirmwareItem, Status } from '@station/protocol/agent-api';
import { attemptKey, chooseEntry, isHandedOver, refusedEntries, refusedImages } from './firmware-decide.ts';
import { isPending, observe, type FirmwareParts, type FirmwareRun } from './firmware-run.ts';

/** Failed hand-overs before the condition is set: a starting backend is down for a while. */
const failuresOfACondition = 3;
/** Limit of the list of logged entries: a manifest that keeps changing must not fill the memory. */
const mostLogged = 10_000;

/** Logs once what a manifest newly offers, and what of it is refused. */
export function createAnnouncer(run: FirmwareRun, parts: FirmwareParts): () => void {
  const logged = new Set<string>();
  const once = (key: string, log: () => void): void => {
    if (logged.has(key)) return;
    if (logged.size >= mostLogged) logged.clear();
    logged.add(key);
    log();
  };
  return () => {
    const facts = observe(run, parts);
    for (const entry of run.entries ?? []) {
      const { name, version } = entry;
      if (chooseEntry(entry, facts).kind !== 'fetch') continue;
      once(attemptKey(entry), () => parts.logger.event('firmware_update_available', { name, version }));
    }
    for (const refusal of refusedEntries(run.refused, facts)) {
      once(JSON.stringify(refusal), () => parts.logger.event('firmware_refused', refusal));
    }
  };
}

/** Sets and clears conditions from the current facts. */
export function setConditions(run: FirmwareRun, parts: FirmwareParts): void {
  const { conditions } = parts;
  const facts = observe(run, parts);
  const isFull = [...facts.attempts.values()].some(({ kind }) => kind === 'disk_full');
  conditions.set('firmware_manifest_rejected', run.isManifestRejected || refusedEntries(run.refused, facts).length > 0);
  conditions.set('firmware_refused', refusedImages(facts).length > 0);
  conditions.set('firmware_cache_not_writable', run.diskFault !== null || isFull);
  conditions.set(
    'firmware_not_handed_over',
    run.handOver.failures(run.contents.items) >= failuresOfACondition && isPending(run),
  );
}

/** The firmware part of GET /status. */
export function describeFirmware(run: FirmwareRun, parts: FirmwareParts): Status['firmware'] {
  const facts = observe(run, parts);
  return {
    cacheDir: parts.directory,
    lastCheckAt: run.poll.lastCheckAt(),
    lastError: lastErrorOf(run),
    items: run.contents.items.map((item): FirmwareItem => {
      const { name, version, file, checksum, size, downloadedAt, chip } = item;
      // Before the backend's first answer, earlier accepted hand-overs count.
      const types = facts.types ?? [{ type: name, installed: [], cached: version }];
      return {
        name,
        version,
        file,
        checksum,
        size,
        downloadedAt,
        ...(chip === null ? {} : { chip }),
        handedOver: isHandedOver(item, { ...facts, types }),
      };
    }),
    ...(run.isCacheRead ? { files: run.contents.files } : {}),
    download: run.fetching.current(),
    refused: [...refusedEntries(run.refused, facts), ...refusedImages(facts)],
  };
}

function lastErrorOf(run: FirmwareRun): string | null {
  const [attempt] = [...run.attempts.all()].map(([key, { reason }]) => `${key.split(' ')[0]}: ${reason}`);
  return (
    run.diskFault ??
    run.poll.lastError() ??
    attempt ??
    (isPending(run) ? run.handOver.lastError(run.contents.items) : null)
  );
}
