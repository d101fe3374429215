import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { writeChunks } from './new-file.ts';

/** Options of Zstandard (RFC 8878) for databases and what comes with them. */
export const compression = {
  /** Of each piece of output: each costs a turn of the thread pool. */
  chunkSize: 512 * 1024,
  /** What waits for the compression, which has a thread of its own: the sum of the next piece is made meanwhile. */
  writableHighWaterMark: 4 * 1024 * 1024,
  params: {
    /** Makes samples as small as the default level does, in less time. */
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_checksumFlag]: 1,
  },
};

/** Writes a new file, as `writeChunks`. */
export async function writeCompressed(
  path: string,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const write = async (compressed: AsyncIterable<Buffer>): Promise<void> => void (await writeChunks(path, compressed));
  await pipeline(content, createZstdCompress(compression), write, { signal });
}

/** Writes the content of a compressed file into a new one, as `writeChunks`. @throws see {@link isBadCompression}, too. */
export async function unpackFile(from: string, to: string): Promise<void> {
  await unpack(from, async (content) => void (await writeChunks(to, content)));
}

/** Reads a compressed file as a whole. @returns what is wrong with it; null: nothing, and it has its checksum. */
export async function findDamageInCompressed(path: string): Promise<string | null> {
  try {
    await unpack(path, async (content) => {
      for await (const _chunk of content);
    });
    return null;
  } catch (error) {
    return String(error);
  }
}

const unpack = (path: string, use: (content: AsyncIterable<Buffer>) => Promise<void>): Promise<void> =>
  pipeline(createReadStream(path), createZstdDecompress(), use);

/** Whether the content is damaged or cut off: errors of zlib have codes such as `ZSTD_error_prefix_unknown` and `Z_BUF_ERROR`. */
export const isBadCompression = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && /^(ZSTD_|Z_|ERR_BROTLI)/.test(String(error.code));
