import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { overrideFile, stateFiles } from '@station/agent/stack/state-files';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import { parse } from 'yaml';
import { survival } from './choice.ts';
import { copyDisk, cutDisk, emptyDisk, flushDisk, isDiskOpen, readNow, type DiskState } from './simulated-disk.ts';
import { copyStorage, isStorageOpen } from './engine-storage.ts';
import {
  copyEngine,
  cutEngine,
  emptyEngine,
  orphanUp,
  type Behaviour,
  type Catalogue,
  type Desired,
  type EngineState,
  type PublishedImage,
} from './engine-state.ts';
import { pass, type WorldTime } from './virtual-clock.ts';

/** A station's machine, with or without a running agent. */
export type World = {
  time: WorldTime;
  disk: DiskState;
  engine: EngineState;
  /** Number of the machine's boot. */
  boot: number;
  /** Operation ids handed out so far. */
  ids: number;
};

export const dataDir = '/data';
const projectFile = '/station/docker-compose.yml';
export const services = ['backend', 'frontend'] as const;
const mqttImage = 'registry.test/station/mqtt:2';

export type ReleaseDefinition = {
  version: string;
  behaviour?: Behaviour;
  /** Behaviour of the frontend's container. */
  frontend?: Behaviour;
  /**
   * Behaviour of the broker, when the release also names it. It uses the tag of the compose file, so publishing moves
   * the tag.
   */
  mqtt?: Behaviour;
  /** The registry does not have it. */
  missing?: boolean;
  /** Version whose frontend image this release uses too. */
  frontendOf?: string;
};

export const reference = (service: string, version: string): string => `registry.test/station/${service}:${version}`;

export function imageIdOf(service: string, version: string): string {
  return `sha256:${createHash('sha256').update(`${service} ${version}`).digest('hex')}`;
}

export function createCatalogue(releases: readonly ReleaseDefinition[]): Catalogue {
  const published = new Map<string, PublishedImage>([[mqttImage, publish('mqtt', '2')]]);
  const behaviours = new Map<string, Behaviour>();
  for (const { version, behaviour, frontend, mqtt, missing, frontendOf } of releases) {
    if (behaviour) behaviours.set(imageIdOf('backend', version), behaviour);
    if (frontend) behaviours.set(imageIdOf('frontend', version), frontend);
    if (mqtt) behaviours.set(imageIdOf('mqtt', version), mqtt);
    if (missing) continue;
    if (mqtt) published.set(mqttImage, publish('mqtt', version));
    published.set(reference('backend', version), publish('backend', version));
    published.set(reference('frontend', version), publish('frontend', frontendOf ?? version));
  }
  for (const image of [...published.values()]) published.set(image.digest, image);
  return { published, behaviours };
}

const publish = (service: string, version: string): PublishedImage => {
  const id = imageIdOf(service, version);
  const digest = createHash('sha256').update(`manifest of ${id}`).digest('hex');
  return { id, digest: `registry.test/station/${service}@sha256:${digest}` };
};

export function manifestOf({ engine }: World, version: string): ReleaseManifest {
  const images = Object.fromEntries(services.map((service) => [service, reference(service, version)]));
  if (engine.catalogue.published.get(mqttImage)?.id === imageIdOf('mqtt', version)) images['mqtt'] = mqttImage;
  return { version, images, notes: null, releasedAt: null, minAgentVersion: null, rollout: 100, nextPublicKey: null };
}

/**
 * A machine with Docker and the stack's compose file, as the installer leaves it: no container, no state of an agent.
 * @param baseVersion version whose images the compose file names.
 */
export function createWorld(catalogue: Catalogue, baseVersion: string): World {
  const world: World = {
    time: { monotonicMs: 1_000_000, wallMs: Date.parse('2026-06-01T03:00:00.000Z') },
    disk: emptyDisk(),
    engine: emptyEngine(catalogue),
    boot: 1,
    ids: 0,
  };
  const images = {
    mqtt: mqttImage,
    backend: reference('backend', baseVersion),
    frontend: reference('frontend', baseVersion),
  };
  const project = Object.entries(images).map(([service, image]) => `  ${service}:\n    image: ${image}\n`);
  putFile(world.disk, '/station', null);
  putFile(world.disk, projectFile, `services:\n${project.join('')}`);
  addImage(world, mqttImage);
  flushWorld(world);
  return world;
}

/** Puts an image on the machine. */
export function addImage(world: World, name: string): void {
  const image = world.engine.catalogue.published.get(name);
  if (!image) throw new Error(`${name} is not published`);
  const { live } = world.engine;
  live.images.set(image.id, { references: [name, image.digest] });
  live.layers.set(image.id, { condition: 'whole', serial: world.engine.nextSerial++ });
}

