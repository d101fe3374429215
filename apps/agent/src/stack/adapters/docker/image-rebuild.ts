import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '@station/kit/clock';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { ownValue } from '@station/protocol/own-value';
import { unlessSilent } from '../../../core/unless-silent.ts';
import {
  type LayersAnswer,
  type PullAnswer,
  type PullProgress,
  type RebuildAnswer,
  type Rebuilding,
  type RebuildResult,
  registrySilent,
} from '../../stack-ports.ts';
import { isPin, ListedContainer, pinLabel, projectLabel, removePin } from './containers.ts';
import { type EngineApi, expectBody, freeBytes, messageOf } from './engine-api.ts';
import { readImageArchive } from './image-archive.ts';
import type { CheckOptions, Finding } from './image-check.ts';
import { removeImage } from './images.ts';
import { decideRebuild, type ImageFact } from './rebuild-decide.ts';

export type RebuildParts = {
  api: EngineApi;
  /** Name of the Compose project: containers of others are left alone. */
  project: string;
  check: (imageId: string, options: CheckOptions) => Promise<Finding>;
  layers: (reference: string, signal: AbortSignal) => Promise<LayersAnswer>;
  pull: (reference: string, onProgress: (progress: PullProgress) => void, signal: AbortSignal) => Promise<PullAnswer>;
  /** Removes what keeps damaged layers although no image has them. */
  dropLeftovers: () => Promise<unknown>;
  sync: () => Promise<void>;
  /** Path of the archive that images are saved to. */
  archivePath: string;
  clock: Clock;
  /** Called at each sign of progress. */
  alive: () => void;
};

const Inspected = Type.Object({
  Size: Type.Number(),
  RepoTags: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  RootFS: Type.Object({ Layers: Type.Array(Type.String()) }),
});
const Listed = Type.Array(Type.Object({ Id: Type.String() }));

/** Space to keep free beside an archive of images. */
const reserveBytes = 64 * 1024 * 1024;
const stopGraceSeconds = 10;

