import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';
import { parseProcessImage, type ProcessImage } from './process-image.ts';
import { isMissingFile } from './file-faults.ts';

/** An image on this machine. */
export type LocalImage = { id: string; description: ProcessImage; /** Folder with its files. */ files: string };

/** `broken`: it exists, but its description or the size of a file does not match its id. */
type ImageReading = { kind: 'ok'; image: LocalImage } | { kind: 'absent' } | { kind: 'broken' };

/** A temporary folder for an incoming image. */
export type IncomingImage = { folder: string; path(name: string): string };

/**
 * The images on this machine:
 * `images/<id>/image.json` and `images/<id>/files/…`, `references/<reference>` (which id a name stands for), `held/<id>`.
 */
export type ImageStore = {
  ids(): Promise<string[]>;
  /** Reads only the description and the sizes, not the content. */
  read(id: string): Promise<ImageReading>;
  /** Reads the whole image and compares it with its id. */
  verify(id: string, signal: AbortSignal): Promise<boolean>;
  /** The image id of a reference or an id; null when there is no such image. */
  resolve(reference: string): Promise<string | null>;
  /** Path of a local file with that digest and size; null when there is none. */
  findFile(digest: string): Promise<string | null>;
  /** Serialises changes of one image, because two services may have the same image. */
  exclusively<T>(id: string, work: () => Promise<T>): Promise<T>;
  begin(id: string): Promise<IncomingImage>;
  /** Stores a complete image under a name and replaces an existing one. */
  finish(incoming: IncomingImage, image: { id: string; bytes: Uint8Array; reference: string }): Promise<void>;
  abandon(incoming: IncomingImage): Promise<void>;
  remove(id: string): Promise<void>;
  nameImage(reference: string, id: string): Promise<void>;
  held(): Promise<string[]>;
  pinImage(id: string): Promise<void>;
  unpinImage(id: string): Promise<void>;
  freeBytes(): Promise<number>;
  /** Makes all changes since the last call durable. */
  sync(): Promise<void>;
};

const imageIdPattern = /^sha256:([0-9a-f]{64})$/;

