import type { HistoryEntry, OperationKind, OperationPhase, Trigger } from '@station/protocol/agent-api';
import type { Release } from '@station/protocol/release';
import { ownValue } from '@station/protocol/own-value';
import { changeImages, imageDamaged, type ImageChange } from './image-care-decide.ts';
import type { Journal, OperationRecord } from './journal.ts';
import type { Surface } from './surface-ports.ts';

/**
 * Every change of the journal, as data. Only `changeJournal` makes a new journal from an old one; events and files
 * follow from the change.
 */
export type Change =
  | {
      kind: 'begin';
      operation: { kind: OperationKind; trigger: Trigger; id: string; to: Release; because?: Cause };
      /** Running images of the services that only the new release names: a rollback must restore them too. */
      beside?: ServiceImages;
    }
  | { kind: 'resume' }
  | { kind: 'fetch'; layers: Record<string, number> }
  /** Images of an earlier boot that could not be verified were removed: the fetch begins again. */
  | { kind: 'fetch_anew'; imageIds: readonly string[] }
  | { kind: 'switch'; imageIds: Record<string, string>; digests: Record<string, string>; surface?: Surface }
  | { kind: 'verify' }
  | { kind: 'revert'; failure: { code: string; reason: string } }
  | { kind: 'verify_revert' }
  /** The wanted release runs: the operation ends successfully. */
  | { kind: 'complete' }
  /** The previous release runs again: the operation ends rolled back. `isBlameless`: it shows no more than the new one did. */
  | { kind: 'reverted'; isBlameless?: boolean }
  /** The operation ends with neither release reached; the installed release must still run. */
  | {
      kind: 'fail';
      failure: { code: string; reason: string };
      bringUpAgain: boolean;
      fetched?: Readonly<Record<string, string>>;
    }
  | { kind: 'forget_images'; imageIds: readonly string[] }
  | ImageChange
  /** What was asked for, and came to its end before it could change anything. */
  | { kind: 'note'; entry: HistoryEntry };

/** Why the agent goes back by itself. */
export type Cause = { code: string; reason: string };

export type ServiceImages = Pick<Release, 'images' | 'imageIds'>;

export type Moment = {
  now: string;
  bootId: string;
  durationMs: number;
  downtimeMs: number | null;
  /** How long the start that is watched took until its health was first seen; null: not seen. */
  startMs: number | null;
  /** KEEP_RELEASES. */
  keepReleases: number;
  /** PROBATION_MINUTES, milliseconds. */
  probationMs: number;
};

const keptHistory = 50;
const keptQuarantine = 50;

export function changeJournal(journal: Journal, change: Change, moment: Moment): Journal {
  if (change.kind === 'begin') return begin(withServices(journal, change.beside), change.operation, moment);
  if (change.kind === 'forget_images') return forgetImages(journal, change.imageIds);
  if (change.kind === 'note') return { ...journal, history: [change.entry, ...journal.history].slice(0, keptHistory) };
  if (isImageChange(change)) return changeImages(journal, change, moment.bootId);
  const operation = journal.operation;
  if (!operation) return journal;
  const enter = (phase: OperationPhase, more: Partial<OperationRecord> = {}): Journal => ({
    ...journal,
    operation: { ...operation, phase, phaseBootId: moment.bootId, ...more },
  });
  switch (change.kind) {
    case 'resume':
      return { ...journal, operation: { ...operation, resumed: operation.resumed + 1 } };
    case 'fetch':
      return {
        ...enter('pulling', { to: { ...operation.to, layers: change.layers } }),
        fetchingSince: journal.fetchingSince ?? moment.bootId,
      };
    case 'fetch_anew':
      return { ...forgetImages(enter('preparing'), change.imageIds), fetchingSince: null };
    case 'switch': {
      const { imageIds, digests, surface } = change;
      const to = { ...operation.to, imageIds, digests: { ...operation.to.digests, ...digests } };
      return {
        // An interrupted pull is not the fault of the release.
        ...enter('switching', {
          to,
          switchedAt: operation.switchedAt ?? moment.now,
          resumed: 0,
          ...(surface && { surface }),
        }),
        ...(operation.phase === 'pulling' ? { fetchingSince: null } : {}),
      };
    }
    case 'verify':
      return enter('verifying');
    case 'revert':
      return enter('reverting', { failure: change.failure });
    case 'verify_revert':
      return enter('verifying_revert');
    case 'complete':
      return complete(withStart(journal, moment), operation, moment);
    case 'reverted':
      return end(withStart(journal, moment), operation, moment, 'rolled_back', operation.failure, {
        installed: operation.from,
        upInBoot: moment.bootId,
        heldBack: null,
        ...(change.isBlameless === true
          ? { heldBack: operation.to.version }
          : blame(journal, operation.to.version, operation.failure ?? unhealthy, moment.now)),
      });
    case 'fail':
      return fail(journal, operation, change, moment);
  }
}

const withStart = (journal: Journal, { startMs }: Moment): Journal =>
  startMs === null ? journal : { ...journal, lastStartMs: startMs };

