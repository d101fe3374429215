import { join } from 'node:path';
import { parseImageReference } from '@station/protocol/image-reference';
import type { Release } from '@station/protocol/release';
import { parseVersion } from '@station/protocol/version';
import { readText, type Disk } from '@station/kit/durable-files';
import { parseJson } from '@station/kit/json';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { emptyJournal, type Journal } from './journal.ts';
import type { ContainerFact, StackEngine } from './stack-ports.ts';
import { readOverride, stateFiles } from './state-files.ts';

/** Services of every release (specification, "Release manifest"); pinned services belong to it too. */
const releaseServices = ['backend', 'frontend'];

const RollbackFile = Type.Object({
  version: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  images: Type.Record(Type.String(), Type.String()),
  imageIds: Type.Optional(Type.Record(Type.String(), Type.String())),
  createdAt: Type.Optional(Type.String()),
});

export type Adoption = { journal: Journal; repaired: { file: string; reason: string }[] };

/**
 * Makes a journal when there is none (first start, an older agent's state, a damaged file): the running containers are the
 * installed release; the specification's state files add what they still contain.
 */
export async function adoptStack(parts: {
  engine: StackEngine;
  disk: Disk;
  dataDir: string;
  now: string;
  bootId: string;
}): Promise<Adoption> {
  const { engine, disk, dataDir, now, bootId } = parts;
  const repaired: Adoption['repaired'] = [];
  const containers = await engine.containers();
  const text = await readOr(null, () => readText(disk, join(dataDir, stateFiles.currentVersion)));
  const recorded = text === null ? null : parseVersion(text.trim());
  if (text !== null && recorded === null) {
    repaired.push({ file: stateFiles.currentVersion, reason: 'not a version' });
  }
  const rollback = await readRollback(engine, disk, dataDir);
  if (rollback === 'damaged') repaired.push({ file: stateFiles.rollback, reason: 'not readable' });
  const earlier = rollback === 'damaged' ? null : rollback;
  const pins = readOverride(await readOr(null, () => readText(disk, join(dataDir, stateFiles.updateOverride))));
  const interrupted = interruptedRelease(recorded?.text ?? null, earlier, pins);
  const installed =
    interrupted === undefined
      ? runningRelease(containers, recorded?.text ?? null, [...releaseServices, ...Object.keys(pins)])
      : interrupted;
  const keeps = earlier !== null && earlier.version !== installed?.version;
  return {
    journal: {
      ...emptyJournal,
      installed,
      kept: keeps ? [{ release: earlier, at: now }] : [],
      upInBoot: isRunning(containers, installed) ? bootId : interrupted === undefined ? notSeenUp : null,
    },
    repaired,
  };
}

/**
 * The journal was lost in the middle of an operation: the containers may be of two releases, or of a broken one. The state files
 * still show it: the rollback target equals the installed release only during an operation, and a pin without an installed
 * release exists only during a first install.
 * @returns the release that must run; null when none was installed yet; undefined when no operation was under way.
 */
function interruptedRelease(
  recordedVersion: string | null,
  earlier: Release | null,
  pins: Readonly<Record<string, string>>,
): Release | null | undefined {
  if (earlier !== null && earlier.version !== null && earlier.version === recordedVersion) return earlier;
  return recordedVersion === null && earlier === null && Object.keys(pins).length > 0 ? null : undefined;
}

/** An unreadable file counts as missing; it is replaced later. */
async function readOr<T>(otherwise: T, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch {
    return otherwise;
  }
}

/** Stands for a boot id: BOOTSTRAP_ON_START decides whether a stack that was found down is brought up. */
const notSeenUp = 'none';

/** A stack that was found up need not be brought up. */
function isRunning(containers: readonly ContainerFact[], release: Release | null): boolean {
  const wanted = Object.entries(release?.imageIds ?? {});
  return wanted.every(([service, id]) => {
    const own = containers.filter((container) => container.service === service);
    return own.length > 0 && own.every(({ state, imageId }) => state === 'running' && imageId === id);
  });
}

/** Name of a container's image in a release: its reference, or its id if the reference is ambiguous (`eclipse-mosquitto`). */
export const imageName = ({ image, imageId }: Pick<ContainerFact, 'image' | 'imageId'>): string =>
  parseImageReference(image) ? image : imageId;

function runningRelease(
  containers: readonly ContainerFact[],
  recordedVersion: string | null,
  services: readonly string[],
): Release | null {
  const images: Record<string, string> = {};
  const imageIds: Record<string, string> = {};
  for (const container of containers) {
    if (!services.includes(container.service)) continue;
    setOwnValue(images, container.service, imageName(container));
    setOwnValue(imageIds, container.service, container.imageId);
  }
  if (Object.keys(imageIds).length === 0) return null;
  const tag = parseImageReference(images['backend'] ?? '')?.tag ?? null;
  const tagVersion = tag === null ? null : parseVersion(tag);
  return { version: recordedVersion ?? tagVersion?.text ?? null, images, imageIds, digests: {}, layers: {} };
}

async function readRollback(engine: StackEngine, disk: Disk, dataDir: string): Promise<Release | null | 'damaged'> {
  const path = join(dataDir, stateFiles.rollback);
  let text: string | null;
  try {
    if ((await disk.read(path)) === null) return null;
    text = await readText(disk, path);
  } catch {
    return 'damaged';
  }
  const parsed = parseJson(text ?? '');
  if (!Value.Check(RollbackFile, parsed)) return 'damaged';
  const imageIds: Record<string, string> = {};
  for (const [service, reference] of Object.entries(parsed.images)) {
    if (!parseImageReference(reference) && !/^sha256:[0-9a-f]{64}$/.test(reference)) return 'damaged';
    const id = await engine.imageId(ownValue(parsed.imageIds, service) ?? reference);
    // A rollback must work without the network, so a release with missing images is no rollback target.
    if (id === null) return null;
    setOwnValue(imageIds, service, id);
  }
  if (Object.keys(imageIds).length === 0) return null;
  const version = parseVersion(parsed.version ?? '')?.text ?? null;
  return { version, images: parsed.images, imageIds, digests: {}, layers: {} };
}
