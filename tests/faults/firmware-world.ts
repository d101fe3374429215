import { basename, join } from 'node:path';
import type { CacheDisk, OpenDownload, OtaBackend } from '@station/agent/firmware/firmware-ports';
import type { FirmwareManifestReading } from '@station/protocol/firmware-manifest';
import { readFirmwareManifest } from '@station/protocol/firmware-manifest';
import { buildImage, checksumOfFile } from '@station/simulators/firmware/image-builder';
import { survival } from './choice.ts';
import type { SimulatedProcess } from './process.ts';
import {
  appendFile,
  copyDisk,
  createSimulatedDisk,
  cutDisk,
  emptyDisk,
  readNow,
  systemError,
  truncateFile,
  type DiskFault,
  type DiskState,
} from './simulated-disk.ts';
import { pass, type WorldTime } from './virtual-clock.ts';

/** The surroundings of the agent's firmware duty: a disk, a firmware server, a backend with its records. */
export type FirmwareWorld = {
  time: WorldTime;
  disk: DiskState;
  boot: number;
  /** Name → version that the server offers. */
  offered: Record<string, string>;
  /** Bytes of files that the server has sent. */
  sentBytes: number;
  /** Type → version that the backend knows to be cached. */
  cached: Record<string, string>;
  /** Type → versions that devices report. */
  installed: Record<string, string[]>;
  /** Capacity of the disk in bytes; null: unlimited. */
  capacity: number | null;
};

export const cacheDir = '/firmware-cache';
export const dataDir = '/data';
export const maxBytes = 2 ** 20;
const manifestUrl = 'https://releases.test/firmware/manifest.json';
const chunkBytes = 4096;

const images = new Map<string, Uint8Array>();

/** The image of a name and version: always the same. */
export function imageOf(name: string, version: string, bytes = imageBytes): Uint8Array {
  const key = `${name}@${version} ${bytes}`;
  const image = images.get(key) ?? buildImage({ project: name, version, bytes });
  images.set(key, image);
  return image;
}

let imageBytes = 40_000;

/** Size of the images from now on. */
export const setImageBytes = (bytes: number): void => void (imageBytes = bytes);

export function createFirmwareWorld(offered: Record<string, string>): FirmwareWorld {
  return {
    time: { monotonicMs: 1_000_000, wallMs: Date.parse('2026-06-01T03:00:00.000Z') },
    disk: emptyDisk(),
    boot: 1,
    offered,
    sentBytes: 0,
    cached: {},
    installed: {},
    capacity: null,
  };
}

/** A copy of the world. */
export const copyFirmwareWorld = (world: FirmwareWorld): FirmwareWorld => ({
  ...world,
  time: { ...world.time },
  disk: copyDisk(world.disk),
  offered: { ...world.offered },
  cached: { ...world.cached },
  installed: { ...world.installed },
});

/** Cuts the power and boots again. */
export function cutFirmwarePower(world: FirmwareWorld, variant: number): void {
  cutDisk(world.disk, survival(variant));
  world.boot += 1;
  pass(world.time, 20_000);
}

export const bootOf = (world: FirmwareWorld): string => `boot-${world.boot}`;

export function manifestOf(world: FirmwareWorld): FirmwareManifestReading {
  const body = Object.entries(world.offered).map(([name, version]) => {
    const checksum = checksumOfFile(imageOf(name, version));
    return [name, { version, file: `${name}-${version}.bin`, checksum }];
  });
  const bytes = Buffer.from(JSON.stringify(Object.fromEntries(body)));
  return readFirmwareManifest(bytes, { manifestUrl, maxBytes });
}

/** A disk of limited capacity: it writes the bytes that fit, then fails. */
export function createCacheDisk(world: FirmwareWorld, process: SimulatedProcess, fault: DiskFault): CacheDisk {
  const { disk: state } = world;
  const disk = createSimulatedDisk(state, process, fault);
  const free = (): number => (world.capacity === null ? Infinity : Math.max(0, world.capacity - usedBytes(state)));
  const act = (operation: string, path: string): void => {
    process.point(`disk.${operation} ${basename(path)}`);
    const found = fault(operation, path);
    if (found) throw found;
  };
  const orFull = (path: string, bytes: Uint8Array, room: number, write: (part: Uint8Array) => void): void => {
    write(bytes.subarray(0, Math.min(bytes.length, room)));
    if (room < bytes.length) throw systemError('ENOSPC', 'write', path);
  };
  return {
    ...disk,
    write: async (path, bytes, mode) => {
      const room = free() + (readNow(state, path)?.length ?? 0);
      if (bytes.length > room) {
        await disk.write(path, bytes.subarray(0, room), mode);
        throw systemError('ENOSPC', 'write', path);
      }
      await disk.write(path, bytes, mode);
    },
    append: async (path, bytes) => {
      act('append', path);
      orFull(path, bytes, free(), (part) => appendFile(state, path, part));
    },
    truncate: async (path, size) => {
      act('truncate', path);
      truncateFile(state, path, size);
    },
    size: async (path) => (process.alive(), readNow(state, path)?.length ?? null),
    setMode: async (path) => act('setMode', path),
    // The free space may change at any time, because other programs write too.
    freeBytes: async () => null,
  };
}

const usedBytes = (state: DiskState): number =>
  [...new Set(state.names.values())].reduce((sum, id) => {
    const inode = state.inodes.get(id);
    return sum + (inode?.kind === 'file' ? inode.content.length : 0);
  }, 0);

/** The firmware server: it sends small pieces and supports ranges. */
export function createServer(world: FirmwareWorld, process: SimulatedProcess): OpenDownload {
  return async (url, { offset, etag }) => {
    process.point('server.open');
    const [name = '', version = ''] = basename(url.pathname, '.bin').split(/-(?=\d)/);
    const image = imageOf(name, version);
    const tag = `"${checksumOfFile(image)}"`;
    const first = etag === null || etag === tag ? offset : 0;
    if (first > image.length) return { kind: 'past_end' };
    const body = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = first; at < image.length; at += chunkBytes) {
        process.point('server.chunk');
        const chunk = image.subarray(at, at + chunkBytes);
        world.sentBytes += chunk.length;
        yield chunk;
      }
    };
    return { kind: 'ok', offset: first, totalBytes: image.length, etag: tag, body: body() };
  };
}

export function createBackend(world: FirmwareWorld, process: SimulatedProcess): OtaBackend {
  return {
    deviceTypes: async () => {
      process.point('backend.deviceTypes');
      const types = [...new Set([...Object.keys(world.cached), ...Object.keys(world.installed)])];
      const describe = (type: string) => ({
        type,
        installed: world.installed[type] ?? [],
        cached: world.cached[type] ?? null,
      });
      return { kind: 'ok', types: types.map(describe) };
    },
    firmwareReady: async ({ name, version, file, checksum }) => {
      process.point('backend.firmwareReady');
      // The backend offers a reported file immediately, so the file must exist and be complete.
      const served = readNow(world.disk, join(cacheDir, file));
      if (served === null || checksumOfFile(served) !== checksum) throw new Error('handed over a missing file');
      world.cached[name] = version;
      return { kind: 'ok' };
    },
    announceTypes: async () => ({ kind: 'ok' }),
  };
}