/** No change of an operation: it goes on as it was. */
export const isImageChange = (change: Change): change is ImageChange =>
  change.kind === 'images_checked' ||
  change.kind === 'rebuild' ||
  change.kind === 'rebuilt' ||
  change.kind === 'rebuild_failed';

function forgetImages(journal: Journal, imageIds: readonly string[]): Journal {
  const without = (images: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(images).filter(([id]) => !imageIds.includes(id)));
  return { ...journal, retired: without(journal.retired), fetched: without(journal.fetched) };
}

/** The release that the override file must name now. */
export function releaseToRun(journal: Journal): Release | null {
  const operation = journal.operation;
  if (operation && (operation.phase === 'switching' || operation.phase === 'verifying')) return operation.to;
  return operation ? operation.from : journal.installed;
}

/** Image ids that must not be pruned: of the installed release, the rollback targets and the release being installed. */
export function wantedImages(journal: Journal): Set<string> {
  return new Set(namedReleases(journal).flatMap((release) => Object.values(release.imageIds)));
}

/**
 * The rollback target: during an operation the previous release, else the latest kept release that has not
 * failed here and was not rolled back manually. Null when there is none: a quarantined release installs only by version.
 */
export function rollbackTarget(journal: Journal): { release: Release; at: string } | null {
  const operation = journal.operation;
  if (operation && operation.kind !== 'bootstrap' && operation.from)
    return { release: operation.from, at: operation.startedAt };
  const isQuarantined = (version: string | null): boolean => journal.quarantined.some((one) => one.version === version);
  return journal.kept.find(({ release }) => !isQuarantined(release.version)) ?? null;
}

function namedReleases(journal: Journal): Release[] {
  const { installed, operation, kept } = journal;
  const releases = [installed, operation?.from ?? null, operation?.to ?? null, ...kept.map((entry) => entry.release)];
  return releases.filter((release) => release !== null);
}

/**
 * Until now these services ran by the tags of the compose file. The new release's images may move those tags, so
 * from here on each kept release names these images too.
 */
function withServices(journal: Journal, beside: ServiceImages = { images: {}, imageIds: {} }): Journal {
  const wider = (release: Release): Release => ({
    ...release,
    images: { ...beside.images, ...release.images },
    imageIds: { ...beside.imageIds, ...release.imageIds },
  });
  return {
    ...journal,
    installed: journal.installed && wider(journal.installed),
    kept: journal.kept.map(({ release, at }) => ({ release: wider(release), at })),
  };
}

function begin(
  journal: Journal,
  started: { kind: OperationKind; trigger: Trigger; id: string; to: Release; because?: Cause },
  moment: Moment,
): Journal {
  const { probation, ...rest } = journal;
  return {
    ...rest,
    // A start of the same release does not end it.
    ...(started.kind === 'bootstrap' && probation && { probation }),
    timeFloor: laterOf(journal.timeFloor, moment.now),
    operation: {
      ...started,
      startedAt: moment.now,
      from: journal.installed,
      phase: 'preparing',
      phaseBootId: moment.bootId,
      resumed: 0,
      switchedAt: null,
      failure: null,
    },
  };
}

function complete(journal: Journal, operation: OperationRecord, moment: Moment): Journal {
  const result = operation.kind === 'rollback' ? 'rolled_back' : 'updated';
  if (operation.kind === 'bootstrap') {
    return { ...journal, operation: null, installed: operation.to, upInBoot: moment.bootId, heldBack: null };
  }
  const left = operation.from;
  const undone = operation.kind === 'rollback' ? left?.version : null;
  const quarantined = journal.quarantined.filter((entry) => entry.version !== operation.to.version);
  const candidates = [...(left ? [{ release: left, at: moment.now }] : []), ...journal.kept];
  const kept = candidates
    .filter(({ release }) => release.version !== operation.to.version)
    .slice(0, moment.keepReleases);
  return end(journal, operation, moment, result, null, {
    installed: operation.to,
    ...probationOf(operation, moment),
    kept,
    fetched: {},
    upInBoot: moment.bootId,
    heldBack: null,
    quarantined: undone
      ? quarantine({ ...journal, quarantined }, undone, operation.because ?? manually, moment.now)
      : quarantined,
  });
}

/** Only an update is watched: what a rollback leads to was good before. */
function probationOf({ kind, to, surface }: OperationRecord, { now, probationMs }: Moment): Pick<Journal, 'probation'> {
  if (kind !== 'update' || to.version === null || probationMs === 0) return {};
  const endsAt = new Date(Date.parse(now) + probationMs).toISOString();
  return { probation: { version: to.version, endsAt, hasPage: (surface?.page ?? null) !== null } };
}

