import { isoTime, type Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { createBackoff } from '@station/kit/retry';
import type { Release } from '@station/protocol/release';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import { isNewer } from '@station/protocol/version';
import type { Conditions } from '../core/conditions.ts';
import { chooseManual, findKept, requestedVersion } from './release-decide.ts';
import type { ReleaseCheck } from './release-source.ts';
import type { FrontDoor } from './port-80-lock.ts';
import { rollbackTarget } from './operation-decide.ts';
import type { StackEngine } from './ports.ts';
import type { Updater } from './journal-keeper.ts';
import type { StartAnswer } from '../http/port.ts';
import { firstRetryMs, type ReleasePoll } from './release-poll.ts';
import type { OperationRequest, StackWork } from './blockers.ts';
import type { Journal } from './journal.ts';

export type LoopParts = {
  updater: Updater;
  engine: StackEngine;
  work: StackWork;
  poll: ReleasePoll;
  conditions: Conditions;
  door: FrontDoor;
  clock: Clock;
  bootId: string;
  bootstrapOnStart: boolean;
  checkIntervalMs: number;
  random: () => number;
};

export type Loop = {
  /** Recovers, then polls and brings up for ever. Ends when the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  update(version: string | null): Promise<StartAnswer>;
  rollback(): Promise<StartAnswer>;
  check(): Promise<ReleaseCheck>;
  /** True when a newer release is there that did not fail here. */
  updateAvailable(): boolean;
  /** Looks now whether something is due. */
  wake(): void;
  /** Resolves once no stack work is under way that needs the reverse proxy; after some minutes in any case. */
  untilProxyIsFree(signal: AbortSignal): Promise<void>;
};

/** How often the loop looks whether something is due; nothing waits longer than this for its time. */
const longestTickMs = 30_000;
/** A bring-up with its health gate and the way back from it; what takes longer is stuck. */
const longestProxyUseMs = 5 * 60_000;
const proxyLookMs = 250;

/** The agent's one runner of stack work: polls, requests and recovery never overlap. */
export function createLoop(parts: LoopParts): Loop {
  const { updater, engine, work, poll, conditions, clock, random, door } = parts;
  const runner = createExclusiveRunner();
  const retry = (initialMs: number, maxMs: number) => createBackoff({ initialMs, maxMs, jitter: 0.2, random });
  const installRetry = retry(firstRetryMs, Math.max(firstRetryMs, parts.checkIntervalMs));
  const bringUpRetry = retry(5000, 5 * 60_000);
  let signal = AbortSignal.abort();
  let starting = false;
  let installDueMs = -Infinity;
  let bringUpDueMs = -Infinity;
  let firstBringUp = parts.bootstrapOnStart;
  let wake = new AbortController();

  const start = (request: OperationRequest): Promise<StartAnswer> =>
    new Promise((resolve, reject) => {
      const job = async (): Promise<void> => {
        const begun = await updater.begin(request);
        if (!begun) return resolve(busy);
        resolve({ kind: 'started', operationId: begun.id, ended: work.ended(begun.id) });
        await work.settle(signal);
      };
      void runner.run(() => job().catch((error: unknown) => (signal.aborted ? undefined : reject(error as Error))));
    });

  /** Lets one request at a time through, and none while an operation is under way. */
  const request = async (answer: () => Promise<StartAnswer>): Promise<StartAnswer> => {
    if (signal.aborted) return refused('shutting_down', 'The agent is stopping.');
    if (starting || (updater.isLoaded() && updater.operation())) return busy;
    // A request would wait behind the loop, which waits for the engine, the disk or a compose project that can be read.
    const hindrance = work.hindrance();
    if (hindrance) return refused(hindrance.code, hindrance.message);
    if (door.isTaken()) return refused('unavailable', 'The hotspot is on: the station has no network now.');
    starting = true;
    try {
      return await answer();
    } catch (error) {
      if (!work.hinders(error)) throw error;
      // What it left behind is put right by the loop, which waits for the end of the fault; later requests are told at once.
      wake.abort();
      const { code, message } = work.hindrance() ?? { code: 'internal', message: 'It could not be begun. Try again.' };
      return refused(code, message);
    } finally {
      starting = false;
    }
  };

  const check = async (): Promise<ReleaseCheck> => {
    const answer = await poll.check(signal);
    if (answer.kind === 'ok') work.noteWanted(poll.wanted());
    if (answer.kind === 'rejected') work.fail('manifest_rejected', answer.reason);
    if (answer.kind === 'unavailable') work.fail('manifest_unavailable', answer.reason);
    return answer;
  };

  const install = async (manifest: ReleaseManifest): Promise<void> => {
    const choice = poll.choose(manifest);
    if (choice.kind !== 'install' || clock.monotonic() < installDueMs || starting) return;
    const entry = await work.operate({ kind: 'update', trigger: 'automatic', to: choice.release }, signal);
    if (entry?.result === 'failed') installDueMs = clock.monotonic() + installRetry.nextMs();
    else installRetry.reset();
  };

  const bringUp = async (): Promise<void> => {
    const { installed, upInBoot } = updater.journal();
    const down = firstBringUp && installed !== null && (await isDown(engine, installed));
    firstBringUp = false;
    const due = installed !== null && (upInBoot !== parts.bootId || down);
    if (!due || clock.monotonic() < bringUpDueMs) return;
    await work.settle(signal, { bringUpDue: true });
    if (updater.journal().upInBoot === null) bringUpDueMs = clock.monotonic() + bringUpRetry.nextMs();
    else bringUpRetry.reset();
  };

  /** A clock may be set long after the start, and may go wrong long after it. */
  const lookAtClock = (): void => {
    const { timeFloor } = updater.journal();
    conditions.set('clock_behind', timeFloor !== null && isoTime(clock.now()) < timeFloor);
  };

  const tick = async (): Promise<void> => {
    lookAtClock();
    if (door.isTaken()) return;
    // A request that failed half-way leaves its operation behind: it is ended like one that a crash has left.
    if (updater.isUnsettled()) await work.settle(signal);
    await work.persist(bringUp, signal);
    if (clock.monotonic() >= poll.dueMs()) {
      await work.persist(async () => void (await check()), signal);
      // Somebody may have taken away what is held, or what is kept to go back to.
      await work.settle(signal);
    }
    const manifest = poll.latest();
    if (manifest) await install(manifest);
  };

  const nextTickMs = (): number => {
    const now = clock.monotonic();
    if (door.isTaken()) return longestTickMs;
    // The other two are only due when something failed before: their past times wait for nothing.
    const waits = [poll.dueMs(), ...[installDueMs, bringUpDueMs].filter((due) => due > now)].map((due) => due - now);
    return Math.max(10, Math.min(longestTickMs, ...waits));
  };

  const chooseRequested = async (version: string | null): Promise<StartAnswer> => {
    const journal = updater.journal();
    if (version !== null && version === journal.installed?.version) return { kind: 'already_current', version };
    const kept = version === null ? null : findKept(journal, version);
    if (kept) return start({ kind: 'update', trigger: 'manual', to: kept });
    const answer = await runner.run(check);
    const manifest = answer.kind === 'ok' ? answer.manifest : version === null ? null : poll.latest();
    if (!manifest) return refusedCheck(answer);
    const choice = chooseManual(manifest, journal, version);
    if (choice.kind === 'current') return { kind: 'already_current', version: choice.version };
    if (choice.kind === 'refused') return choice;
    return start({ kind: 'update', trigger: 'manual', to: choice.release });
  };

  return {
    run: async (given) => {
      signal = given;
      signal.addEventListener('abort', () => work.stop(), { once: true });
      await runner.run(async () => {
        await work.persist(() => updater.load(), signal);
        lookAtClock();
        await work.settle(signal);
      });
      for (;;) {
        await runner.run(tick);
        work.alive();
        wake = new AbortController();
        const woken = AbortSignal.any([signal, wake.signal]);
        await clock.sleep(nextTickMs(), woken).catch(() => signal.throwIfAborted());
      }
    },
    update: (text) =>
      request(async () => {
        const version = requestedVersion(text);
        if (version === undefined) return refused('version_invalid', 'The version is not SemVer 2.0.0.');
        return chooseRequested(version);
      }),
    rollback: () =>
      request(async () => {
        const target = rollbackTarget(updater.journal());
        if (!target) return nothingToRollBack(updater.journal());
        return start({ kind: 'rollback', trigger: 'manual', to: target.release });
      }),
    check: async () => {
      const hindrance = work.hindrance();
      if (hindrance) return { kind: 'unavailable', reason: hindrance.message };
      const answer = await runner.run(check);
      installDueMs = -Infinity;
      wake.abort();
      return answer;
    },
    wake: () => wake.abort(),
    untilProxyIsFree: async (given) => {
      const until = clock.monotonic() + longestProxyUseMs;
      let idle = false;
      void runner.run(async () => {
        idle = true;
      });
      // Where the engine or the project cannot be worked with, nothing goes on that needs the proxy; nor where the disk cannot be
      // written, unless a release is being judged; nor does one need it that is still on its way.
      const isFree = (): boolean => {
        const phase = updater.isLoaded() ? (updater.operation()?.phase ?? null) : null;
        const isJudging = phase !== null && !['preparing', 'pulling'].includes(phase);
        return (
          idle ||
          conditions.has('engine_unreachable') ||
          conditions.has('compose_project_unreadable') ||
          (conditions.has('state_not_writable') && !isJudging) ||
          (phase !== null && !isJudging)
        );
      };
      while (!isFree() && clock.monotonic() < until) await clock.sleep(proxyLookMs, given);
    },
    updateAvailable: () => {
      const manifest = poll.latest();
      if (!manifest || !updater.isLoaded()) return false;
      const { installed, quarantined } = updater.journal();
      const newer = isNewer(manifest.version, installed?.version ?? null);
      return newer && !quarantined.some((entry) => entry.version === manifest.version);
    },
  };
}

async function isDown(engine: StackEngine, release: Release): Promise<boolean> {
  const containers = await engine.containers();
  return Object.keys(release.imageIds).some(
    (service) => !containers.some((c) => c.service === service && c.state === 'running'),
  );
}

const refused = (code: Extract<StartAnswer, { kind: 'refused' }>['code'], message: string): StartAnswer => ({
  kind: 'refused',
  code,
  message,
});

const busy = refused('update_in_progress', 'An update or a rollback is under way.');

function nothingToRollBack({ kept }: Journal): StartAnswer {
  const version = kept[0]?.release.version;
  if (!version) return refused('nothing_to_roll_back', 'There is no earlier release on this station.');
  const message = `Release ${version} was left or failed here before. Ask for it by its version to install it all the same.`;
  return refused('nothing_to_roll_back', message);
}

function refusedCheck(answer: ReleaseCheck): StartAnswer {
  if (answer.kind === 'rejected')
    return refused('manifest_rejected', `The release manifest is not valid: ${answer.reason}.`);
  const reason = answer.kind === 'unavailable' ? answer.reason : 'nothing came';
  return refused('manifest_unavailable', `The release manifest could not be fetched: ${reason}.`);
}
