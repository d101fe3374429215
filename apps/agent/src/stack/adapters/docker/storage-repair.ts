import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ImageCondition } from '../../stack-ports.ts';
import { listPins } from './containers.ts';
import type { EngineApi, ReadInfo } from './engine-api.ts';
import { removeImage } from './images.ts';
import { removeLooseLayers } from './loose-layers.ts';

/** References or ids of the removed images, and how many layers without an image were removed. */
export type Repaired = { images: string[]; layers: number };

export type RepairParts = {
  api: EngineApi;
  info: ReadInfo;
  /** Name of the Compose project: images that others use stay. */
  project: string;
  verify: (imageId: string, signal: AbortSignal) => Promise<ImageCondition>;
  /** Id of the image that the registry offers under this name now; null when it offers none. */
  findOffered: (reference: string, signal: AbortSignal) => Promise<string | null>;
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
    if (offered !== null) candidates.push(reference, offered);
  }
  const images: string[] = [];
  for (const reference of [...candidates, ...fetched]) {
    alive();
    if (!(await isDamaged(parts, reference, known, signal))) continue;
    if ((await removeImage(api, project, reference, true)) === 'removed') images.push(reference);
  }
  alive();
  return { images, layers: await removeLooseLayers(api, info) };
}

const Inspected = Type.Object({
  Id: Type.String(),
  GraphDriver: Type.Optional(
    Type.Object({ Name: Type.String(), Data: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]) }),
  ),
});

/** @param known ids of images that need no check: pinned ones, and those that were checked before. */
async function isDamaged(
  { api, verify }: RepairParts,
  reference: string,
  known: Set<string>,
  signal: AbortSignal,
): Promise<boolean> {
  if (known.has(reference)) return false;
  const { status, body } = await api.call('GET', `/images/${encodeURIComponent(reference)}/json`);
  if (status >= 500) return true;
  if (status !== 200 || !Value.Check(Inspected, body) || known.has(body.Id)) return false;
  known.add(body.Id);
  if (await lacksLink(body.GraphDriver)) return true;
  // Twice, because an engine that stops half-way looks like a damaged image.
  return (await verify(body.Id, signal)) === 'damaged' && (await verify(body.Id, signal)) === 'damaged';
}

/**
 * Whether a layer has lost the file that names it to the layers above (overlay2: `link`, 26 characters). Such an image can be inspected and
 * exported, but no other image can be stored on that layer.
 */
async function lacksLink(driver: { Name: string; Data: Record<string, string> | null } | undefined): Promise<boolean> {
  if (driver?.Name !== 'overlay2') return false;
  const { UpperDir, LowerDir } = driver.Data ?? {};
  const folders = [UpperDir, ...(LowerDir?.split(':') ?? [])].filter((folder) => folder !== undefined);
  for (const folder of folders) {
    const link = await stat(join(dirname(folder), 'link')).catch(() => null);
    if (link?.size === 0) return true;
  }
  return false;
}