function fail(
  journal: Journal,
  operation: OperationRecord,
  change: Extract<Change, { kind: 'fail' }>,
  moment: Moment,
): Journal {
  const { failure, to } = operation;
  // If the engine could start neither release, the station is at fault (for example a taken port), not the new release.
  const neither = failure !== null && isEngineFault(failure) && isEngineFault(change.failure);
  const spared = neither ? imagesOf(to) : {};
  const blamed = failure && !neither ? blame(journal, to.version, failure, moment.now) : {};
  const ended = end(journal, operation, moment, 'failed', change.failure, {
    // Include the services that were found running with it: the fetch may have moved their tags.
    installed: operation.from,
    fetched: { ...journal.fetched, ...change.fetched, ...spared },
    // A finished fetch was synced, even a failed one; images of an earlier boot are still in doubt.
    fetchingSince: journal.fetchingSince === moment.bootId ? null : journal.fetchingSince,
    ...(change.bringUpAgain ? { upInBoot: null } : {}),
    ...(neither ? { heldBack: to.version } : {}),
    // The new release had failed, whether or not the rollback worked.
    ...blamed,
  });
  const retired = Object.entries(ended.retired).filter(([id]) => !Object.hasOwn(spared, id));
  return { ...ended, retired: Object.fromEntries(retired) };
}

function end(
  journal: Journal,
  operation: OperationRecord,
  moment: Moment,
  result: HistoryEntry['result'],
  failure: { code: string; reason: string } | null,
  changes: Partial<Journal>,
): Journal {
  const entry: HistoryEntry = {
    id: operation.id,
    kind: operation.kind,
    trigger: operation.trigger,
    result,
    from: operation.from?.version ?? null,
    to: operation.to.version,
    reason: failure?.reason ?? null,
    code: failure?.code ?? null,
    ...(operation.because && { because: operation.because }),
    startedAt: operation.startedAt,
    endedAt: moment.now,
    durationMs: moment.durationMs,
    downtimeMs: operation.switchedAt === null ? null : moment.downtimeMs,
    isSwitched: operation.switchedAt !== null,
  };
  const ended: Journal = {
    ...journal,
    ...changes,
    operation: null,
    timeFloor: laterOf(journal.timeFloor, moment.now),
    history: withEntry(journal.history, entry),
  };
  return { ...ended, retired: retire(journal, ended) };
}

/**
 * Only failed bring-ups enter the history. Of consecutive automatic failures, of bring-ups or of one release for one
 * reason, only the last stays: they must not push out older entries.
 */
function withEntry(history: readonly HistoryEntry[], entry: HistoryEntry): HistoryEntry[] {
  const isFailedBringUp = (one: HistoryEntry | undefined): boolean =>
    one?.kind === 'bootstrap' && one.result === 'failed';
  if (entry.kind === 'bootstrap' && !isFailedBringUp(entry)) return [...history];
  const last = history[0];
  const repeats =
    (isFailedBringUp(entry) && isFailedBringUp(last)) || (last !== undefined && isSameFailure(entry, last));
  return [entry, ...(repeats ? history.slice(1) : history)].slice(0, keptHistory);
}

/** Manual operations are never merged: their outcome is looked up in the history. */
const isSameFailure = (one: HistoryEntry, other: HistoryEntry): boolean =>
  [one, other].every(({ result, trigger }) => result === 'failed' && trigger === 'automatic') &&
  one.to === other.to &&
  one.code === other.code;

/** Images that are no longer wanted after the change, together with those retired earlier. */
function retire(before: Journal, after: Journal): Journal['retired'] {
  const wanted = wantedImages(after);
  const fetched = Object.keys(after.fetched).length === 0 ? before.fetched : {};
  const retired: Record<string, string> = { ...before.retired, ...fetched };
  for (const release of namedReleases(before)) Object.assign(retired, imagesOf(release));
  return Object.fromEntries(Object.entries(retired).filter(([id]) => !wanted.has(id)));
}

/** Image id → reference. */
export const imagesOf = ({ imageIds, images }: Pick<Release, 'imageIds' | 'images'>): Record<string, string> =>
  Object.fromEntries(Object.entries(imageIds).map(([service, id]) => [id, ownValue(images, service) ?? id]));

type Failure = { code: string; reason: string };
const isEngineFault = ({ code }: Failure): boolean => code === 'engine_failed';
const unhealthy: Failure = { code: 'release_unhealthy', reason: 'not healthy' };
const manually: Failure = { code: 'rolled_back_by_hand', reason: 'rolled back manually' };

/** A release whose image is damaged here is not at fault: it is tried again once the stack has been brought up again. */
const blame = (journal: Journal, version: string | null, failure: Failure, at: string): Partial<Journal> =>
  failure.code === imageDamaged ? { heldBack: version } : { quarantined: quarantine(journal, version, failure, at) };

function quarantine(journal: Journal, version: string | null, failure: Failure, at: string): Journal['quarantined'] {
  if (version === null) return journal.quarantined;
  const others = journal.quarantined.filter((entry) => entry.version !== version);
  return [{ version, ...failure, at }, ...others].slice(0, keptQuarantine);
}

const laterOf = (a: string | null, b: string): string => (a !== null && a > b ? a : b);
