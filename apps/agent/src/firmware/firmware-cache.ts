import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { join } from 'node:path';
import { makeDirectoryDurable, readText, writeDurable } from '@station/kit/durable-files';
import { parseJson } from '@station/kit/json';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import { firmwareFileName, isFirmwareName, parseFirmwareFileName } from '@station/protocol/firmware';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { CachedFile, CachedFirmware } from './firmware-decide.ts';
import { clearPath, lostReason, type TolerantRead } from './unreadable-files.ts';
import type { CacheDisk } from './firmware-ports.ts';
import type { ImageFacts } from './image-decide.ts';

/** Others read the cache: the proxy, which serves it to devices, runs as another user. */
const directoryMode = 0o755;
const fileMode = 0o644;

/** `<firmware_name>.json` (specification, "Firmware cache"; contracts, section 2). */
const Metadata = Type.Object({
  version: Type.String(),
  file: Type.String(),
  checksum: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
  size: Type.Integer({ minimum: 1 }),
  downloadedAt: Type.String(),
  chip: Type.Optional(Type.String()),
  project: Type.Optional(Type.String()),
  minVersion: Type.Optional(Type.String()),
});

export type CacheContents = {
  items: CachedFirmware[];
  files: CachedFile[];
  /** Invalid metadata and the reason; `isLost`: it cannot be read at all. */
  damaged: { file: string; reason: string; isLost: boolean }[];
};

/**
 * The firmware cache in its folder, with the specification's file names. A `.bin` gets its name only when it is complete, verified
 * and on disk; metadata follows it.
 */
export type Cache = {
  /** The items of the cache. Unreadable metadata is left out and reported. */
  read(): Promise<CacheContents>;
  /** How the file of an item differs from its metadata, checked over all bytes; null when it matches. */
  faultOf(item: CachedFirmware): Promise<string | null>;
  /**
   * A complete file under its name without metadata: left by a crash between the two writes. Null when there is none that fits; `lost`
   * when there is one that cannot be read.
   */
  findComplete(entry: FirmwareEntry): Promise<Uint8Array | 'lost' | null>;
  /** Publishes a verified file (`from`; null when it already has its name) to devices. Resolved means on disk. */
  publish(
    entry: FirmwareEntry,
    file: { from: string | null; size: number; facts: ImageFacts; now: string },
  ): Promise<CachedFirmware>;
  /** Removes a damaged firmware from the cache, its metadata first. */
  withdraw(item: CachedFirmware): Promise<void>;
  removeFile(file: CachedFile): Promise<void>;
  /** Removes metadata that cannot be read. */
  removeMetadata(file: string): Promise<void>;
  /** Makes the folder when there is none. */
  prepare(): Promise<void>;
};

export type CacheParts = {
  disk: CacheDisk;
  directory: string;
  /** URL path under which the reverse proxy serves the directory (FIRMWARE_FOLDER). */
  folder: string;
  /** With files that the disk does not give out. */
  tolerantRead: TolerantRead;
};

export function createCache(parts: CacheParts): Cache {
  const { disk, directory, folder, tolerantRead } = parts;
  const pathOf = (file: string): string => join(directory, file);
  const metadataPath = (name: string): string => pathOf(`${name}.json`);
  return {
    prepare: () => makeDirectoryDurable(disk, directory, directoryMode),
    read: () => readCache(parts),
    faultOf: async ({ file, checksum }) => {
      const reading = await tolerantRead(pathOf(file), () => disk.read(pathOf(file)));
      if (reading.kind === 'lost') return lostReason;
      const isWhole = reading.value !== null && checksumOf(reading.value) === checksum;
      return isWhole ? null : 'its checksum does not match';
    },
    findComplete: async ({ name, version, checksum }) => {
      const path = pathOf(firmwareFileName(name, version));
      const reading = await tolerantRead(path, () => disk.read(path));
      if (reading.kind === 'lost') return 'lost';
      return reading.value !== null && checksumOf(reading.value) === checksum ? reading.value : null;
    },
    publish: async (entry, { from, size, facts: { chip, project }, now }) => {
      const { name, version, checksum, minVersion } = entry;
      const file = firmwareFileName(name, version);
      if (from !== null) {
        await disk.setMode(from, fileMode);
        await disk.sync(from);
        await disk.rename(from, pathOf(file));
      } else {
        await disk.setMode(pathOf(file), fileMode);
        await disk.sync(pathOf(file));
      }
      await disk.sync(directory);
      const metadata = {
        version,
        file,
        checksum,
        size,
        downloadedAt: now,
        ...(chip === null ? {} : { chip }),
        ...(project === null ? {} : { project }),
        ...(minVersion === null ? {} : { minVersion }),
      };
      await writeDurable(disk, metadataPath(name), `${JSON.stringify(metadata)}\n`, fileMode);
      const path = `${folder}/${file}`;
      return { name, version, file, path, checksum, size, downloadedAt: now, chip, project, minVersion };
    },
    withdraw: async ({ name, file }) => {
      await clearPath(disk, metadataPath(name));
      await clearPath(disk, pathOf(file));
    },
    removeFile: ({ name, version }) => clearPath(disk, pathOf(firmwareFileName(name, version))),
    removeMetadata: (file) => clearPath(disk, pathOf(file)),
  };
}

async function readCache({ disk, directory, folder, tolerantRead }: CacheParts): Promise<CacheContents> {
  const contents: CacheContents = { items: [], files: [], damaged: [] };
  for (const file of (await disk.list(directory)).sort()) {
    const complete = parseFirmwareFileName(file);
    if (complete) contents.files.push(complete);
    const name = file.endsWith('.json') ? file.slice(0, -'.json'.length) : '';
    if (!isFirmwareName(name)) continue;
    const reading = await tolerantRead(join(directory, file), () => readItem({ disk, directory, folder }, name));
    if (reading.kind === 'lost') contents.damaged.push({ file, reason: lostReason, isLost: true });
    else if (typeof reading.value !== 'string') contents.items.push(reading.value);
    else contents.damaged.push({ file, reason: reading.value, isLost: false });
  }
  return contents;
}

/** The item, or why its metadata is invalid. */
async function readItem(
  { disk, directory, folder }: Omit<CacheParts, 'tolerantRead'>,
  name: string,
): Promise<CachedFirmware | string> {
  const parsed = parseJson((await readText(disk, join(directory, `${name}.json`))) ?? '');
  if (parsed === undefined) return 'not JSON';
  if (!Value.Check(Metadata, parsed)) return 'not metadata of a firmware';
  const { version, file, checksum, size, downloadedAt, chip, project, minVersion } = parsed;
  const named = parseFirmwareFileName(file);
  if (named?.name !== name || named.version !== version) return 'names another file';
  if ((await disk.size(join(directory, file))) !== size) return 'its file is missing or of another size';
  const facts = { chip: chip ?? null, project: project ?? null, minVersion: minVersion ?? null };
  return { name, version, file, path: `${folder}/${file}`, checksum, size, downloadedAt, ...facts };
}

export const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();

/** An ESP8266 has no more flash. */
const unpackedBytes = 16 * 1024 * 1024;

export function gunzip(bytes: Uint8Array): Uint8Array | null {
  try {
    return gunzipSync(bytes, { maxOutputLength: unpackedBytes });
  } catch {
    return null;
  }
}

/** As manifests and metadata write it. */
export const checksumOf = (bytes: Uint8Array): string => `sha256:${Buffer.from(sha256(bytes)).toString('hex')}`;
