import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { listPins } from './containers.ts';
import type { EngineApi, ReadInfo } from './engine-api.ts';
import type { CheckOptions, Finding } from './image-check.ts';
import { removeImage } from './images.ts';
import { removeLooseLayers } from './loose-layers.ts';

/** References or ids of the removed images, and how many layers without an image were removed. */
export type Repaired = { images: string[]; layers: number };

export type RepairParts = {
  api: EngineApi;
  info: ReadInfo;
  /** Name of the Compose project: images that others use stay. */
  project: string;
  check: (imageId: string, options: CheckOptions) => Promise<Finding>;
  /** Ids of the image that the registry offers under this name now, see `LayersAnswer`; empty when it offers none. */
  findOffered: (reference: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Removes what pulls that a power cut ended hold in containerd. */
  dropLeases: () => Promise<number>;
  /** Called between checks: each may take long. */
  alive: () => void;
};

/**
 * Removes those of the images that the engine lists but cannot read, so that they are fetched again.
 * @returns the references that were removed.
 */
export async function removeUnreadable(
  api: EngineApi,
  project: string,
  references: readonly string[],
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const reference of references) {
    const { status } = await api.call('GET', `/images/${encodeURIComponent(reference)}/json`);
    if (status < 500 || (await removeImage(api, project, reference, true)) !== 'removed') continue;
    removed.push(reference);
  }
  return removed;
}

/**
 * Removes damaged images that only this project uses, then the layers that nothing uses. Each pull would reuse the damaged layers of both.
 * Pinned images stay: they are those of the installed and the previous release.
 * @param named references that the project names; each stays when its registry does not offer it. An image that a pull completed without its name counts too.
 * @param fetched ids of images that earlier pulls left.
 * @throws StationError `unavailable` when the engine cannot be reached.
 */
export async function repairStorage(
  parts: RepairParts,
  { named, fetched }: { named: readonly string[]; fetched: readonly string[] },
  signal: AbortSignal,
): Promise<Repaired> {
  const { api, info, project, findOffered, alive } = parts;
  const known = new Set((await listPins(api, project)).map(({ ImageID }) => ImageID));
  const candidates: string[] = [];
  for (const reference of named) {
    const offered = await findOffered(reference, signal);
    // By its id too: a power cut right after a pull may have lost the name of the image.
    if (offered.length > 0) candidates.push(reference, ...offered);
  }
  const images: string[] = [];
  for (const reference of [...candidates, ...fetched]) {
    alive();
    if (!(await isDamaged(parts, reference, known, signal))) continue;
    if ((await removeImage(api, project, reference, true)) === 'removed') images.push(reference);
  }
  alive();
  return { images, layers: (await removeLooseLayers(api, info)) + (await parts.dropLeases()) };
}

const Inspected = Type.Object({ Id: Type.String() });

/** @param known ids of images that need no check: pinned ones, and those that were checked before. */
async function isDamaged(
  { api, check }: RepairParts,
  reference: string,
  known: Set<string>,
  signal: AbortSignal,
): Promise<boolean> {
  if (known.has(reference)) return false;
  const { status, body } = await api.call('GET', `/images/${encodeURIComponent(reference)}/json`);
  if (status >= 500) return true;
  if (status !== 200 || !Value.Check(Inspected, body) || known.has(body.Id)) return false;
  known.add(body.Id);
  const isDamagedNow = async (): Promise<boolean> =>
    (await check(body.Id, { isIdle: false, signal })).kind === 'damaged';
  // Twice, because an engine that stops half-way looks like a damaged image.
  return (await isDamagedNow()) && (await isDamagedNow());
}
