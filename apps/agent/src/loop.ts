import { createHash } from 'node:crypto';
import { isoTime, type Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { Report } from '@station/kit/report';
import { createBackoff } from '@station/kit/retry';
import { describeError, StationError } from '@station/kit/station-error';
import type { HistoryEntry, OperationKind, Trigger } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import { isNewer } from '@station/protocol/version';
import type { Conditions } from './conditions.ts';
import { isInsideWindow, type MaintenanceWindow } from './config/maintenance-window.ts';
import { chooseAutomatic, chooseManual, findKept, requestedVersion, type Choice } from './containers/choose-release.ts';
import type { ReleaseCheck, ReleaseSource } from './containers/release-source.ts';
import type { StackEngine } from './containers/ports.ts';
import type { Updater } from './containers/updater.ts';
import type { StartAnswer } from './http/port.ts';

export type LoopParts = {
  updater: Updater;
  engine: StackEngine;
  source: ReleaseSource;
  conditions: Conditions;
  clock: Clock;
  report: Report;
  bootId: string;
  stationId: string;
  agentVersion: string;
  autoUpdate: boolean;
  bootstrapOnStart: boolean;
  checkIntervalMs: number;
  maintenanceWindow: MaintenanceWindow | null;
  random: () => number;
};

export type LastError = { code: string; message: string; at: string };

export type Loop = {
  /** Recovers, then polls and brings up for ever. Ends when the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  update(version: string | null): Promise<StartAnswer>;
  rollback(): Promise<StartAnswer>;
  check(): Promise<ReleaseCheck>;
  latest(): ReleaseManifest | null;
  /** True when a newer release is there that did not fail here. */
  updateAvailable(): boolean;
  lastCheckAt(): string | null;
  lastError(): LastError | null;
  /** Monotonic time of the last sign of progress; for the watchdog. */
  lastAliveMs(): number;
};

/** How often the loop looks whether something is due; nothing waits longer than this for its time. */
const longestTickMs = 30_000;
const firstRetryMs = 15_000;

/** The agent's one runner of stack work: polls, requests and recovery never overlap. */
export function createLoop(parts: LoopParts): Loop {
  const { updater, source, conditions, clock, report, random } = parts;
  const runner = createExclusiveRunner();
  const retry = (initialMs: number, maxMs: number) => createBackoff({ initialMs, maxMs, jitter: 0.2, random });
  const pollRetry = retry(firstRetryMs, Math.max(firstRetryMs, parts.checkIntervalMs));
  const installRetry = retry(firstRetryMs, Math.max(firstRetryMs, parts.checkIntervalMs));
  const bringUpRetry = retry(5000, 5 * 60_000);
  const waiting = new Map<string, (entry: HistoryEntry | null) => void>();
  let signal = AbortSignal.abort();
  let loaded = false;
  let starting = false;
  let checkDueMs = -Infinity;
  let installDueMs = -Infinity;
  let bringUpDueMs = -Infinity;
  let firstBringUp = parts.bootstrapOnStart;
  let lastCheckAt: string | null = null;
  let lastError: LastError | null = null;
  let aliveMs = clock.monotonic();
  let announced: string | null = null;
  let wake = new AbortController();

  const fail = (code: string, message: string): void => {
    lastError = { code, message, at: isoTime(clock.now()) };
  };

  /** Does stack work to its end, however long the engine or the disk are away. */
  const persist = async (work: () => Promise<void>): Promise<void> => {
    const backoff = retry(1000, 60_000);
    for (;;) {
      aliveMs = clock.monotonic();
      try {
        await work();
        conditions.set('engine_unreachable', false);
        conditions.set('state_not_writable', false);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const away = error instanceof StationError && error.code === 'unavailable';
        const unwritable = isFileFault(error);
        conditions.set('engine_unreachable', away);
        conditions.set('state_not_writable', unwritable);
        if (!away && !unwritable) report.event('unexpected_error', { where: 'stack', message: describeError(error) });
        fail(
          away ? 'unavailable' : 'internal',
          away ? 'The container engine does not answer.' : 'Stack work failed; it is tried again.',
        );
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
  };

  const settle = async (bringUpDue: boolean): Promise<void> => {
    await persist(() => updater.settle({ signal, bringUpDue }));
    const journal = updater.journal();
    for (const [id, resolve] of waiting) {
      if (updater.operation()?.id === id) continue;
      waiting.delete(id);
      resolve(updater.outcome(id));
    }
    const ended = journal.history[0];
    if (ended?.result === 'failed' && ended.reason !== null) fail(ended.code ?? 'update_failed', ended.reason);
    conditions.set('stack_unhealthy', journal.installed !== null && journal.upInBoot === null);
    conditions.set('disk_space_low', ended?.code === 'disk_space_low');
    conditions.set('registry_auth_failed', ended?.code === 'registry_auth_failed');
    conditions.set('registry_unreachable', ended?.code === 'registry_unavailable');
    await checkRollbackImages();
  };

  const checkRollbackImages = async (): Promise<void> => {
    const target = updater.journal().kept[0];
    const ids = Object.values(target?.release.imageIds ?? {});
    const found = await Promise.all(ids.map((id) => parts.engine.imageId(id).catch(() => id)));
    conditions.set(
      'rollback_unavailable',
      found.some((id) => id === null),
    );
  };

  const operate = async (request: {
    kind: OperationKind;
    trigger: Trigger;
    to: Release;
  }): Promise<HistoryEntry | null> => {
    let id: string | null = null;
    await persist(async () => {
      id = (await updater.begin(request))?.id ?? id;
    });
    await settle(false);
    return id === null ? null : updater.outcome(id);
  };

  const start = (request: { kind: OperationKind; trigger: Trigger; to: Release }): Promise<StartAnswer> =>
    new Promise((resolve, reject) => {
      const job = async (): Promise<void> => {
        const begun = await updater.begin(request);
        if (!begun) return resolve(refused('update_in_progress', 'An update or a rollback is under way.'));
        const ended = new Promise<HistoryEntry | null>((done) => waiting.set(begun.id, done));
        resolve({ kind: 'started', operationId: begun.id, ended });
        await settle(false);
      };
      void runner.run(() => job().catch((error: unknown) => (signal.aborted ? undefined : reject(error as Error))));
    });

  /** Lets one request at a time through, and none while an operation is under way. */
  const request = async (work: () => Promise<StartAnswer>): Promise<StartAnswer> => {
    if (signal.aborted) return refused('shutting_down', 'The agent is stopping.');
    if (!loaded) return refused('unavailable', 'The container engine does not answer yet.');
    if (starting || updater.operation()) return refused('update_in_progress', 'An update or a rollback is under way.');
    starting = true;
    try {
      return await work();
    } finally {
      starting = false;
    }
  };

  const poll = async (): Promise<ReleaseCheck> => {
    const answer = await source.check(updater.journal().highestSignedVersion, signal);
    conditions.set('manifest_rejected', answer.kind === 'rejected');
    conditions.set('manifest_unreachable', answer.kind === 'unavailable');
    const spread = 1 + 0.1 * (2 * random() - 1);
    let nextMs = parts.checkIntervalMs * spread;
    if (answer.kind === 'ok') {
      pollRetry.reset();
      lastCheckAt = isoTime(clock.now());
      await remember(answer.manifest);
    } else {
      if (answer.kind === 'unavailable') nextMs = Math.min(nextMs, pollRetry.nextMs());
      fail(answer.kind === 'rejected' ? 'manifest_rejected' : 'manifest_unavailable', answer.reason);
      if (answer.kind === 'rejected') report.event('manifest_rejected', { reason: answer.reason });
      else report.event('manifest_check_failed', { reason: answer.reason, retryInMs: Math.round(nextMs) });
    }
    checkDueMs = clock.monotonic() + nextMs;
    return answer;
  };

  /** Keeps what later checks are measured against; rarely, since an SD card wears. */
  const remember = async (manifest: ReleaseManifest): Promise<void> => {
    const { highestSignedVersion, timeFloor } = updater.journal();
    const higher = source.isSigned && isNewer(manifest.version, highestSignedVersion);
    const daysOld = clock.now() - Date.parse(timeFloor ?? '1970-01-01T00:00:00.000Z') > 24 * 3600_000;
    if (!higher && !daysOld) return;
    await updater.remember({
      ...(higher ? { highestSignedVersion: manifest.version } : {}),
      ...(daysOld ? { timeFloor: isoTime(clock.now()) } : {}),
    });
  };

  const choose = (manifest: ReleaseManifest): Choice => {
    const now = new Date(clock.now());
    const choice = chooseAutomatic(manifest, {
      journal: updater.journal(),
      agentVersion: parts.agentVersion,
      autoUpdate: parts.autoUpdate,
      mustInstall: parts.bootstrapOnStart && updater.journal().installed === null,
      insideWindow: isInsideWindow(parts.maintenanceWindow, now.getHours() * 60 + now.getMinutes()),
      takesPart: takesPart(parts.stationId, manifest),
    });
    conditions.set('agent_too_old', choice.kind === 'deferred' && choice.reason === 'agent_too_old');
    announce(manifest, choice);
    return choice;
  };

  const announce = (manifest: ReleaseManifest, choice: Choice): void => {
    const state = choice.kind === 'deferred' ? choice.reason : choice.kind;
    const key = `${manifest.version} ${state}`;
    if (key === announced || choice.kind === 'current') return;
    announced = key;
    const currentVersion = updater.journal().installed?.version ?? null;
    report.event('update_available', { currentVersion, latestVersion: manifest.version });
    if (choice.kind === 'deferred')
      report.event('update_deferred', { latestVersion: manifest.version, reason: choice.reason });
  };

  const install = async (manifest: ReleaseManifest): Promise<void> => {
    const choice = choose(manifest);
    if (choice.kind !== 'install' || clock.monotonic() < installDueMs || starting) return;
    const entry = await operate({ kind: 'update', trigger: 'automatic', to: choice.release });
    if (entry?.result === 'failed') installDueMs = clock.monotonic() + installRetry.nextMs();
    else installRetry.reset();
  };

  const bringUp = async (): Promise<void> => {
    const { installed, upInBoot } = updater.journal();
    const down = firstBringUp && installed !== null && (await isDown(parts.engine, installed));
    firstBringUp = false;
    const due = installed !== null && (upInBoot !== parts.bootId || down);
    if (!due || clock.monotonic() < bringUpDueMs) return;
    await settle(true);
    if (updater.journal().upInBoot === null) bringUpDueMs = clock.monotonic() + bringUpRetry.nextMs();
    else bringUpRetry.reset();
  };

  const tick = async (): Promise<void> => {
    // A request that failed half-way leaves its operation behind: it is ended like one that a crash has left.
    if (updater.isUnsettled()) await settle(false);
    await persist(bringUp);
    if (clock.monotonic() >= checkDueMs) await persist(async () => void (await poll()));
    const manifest = source.latest();
    if (manifest) await install(manifest);
  };

  return {
    run: async (given) => {
      signal = given;
      signal.addEventListener('abort', () => endWaiting(waiting), { once: true });
      await runner.run(async () => {
        await persist(() => updater.load());
        loaded = true;
        const { timeFloor } = updater.journal();
        conditions.set('clock_behind', timeFloor !== null && isoTime(clock.now()) < timeFloor);
        await settle(false);
      });
      for (;;) {
        await runner.run(tick);
        aliveMs = clock.monotonic();
        wake = new AbortController();
        await clock.sleep(nextTickMs(), AbortSignal.any([signal, wake.signal])).catch(() => signal.throwIfAborted());
      }
    },
    update: (text) =>
      request(async () => {
        const version = requestedVersion(text);
        if (version === undefined) return refused('version_invalid', 'The version is not SemVer 2.0.0.');
        const journal = updater.journal();
        const installed = journal.installed?.version ?? null;
        if (version !== null && version === installed) return { kind: 'already_current', version };
        const kept = version === null ? null : findKept(journal, version);
        if (kept) return start({ kind: 'update', trigger: 'manual', to: kept });
        const answer = await runner.run(poll);
        const manifest = answer.kind === 'ok' ? answer.manifest : version === null ? null : source.latest();
        if (!manifest) return refusedCheck(answer);
        const choice = chooseManual(manifest, journal, version);
        if (choice.kind === 'current') return { kind: 'already_current', version: choice.version };
        if (choice.kind === 'refused') return choice;
        return start({ kind: 'update', trigger: 'manual', to: choice.release });
      }),
    rollback: () =>
      request(async () => {
        const target = updater.journal().kept[0];
        if (!target) return refused('nothing_to_roll_back', 'There is no earlier release on this station.');
        return start({ kind: 'rollback', trigger: 'manual', to: target.release });
      }),
    check: async () => {
      if (!loaded) return { kind: 'unavailable', reason: 'the container engine does not answer yet' };
      const answer = await runner.run(poll);
      installDueMs = -Infinity;
      wake.abort();
      return answer;
    },
    latest: () => source.latest(),
    updateAvailable: () => {
      const manifest = source.latest();
      if (!manifest || !loaded) return false;
      const { installed, quarantined } = updater.journal();
      const newer = isNewer(manifest.version, installed?.version ?? null);
      return newer && !quarantined.some((entry) => entry.version === manifest.version);
    },
    lastCheckAt: () => lastCheckAt,
    lastError: () => lastError,
    lastAliveMs: () => aliveMs,
  };

  function nextTickMs(): number {
    const now = clock.monotonic();
    // The other two are only due when something failed before: their past times wait for nothing.
    const waits = [checkDueMs, ...[installDueMs, bringUpDueMs].filter((due) => due > now)].map((due) => due - now);
    return Math.max(10, Math.min(longestTickMs, ...waits));
  }
}

function endWaiting(waiting: Map<string, (entry: HistoryEntry | null) => void>): void {
  for (const resolve of waiting.values()) resolve(null);
  waiting.clear();
}

async function isDown(engine: StackEngine, release: Release): Promise<boolean> {
  const containers = await engine.containers();
  return Object.keys(release.imageIds).some(
    (service) => !containers.some((c) => c.service === service && c.state === 'running'),
  );
}

/** A station takes part when its share of the hash falls below the rollout (contracts, section 1). */
export function takesPart(stationId: string, manifest: Pick<ReleaseManifest, 'version' | 'rollout'>): boolean {
  const hash = createHash('sha256')
    .update(stationId + manifest.version)
    .digest('hex');
  return Number(BigInt(`0x${hash}`) % 100n) < manifest.rollout;
}

const refused = (code: Extract<StartAnswer, { kind: 'refused' }>['code'], message: string): StartAnswer => ({
  kind: 'refused',
  code,
  message,
});

function refusedCheck(answer: ReleaseCheck): StartAnswer {
  if (answer.kind === 'rejected')
    return refused('manifest_rejected', `The release manifest is not valid: ${answer.reason}.`);
  const reason = answer.kind === 'unavailable' ? answer.reason : 'nothing came';
  return refused('manifest_unavailable', `The release manifest could not be fetched: ${reason}.`);
}

const isFileFault = (error: unknown): boolean =>
  error instanceof Error &&
  'syscall' in error &&
  'code' in error &&
  ['ENOSPC', 'EROFS', 'EIO', 'EACCES', 'EDQUOT'].includes(String(error.code));
