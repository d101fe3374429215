import { createHash } from 'node:crypto';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { createByteReader } from '@station/kit/byte-reader';
import { parseJson } from '@station/kit/json';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Tree, treeOf } from './image-tree.ts';
import { BrokenArchive, readTar, type TarEntry } from './tar-reader.ts';

/** The part of `manifest.json` that is used: one entry an image, its layers from the base up as paths in the archive. */
const ArchiveManifest = Type.Array(Type.Object({ Layers: Type.Array(Type.String()) }), { minItems: 1 });

/** `images`: the layers of each image, the base first. `bytes`: size of all blobs. */
export type ImageArchive = { images: Tree[][]; bytes: number };

const mostManifestBytes = 4 * 1024 * 1024;

/**
 * Reads an archive of images that containerd's store gives (Engine API, ImageGet; OCI image layout), and checks every blob against its digest.
 * @param options.withFiles false: only the digests are checked, and each tree is empty.
 * @throws BrokenArchive when the archive ends early, a blob does not have its digest, or a layer is missing.
 */
export async function readImageArchive(
  source: AsyncIterable<Uint8Array>,
  { withFiles }: { withFiles: boolean },
): Promise<ImageArchive> {
  const blobs = new Map<string, Tree>();
  let manifest: unknown = null;
  let bytes = 0;
  for await (const entry of readTar(source)) {
    if (entry.kind !== 'file') continue;
    bytes += entry.size;
    if (entry.path === 'manifest.json') manifest = await readManifest(entry);
    else blobs.set(entry.path, await readBlob(entry, withFiles));
  }
  if (!Value.Check(ArchiveManifest, manifest)) throw new BrokenArchive('the archive names no image');
  const layer = (path: string): Tree => {
    const tree = blobs.get(path);
    if (tree === undefined) throw new BrokenArchive(`the archive has no layer ${path}`);
    return tree;
  };
  return { images: manifest.map(({ Layers }) => Layers.map(layer)), bytes };
}

async function readManifest({ content, size }: TarEntry): Promise<unknown> {
  if (size > mostManifestBytes) throw new BrokenArchive('the list of images is too long');
  const pieces: Buffer[] = [];
  for await (const piece of content) pieces.push(piece);
  return parseJson(Buffer.concat(pieces).toString('utf8'));
}

/** @returns the files of a layer; an empty tree for any other blob. */
async function readBlob({ path, content }: TarEntry, withFiles: boolean): Promise<Tree> {
  const hash = createHash('sha256');
  const hashed = async function* (): AsyncGenerator<Buffer> {
    for await (const piece of content) {
      hash.update(piece);
      yield piece;
    }
  };
  const tree = withFiles ? await readLayer(hashed()) : new Map<string, string>();
  // What a layer has behind the end of its content counts for its digest too.
  for await (const _ of hashed());
  const named = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(path)?.[1];
  if (named !== undefined && named !== hash.digest('hex')) throw new BrokenArchive(`${path} does not have its digest`);
  return tree;
}

const gzipMagic = 0x1f_8b;
const zstdMagic = 0x28_b5_2f_fd;
const headBytes = 512;

/** Layers are gzip, zstd or plain tar; the other blobs are JSON (OCI image specification, media types). */
async function readLayer(source: AsyncIterable<Buffer>): Promise<Tree> {
  const reader = createByteReader(source);
  const head = await reader.read(headBytes);
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield head;
    yield* reader.pieces(Infinity);
  };
  if (head.length < 4) return new Map();
  if (head.readUInt16BE(0) === gzipMagic) return treeOf(readTar(unpacked(whole(), createGunzip())));
  if (head.readUInt32BE(0) === zstdMagic) return treeOf(readTar(unpacked(whole(), createZstdDecompress())));
  const isTar =
    head.toString('latin1', 257, 262) === 'ustar' || (head.length === headBytes && head.every((one) => one === 0));
  if (isTar) return treeOf(readTar(whole()));
  for await (const _ of reader.pieces(Infinity));
  return new Map();
}

/** The error of either stream is thrown to whoever reads the result. */
const unpacked = (source: AsyncIterable<Buffer>, unpack: Transform): AsyncIterable<Buffer> =>
  pipeline(Readable.from(source, { objectMode: false }), unpack, () => undefined);
