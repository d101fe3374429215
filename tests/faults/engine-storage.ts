import type { Choose } from './choice.ts';

/**
 * The data that a container engine keeps on disk. Entries are replaced, never changed, so copying the maps is a
 * complete copy.
 */
export type EngineStorage = {
  /** Image id → its names. The record of an image, without its content. */
  images: Map<string, { references: readonly string[] }>;
  /** Image id → its unpacked content. It outlives the record as long as a container uses it. */
  layers: Map<string, Layers>;
  /** Ids of the pinned images. */
  pins: Set<string>;
  containers: Map<string, StoredContainer>;
};

/** `unusable`: no container can be created from it; `damaged`: its container crashes. Only a power cut causes either. */
export type LayerCondition = 'whole' | 'damaged' | 'unusable';
/** `serial` distinguishes the content of an image from the same image pulled again. */
type Layers = { condition: LayerCondition; serial: number };

export type StoredContainer = {
  id: string;
  service: string;
  /** Name of the image in the container's configuration. */
  image: string;
  imageId: string;
  status: 'created' | 'started' | 'exited';
  /** Monotonic milliseconds of the last start. */
  sinceMs: number;
  exitCode: number;
};

export const emptyStorage = (): EngineStorage => ({
  images: new Map(),
  layers: new Map(),
  pins: new Set(),
  containers: new Map(),
});

export const copyStorage = (storage: EngineStorage): EngineStorage => ({
  images: new Map(storage.images),
  layers: new Map(storage.layers),
  pins: new Set(storage.pins),
  containers: new Map(storage.containers),
});

/** True when a power cut now could leave more than one state. */
export function isStorageOpen(live: EngineStorage, durable: EngineStorage): boolean {
  const differs = <T>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>): boolean =>
    a.size !== b.size || [...a].some(([key, value]) => b.get(key) !== value);
  const pins = live.pins.size !== durable.pins.size || [...live.pins].some((id) => !durable.pins.has(id));
  return (
    pins ||
    differs(live.images, durable.images) ||
    differs(live.layers, durable.layers) ||
    differs(live.containers, durable.containers)
  );
}

/**
 * The state after a power cut and a boot at `nowMs`. Unsynced content may be present, missing or damaged; containers
 * that are durably known as started run again, others do not.
 */
export function cutStorage(live: EngineStorage, durable: EngineStorage, choose: Choose, nowMs: number): EngineStorage {
  const found = emptyStorage();
  for (const id of keysOf(live.images, durable.images)) {
    const kept = pick(choose, 'name', [durable.images.get(id) ?? null, live.images.get(id) ?? null]);
    if (kept) found.images.set(id, kept);
  }
  for (const id of keysOf(live.layers, durable.layers)) {
    const kept = pick(choose, 'image', survivingLayers(live.layers.get(id), durable.layers.get(id)));
    if (kept) found.layers.set(id, kept);
  }
  for (const id of new Set([...live.pins, ...durable.pins])) {
    if (pick(choose, 'pin', [durable.pins.has(id), live.pins.has(id)])) found.pins.add(id);
  }
  for (const id of keysOf(live.containers, durable.containers)) {
    const kept = pick(choose, 'container', survivingContainers(live.containers.get(id), durable.containers.get(id)));
    if (kept) found.containers.set(id, restarted(kept, found, nowMs));
  }
  return found;
}

/** Removes content without an image or container. */
export function collectLayers(storage: EngineStorage): void {
  const used = new Set([...storage.pins, ...[...storage.containers.values()].map((one) => one.imageId)]);
  for (const id of [...storage.layers.keys()]) {
    if (!storage.images.has(id) && !used.has(id)) storage.layers.delete(id);
  }
}

function survivingLayers(live: Layers | undefined, durable: Layers | undefined): (Layers | null)[] {
  if (live && durable && live.serial === durable.serial) return [durable];
  const damaged = (of: Layers): Layers[] => [
    { ...of, condition: 'unusable' },
    { ...of, condition: 'damaged' },
  ];
  if (live && durable) return [durable, null, ...damaged(live), live];
  if (live) return [null, ...damaged(live), live];
  return durable ? [durable, ...damaged(durable), null] : [null];
}

function survivingContainers(
  live: StoredContainer | undefined,
  durable: StoredContainer | undefined,
): (StoredContainer | null)[] {
  const exited = (one: StoredContainer): StoredContainer => ({ ...one, status: 'exited', exitCode: 137 });
  if (live && live === durable) return [live];
  if (live && durable) return [durable, exited(live), live];
  if (live) return [null, { ...live, status: 'created' }, exited(live), live];
  return durable ? [durable, exited(durable), null] : [null];
}

/** Docker restarts its running containers, except those with a damaged image. */
function restarted(container: StoredContainer, found: EngineStorage, nowMs: number): StoredContainer {
  if (container.status !== 'started') return container;
  const condition = found.layers.get(container.imageId)?.condition ?? 'unusable';
  if (condition === 'unusable') return { ...container, status: 'exited', exitCode: 128 };
  return { ...container, sinceMs: nowMs };
}

function pick<T>(choose: Choose, question: 'name' | 'image' | 'pin' | 'container', candidates: readonly T[]): T {
  const distinct = [...new Set(candidates)];
  return distinct[distinct.length === 1 ? 0 : choose(question, distinct.length)] as T;
}

const keysOf = <T>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>): Set<string> =>
  new Set([...a.keys(), ...b.keys()]);