/** Opens or creates the store, and removes partial images of an earlier process. */
export async function openImageStore(directory: string): Promise<ImageStore> {
  const folder = (name: string): string => join(directory, name);
  const [images, references, holds, incoming] = ['images', 'references', 'held', 'incoming'].map(folder) as Four;
  await rm(incoming, { recursive: true, force: true });
  for (const path of [images, references, holds, incoming]) await mkdir(path, { recursive: true, mode: 0o700 });
  const unsynced = new Set<string>();
  const exclusively = createTurns();
  const at = (id: string): string => join(images, hexOf(id));
  const namePath = (reference: string): string => join(references, encodeURIComponent(reference));

  const ids = async (): Promise<string[]> =>
    (await nodeDisk.list(images)).map((hex) => `sha256:${hex}`).filter((id) => imageIdPattern.test(id));
  const read = (id: string): Promise<ImageReading> => readImage(id, at(id));
  const nameImage = (reference: string, id: string): Promise<void> => writeDurable(nodeDisk, namePath(reference), id);

  return {
    ids,
    read,
    verify: async (id, signal) => {
      const reading = await read(id);
      if (reading.kind !== 'ok') return false;
      for (const { name, digest } of reading.image.description.files) {
        if ((await hashFile(join(reading.image.files, name), signal)) !== digest) return false;
      }
      return true;
    },
    resolve: async (reference) => {
      const id = imageIdPattern.test(reference) ? reference : await readName(namePath(reference));
      return id !== null && (await read(id)).kind !== 'absent' ? id : null;
    },
    findFile: async (digest) => {
      for (const id of await ids()) {
        const reading = await read(id);
        const file = reading.kind === 'ok' && reading.image.description.files.find((each) => each.digest === digest);
        if (file) return join(at(id), 'files', file.name);
      }
      return null;
    },
    exclusively,
    begin: async (id) => {
      const path = join(incoming, hexOf(id));
      await mkdir(join(path, 'files'), { recursive: true, mode: 0o700 });
      return { folder: path, path: (name) => join(path, 'files', name) };
    },
    finish: async (half, { id, bytes, reference }) => {
      await nodeDisk.write(join(half.folder, 'image.json'), bytes, 0o600);
      await rm(at(id), { recursive: true, force: true });
      await rename(half.folder, at(id));
      const files = (await readdir(join(at(id), 'files'))).map((name) => join(at(id), 'files', name));
      for (const path of [...files, join(at(id), 'files'), join(at(id), 'image.json'), at(id), images])
        unsynced.add(path);
      await nameImage(reference, id);
    },
    abandon: (half) => rm(half.folder, { recursive: true, force: true }),
    remove: (id) =>
      exclusively(id, async () => {
        for (const name of await nodeDisk.list(references)) {
          if ((await readName(join(references, name))) === id) await nodeDisk.remove(join(references, name));
        }
        await nodeDisk.remove(join(holds, hexOf(id)));
        await rm(at(id), { recursive: true, force: true });
        for (const path of [references, holds, images]) unsynced.add(path);
      }),
    nameImage,
    held: async () =>
      (await nodeDisk.list(holds)).filter((name) => !name.startsWith('.')).map((hex) => `sha256:${hex}`),
    pinImage: (id) => exclusively(id, () => writeDurable(nodeDisk, join(holds, hexOf(id)), '')),
    unpinImage: (id) => exclusively(id, () => nodeDisk.remove(join(holds, hexOf(id)))),
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(directory);
      return bavail * bsize;
    },
    sync: async () => {
      for (const path of unsynced) {
        unsynced.delete(path);
        await syncPath(path);
      }
    },
  };
}

/** Serialises the work on each id. Work on different ids runs in parallel. */
function createTurns(): ImageStore['exclusively'] {
  const last = new Map<string, Promise<unknown>>();
  return (id, work) => {
    const turn = (last.get(id) ?? Promise.resolve()).then(work);
    const ended = turn.then(
      () => undefined,
      () => undefined,
    );
    last.set(id, ended);
    void ended.then(() => last.get(id) === ended && last.delete(id));
    return turn;
  };
}

type Four = [string, string, string, string];

const hexOf = (id: string): string => id.slice('sha256:'.length);

async function readImage(id: string, folder: string): Promise<ImageReading> {
  if (!imageIdPattern.test(id)) return { kind: 'absent' };
  const there = await stat(folder).catch(ignoreMissing);
  if (!there) return { kind: 'absent' };
  const bytes = await nodeDisk.read(join(folder, 'image.json'));
  const description = bytes && hashBytes(bytes) === id ? parseProcessImage(bytes) : null;
  if (!description) return { kind: 'broken' };
  for (const { name, size } of description.files) {
    const file = await stat(join(folder, 'files', name)).catch(ignoreMissing);
    if (!file?.isFile() || file.size !== size) return { kind: 'broken' };
  }
  return { kind: 'ok', image: { id, description, files: join(folder, 'files') } };
}

async function readName(path: string): Promise<string | null> {
  const text = await readText(nodeDisk, path);
  return text !== null && imageIdPattern.test(text) ? text : null;
}

/** `sha256:…` of bytes. That of a description is the id of the image. */
export const hashBytes = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

async function hashFile(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal })) hash.update(chunk as Uint8Array);
  return `sha256:${hash.digest('hex')}`;
}

async function syncPath(path: string): Promise<void> {
  try {
    await using handle = await open(path);
    await handle.sync();
  } catch (error) {
    // It was removed meanwhile; the sync of its folder makes that durable.
    if (!isMissingFile(error)) throw error;
  }
}

function ignoreMissing(error: unknown): null {
  if (isMissingFile(error)) return null;
  throw error;
}