/** See `StackEngine.planRebuild`. */
export async function planRebuild(
  parts: RebuildParts,
  damaged: readonly string[],
  references: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<RebuildAnswer> {
  const facts = await collectFacts(parts, damaged, references, signal);
  const free = await freeBytes(dirname(parts.archivePath));
  let plan = await decideRebuild(facts, (free ?? 0) - reserveBytes);
  if (plan.saved.length > 0 && !(await saveImages(parts, plan.saved, signal))) {
    const unsaved = facts.map((fact) => ({ ...fact, damage: fact.damage && { ...fact.damage, archiveBytes: null } }));
    plan = await decideRebuild(unsaved, 0);
  }
  const { saved, pulled, refused } = plan;
  const wanted = [...saved, ...pulled].map((id) => [id, ownValue(references, id) ?? id] as const);
  return { rebuilding: wanted.length === 0 ? null : { saved, references: Object.fromEntries(wanted) }, refused };
}

/** Damaged images are read a second time: an engine that stops half-way looks like a damaged image. */
async function collectFacts(
  parts: RebuildParts,
  damaged: readonly string[],
  references: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ImageFact[]> {
  const { api, check } = parts;
  const users = await listContainers(parts);
  // One image without a configuration makes containerd's store refuse the whole list.
  const listed = await api.call('GET', '/images/json');
  const ids = new Set([
    ...damaged,
    ...Object.keys(references),
    ...users.map(({ ImageID }) => ImageID),
    ...(Value.Check(Listed, listed.body) ? listed.body.map(({ Id }) => Id) : []),
  ]);
  const facts: ImageFact[] = [];
  for (const id of ids) {
    const finding = damaged.includes(id) ? await check(id, { isIdle: false, signal }) : null;
    const { status, body } = await api.call('GET', `/images/${encodeURIComponent(id)}/json`);
    if (status === 404 && finding === null) continue;
    const inspected = Value.Check(Inspected, body) ? body : null;
    const damage = finding?.kind === 'absent' ? { archiveBytes: null, layer: null } : finding;
    const reference = ownValue(references, id);
    facts.push({
      id,
      layers: inspected?.RootFS.Layers ?? null,
      damage: damage !== null && 'layer' in damage ? damage : null,
      size: inspected?.Size ?? 0,
      isOurs: reference !== undefined,
      isUsedByOthers: users.some((user) => user.ImageID === id && !isOfProject(parts, user)),
      isOffered: async () => reference !== undefined && isOffered(parts, id, reference, signal),
    });
  }
  return facts;
}

type User = Awaited<ReturnType<typeof listContainers>>[number];

async function listContainers({ api }: Pick<RebuildParts, 'api'>) {
  const answer = await api.call('GET', '/containers/json', { query: { all: 'true' } });
  return expectBody(answer, Type.Array(ListedContainer), 'GET /containers/json');
}

const isOfProject = ({ project }: RebuildParts, { Labels }: User): boolean =>
  Labels[pinLabel] === project || Labels[projectLabel] === project;

/** A registry that only the engine reaches is asked by a pull. */
async function isOffered(parts: RebuildParts, id: string, reference: string, signal: AbortSignal): Promise<boolean> {
  const answer = await parts.layers(reference, signal);
  parts.alive();
  if (answer.kind === 'ok') return answer.imageIds.includes(id);
  if (answer.kind === 'failed') return false;
  const pulled = await pullWatched(parts, reference, signal);
  return pulled.kind === 'broken' || (pulled.kind === 'ok' && pulled.imageId === id);
}

async function pullWatched(parts: RebuildParts, reference: string, signal: AbortSignal): Promise<PullAnswer> {
  const { clock, alive: onProgress } = parts;
  const answer = await unlessSilent<PullProgress, PullAnswer>(
    (onPull, bounded) => parts.pull(reference, onPull, bounded),
    { clock, signal, onProgress },
  );
  return answer === 'silent' ? registrySilent : answer;
}

/** Saves images under all their names, durably. @returns false when what was saved is not whole. */
async function saveImages(parts: RebuildParts, ids: readonly string[], signal: AbortSignal): Promise<boolean> {
  const { api, archivePath, alive } = parts;
  const names: string[] = [];
  for (const id of ids) {
    const { body } = await api.call('GET', `/images/${encodeURIComponent(id)}/json`);
    const tags = Value.Check(Inspected, body) ? (body.RepoTags ?? []) : [];
    names.push(...(tags.length > 0 ? tags : [id]));
  }
  try {
    const query = new URLSearchParams(names.map((name) => ['names', name]));
    let status: number;
    {
      // First: what the engine sends would stay unread beside a file that cannot be opened.
      await using file = await open(archivePath, 'w', 0o600);
      const answer = await api.stream(`/images/get?${query.toString()}`, signal);
      status = answer.status;
      for await (const piece of answer.content) {
        alive();
        await file.write(piece);
      }
      await file.sync();
    }
    await using folder = await open(dirname(archivePath));
    await folder.sync();
    return status === 200 && (await isArchiveWhole(parts, ids));
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

async function isArchiveWhole({ archivePath }: RebuildParts, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return false;
  const archive = await readImageArchive(createReadStream(archivePath), { withFiles: false }).catch(() => null);
  return archive !== null && archive.images.length >= ids.length;
}

/** See `StackEngine.rebuildImages`. Each part can be repeated: it goes on after a power cut. */
export async function rebuildImages(
  parts: RebuildParts,
  rebuilding: Rebuilding,
  signal: AbortSignal,
): Promise<RebuildResult> {
  const { alive, sync, dropLeftovers } = parts;
  const { references } = rebuilding;
  const images = Object.entries(references);
  // Nothing is removed before it is certain where it comes from.
  const saved = (await isArchiveWhole(parts, rebuilding.saved)) ? rebuilding.saved : [];
  for (const [id, reference] of images) {
    if (saved.includes(id) || (await isOffered(parts, id, reference, signal))) continue;
    return { kind: 'failed', reason: 'needs_registry' };
  }
  if (!(await removeAll(parts, Object.keys(references)))) return { kind: 'failed', reason: 'in_use' };
  alive();
  await dropLeftovers();
  if (saved.length > 0) await loadImages(parts, signal);
  for (const [id, reference] of images) {
    const { status } = await parts.api.call('GET', `/images/${encodeURIComponent(id)}/json`);
    if (status !== 200) await pullWatched(parts, reference, signal);
    alive();
  }
  await sync();
  for (const id of Object.keys(references)) {
    const { kind } = await parts.check(id, { isIdle: false, signal });
    if (kind === 'absent') return { kind: 'failed', reason: 'needs_registry' };
    if (kind === 'damaged') return { kind: 'failed', reason: 'stays_damaged' };
  }
  return { kind: 'rebuilt' };
}

/** Removes the containers of the stack on these images, then the images. Volumes stay. @returns whether nothing is left. */
async function removeAll(parts: RebuildParts, ids: readonly string[]): Promise<boolean> {
  const { api, project, alive } = parts;
  const users = (await listContainers(parts)).filter(({ ImageID }) => ids.includes(ImageID));
  if (users.some((user) => !isOfProject(parts, user))) return false;
  for (const user of users) {
    alive();
    if (isPin(user, project)) {
      await removePin(api, user.Id);
      continue;
    }
    await api.call('POST', `/containers/${user.Id}/stop`, { query: { t: String(stopGraceSeconds) } });
    await api.call('DELETE', `/containers/${user.Id}`, { query: { force: 'true' } });
  }
  let isGone = true;
  for (const id of ids) if ((await removeImage(api, project, id, true)) === 'in_use') isGone = false;
  return isGone;
}

/** What cannot be loaded is pulled; the check afterwards tells. */
async function loadImages({ api, archivePath, alive }: RebuildParts, signal: AbortSignal): Promise<void> {
  const archive = createReadStream(archivePath);
  const { status, body } = await api.lines('POST', '/images/load', alive, {
    query: { quiet: 'true' },
    archive,
    signal,
  });
  if (status !== 200) throw new Error(messageOf(body));
}