/** Makes a file unreadable. */
function putBadSector(disk: DiskState, path: string): void {
  const id = disk.nextInode++;
  disk.inodes.set(id, { kind: 'unreadable' });
  disk.names.set(path, id);
}

/** Puts a file (or a directory, with null) on the disk, durably. */
export function putFile(disk: DiskState, path: string, content: string | Uint8Array | null): void {
  const id = disk.nextInode++;
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  disk.inodes.set(id, bytes === null ? { kind: 'directory' } : { kind: 'file', content: bytes, earlier: null });
  disk.names.set(path, id);
}

export function readFileNow(world: World, name: string): string | null {
  const bytes = readNow(world.disk, join(dataDir, name));
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

export const copyWorld = (world: World): World => ({
  ...world,
  time: { ...world.time },
  disk: copyDisk(world.disk),
  engine: copyEngine(world.engine),
});

/** Time without work passes: the kernel has written everything to disk. */
export function flushWorld(world: World): void {
  flushDisk(world.disk);
  world.engine.durable = copyStorage(world.engine.live);
}

export const bootId = (world: World): string => `boot-${world.boot}`;

/** True when the survival variants of a power cut could differ. */
export const isOpen = (world: World): boolean =>
  isDiskOpen(world.disk) || isStorageOpen(world.engine.live, world.engine.durable);

const bootMs = 30_000;

/** Cuts the power and boots again. Some stations have no real-time clock: their clock starts in the past. */
export function cutPower(world: World, variant: number): void {
  const choose = survival(variant);
  world.boot += 1;
  pass(world.time, bootMs);
  cutDisk(world.disk, choose);
  cutEngine(world.engine, choose, world.time.monotonicMs);
  if (choose('engine', 2) === 1) world.time.wallMs = Date.parse('2026-01-01T00:00:00.000Z');
}

/** Kills only the agent. With `orphan`, an `up` in progress completes without it. */
export function killAgent(world: World, orphan: boolean): void {
  if (orphan) orphanUp(world.engine, readProject(world), world.time.monotonicMs);
  pass(world.time, 2000);
}

const parsed = new Map<string, unknown>();

/** The project as Compose reads it: the stack's own file, then the agent's override; null when one of them is not readable. */
export function readProject(world: World): Desired {
  const desired = new Map<string, string>();
  for (const path of [projectFile, join(dataDir, stateFiles.updateOverride)]) {
    const images = readImages(readNow(world.disk, path));
    if (!images) return null;
    for (const [service, image] of images) desired.set(service, image);
  }
  return desired;
}

/** Images that one compose file names. */
export function readImages(bytes: Uint8Array | null): Map<string, string> | null {
  if (bytes === null) return null;
  const text = new TextDecoder().decode(bytes);
  if (!parsed.has(text)) parsed.set(text, parseYaml(text));
  const project = parsed.get(text);
  if (typeof project !== 'object' || project === null || !('services' in project)) return null;
  const found = new Map<string, string>();
  for (const [service, entry] of Object.entries((project.services ?? {}) as Record<string, { image?: unknown }>)) {
    if (typeof entry.image === 'string') found.set(service, entry.image);
  }
  return found;
}

function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

const damageModes = 5;
/** Number of different damages of `damageStateFile`. */
export const damages = damageModes * (1 + Object.keys(stateFiles).length);

/** Damages a state file as a worn card or a person could; the agent itself never does. */
export function damageStateFile(world: World, variant: number): void {
  const names = ['journal.json', ...Object.values(stateFiles)];
  const name = names[variant % names.length] as string;
  const path = join(dataDir, name);
  const found = readNow(world.disk, path);
  if (!found) return;
  const mode = Math.floor(variant / names.length) % damageModes;
  if (mode === 0) world.disk.names.delete(path);
  else if (mode === 1) putFile(world.disk, path, '');
  else if (mode === 2) putFile(world.disk, path, found.subarray(0, Math.floor(found.length / 2)));
  else if (mode === 3) putBadSector(world.disk, path);
  else
    putFile(
      world.disk,
      path,
      found.map((byte, index) => (index % 7 === 0 ? byte ^ 0x41 : byte)),
    );
}

/** State files of an agent that follows the specification but keeps no journal. */
export function putOlderState(world: World, current: string, earlier: string): void {
  const images = { backend: reference('backend', earlier), frontend: reference('frontend', earlier) };
  putFile(world.disk, dataDir, null);
  putFile(world.disk, join(dataDir, stateFiles.currentVersion), `${current}\n`);
  putFile(world.disk, join(dataDir, stateFiles.rollback), JSON.stringify({ version: earlier, images }));
  putFile(world.disk, join(dataDir, stateFiles.updateOverride), overrideFile(null));
}
