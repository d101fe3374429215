import { imagesAtVersion, type ReleaseManifest } from '@station/protocol/release-manifest';
import type { Release } from '@station/protocol/release';
import { isNewer, parseVersion } from '@station/protocol/version';
import type { ErrorCode } from '@station/protocol/errors';
import type { StartAnswer } from '../core/stack-port.ts';
import type { Journal } from './journal.ts';
import type { ReleaseCheck } from './release-source.ts';

export type Circumstances = {
  journal: Journal;
  agentVersion: string;
  /** Whether newer releases are installed without being asked for. */
  isAutomatic: boolean;
  /** Nothing is installed and the stack must start: the first release is fetched even when updates are not automatic. */
  mustInstall: boolean;
  insideWindow: boolean;
  /** Whether this station takes part in the manifest's rollout (per cent of all stations). */
  takesPart: boolean;
  /** Others on the network could have written the manifest. */
  isForgeable: boolean;
};

export type Choice =
  | { kind: 'current' }
  | { kind: 'install'; release: Release }
  /** A newer release is available but is not installed now. */
  | { kind: 'deferred'; reason: DeferralReason };

type DeferralReason =
  | 'manual'
  | 'quarantined'
  | 'stack_not_running'
  | 'agent_too_old'
  | 'unsigned'
  | 'rollout'
  | 'maintenance_window';

/** Whether the manifest's release is installed automatically: only newer versions (contracts, section 1). */
export function chooseAutomatic(manifest: ReleaseManifest, at: Circumstances): Choice {
  const { journal } = at;
  if (!isNewer(manifest.version, journal.installed?.version ?? null)) return { kind: 'current' };
  if (journal.quarantined.some((entry) => entry.version === manifest.version)) return deferred('quarantined');
  if (journal.heldBack === manifest.version) return deferred('stack_not_running');
  if (manifest.minAgentVersion !== null && isNewer(manifest.minAgentVersion, at.agentVersion))
    return deferred('agent_too_old');
  if (at.isForgeable) return deferred('unsigned');
  if (at.mustInstall) return { kind: 'install', release: releaseOf(manifest.version, manifest.images) };
  if (!at.isAutomatic) return deferred('manual');
  if (!at.takesPart) return deferred('rollout');
  if (!at.insideWindow) return deferred('maintenance_window');
  return { kind: 'install', release: releaseOf(manifest.version, manifest.images) };
}

type ManualChoice =
  | { kind: 'current'; version: string | null }
  | { kind: 'install'; release: Release }
  /** Another version than the manifest's needs a signed manifest of its own. */
  | { kind: 'find'; version: string }
  | { kind: 'refused'; code: ErrorCode; message: string };

/** A release on this machine that can be installed by version without the manifest; null when there is none. */
export function findKept(journal: Journal, version: string): Release | null {
  return journal.kept.find(({ release }) => release.version === version)?.release ?? null;
}

/**
 * Which release a manual request installs: the latest one, or the one of a version.
 * @param at.isSigned with a public key only what a signed manifest names is installed: a tag proves nothing.
 */
export function chooseManual(
  manifest: ReleaseManifest,
  at: { journal: Journal; isSigned: boolean },
  requested: string | null,
): ManualChoice {
  const { journal, isSigned } = at;
  const installed = journal.installed?.version ?? null;
  if (requested === null) {
    if (!isNewer(manifest.version, installed)) return { kind: 'current', version: installed };
    if (journal.quarantined.some((entry) => entry.version === manifest.version)) {
      const message = `Release ${manifest.version} failed here before. Ask for it by its version to install it all the same.`;
      return { kind: 'refused', code: 'conflict', message };
    }
    return { kind: 'install', release: releaseOf(manifest.version, manifest.images) };
  }
  if (requested === manifest.version) return { kind: 'install', release: releaseOf(requested, manifest.images) };
  if (isSigned) return { kind: 'find', version: requested };
  const images = imagesAtVersion(manifest, requested);
  if (images) return { kind: 'install', release: releaseOf(requested, images) };
  const message = 'The manifest pins its images by digest: the images of another version cannot be told from it.';
  return { kind: 'refused', code: 'version_not_derivable', message };
}

/** Version of a request, canonical; undefined when it is not SemVer. */
export function requestedVersion(text: string | null): string | null | undefined {
  return text === null ? null : parseVersion(text)?.text;
}

const dayMs = 24 * 3600_000;

/**
 * The time that has passed for certain, after a check of the manifest. It is raised at most once a day, because an SD card wears out, and
 * lowered when it came from a clock that was ahead.
 * @param at.isClockRight null: nobody knows.
 * @returns null: it stays.
 */
export function nextTimeFloor(at: {
  floor: string | null;
  nowMs: number;
  isClockRight: boolean | null;
}): number | null {
  const { floor, nowMs, isClockRight } = at;
  const floorMs = Date.parse(floor ?? '1970-01-01T00:00:00.000Z');
  if (nowMs < floorMs) return isClockRight === true ? nowMs : null;
  return isClockRight !== false && nowMs - floorMs > dayMs ? nowMs : null;
}

const deferred = (reason: DeferralReason): Choice => ({ kind: 'deferred', reason });

export const releaseOf = (version: string, images: Record<string, string>): Release => ({
  version,
  images,
  imageIds: {},
  digests: {},
  layers: {},
});

/**
 * A release as this station installs it (contracts, section 1): only services that run here, and those that the release does not name stay
 * as installed, by the ids of their images.
 * @param running services of the compose file that run on this station.
 * @returns with the services that the release names and this station does not run.
 */
export function fitRelease(
  release: Release,
  installed: Release | null,
  running: readonly string[],
): { release: Release; ignored: string[] } {
  const named = Object.keys(release.images);
  const stay = Object.keys(installed?.images ?? {}).filter((service) => !named.includes(service));
  const only = (values: Readonly<Record<string, string>>, services: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      Object.entries(values).filter(([service]) => services.includes(service) && running.includes(service)),
    );
  const fit = (part: 'images' | 'imageIds' | 'digests'): Record<string, string> => ({
    ...only(installed?.[part] ?? {}, stay),
    ...only(release[part], named),
  });
  return {
    release: { ...release, images: fit('images'), imageIds: fit('imageIds'), digests: fit('digests') },
    ignored: named.filter((service) => !running.includes(service)),
  };
}

export type Refusal = Extract<StartAnswer, { kind: 'refused' }>;

export const refused = (code: ErrorCode, message: string): Refusal => ({ kind: 'refused', code, message });

export function nothingToRollBack({ kept }: Journal): Refusal {
  const version = kept[0]?.release.version;
  if (!version) return refused('nothing_to_roll_back', 'There is no earlier release on this station.');
  const message = `Release ${version} was left or failed here before. Ask for it by its version to install it all the same.`;
  return refused('nothing_to_roll_back', message);
}

export function refusedVersion(version: string, answer: Exclude<ReleaseCheck, { kind: 'ok' }>): Refusal {
  return refused('version_not_signed', `Release ${version} has no signed manifest of its own: ${answer.reason}.`);
}

export function refusedCheck(answer: ReleaseCheck): Refusal {
  if (answer.kind === 'rejected')
    return refused('manifest_rejected', `The release manifest is not valid: ${answer.reason}.`);
  const reason = answer.kind === 'unavailable' ? answer.reason : 'nothing came';
  return refused('manifest_unavailable', `The release manifest could not be fetched: ${reason}.`);
}
