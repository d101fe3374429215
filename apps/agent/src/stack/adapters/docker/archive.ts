import { BrokenArchive, readTar } from './tar-reader.ts';

/**
 * Tar archives with small files, as the Engine API gives and takes them (ContainerArchive, PutContainerArchive). Format: POSIX ustar
 * (IEEE Std 1003.1, pax): a header block of 512 bytes, then the content padded to 512 bytes.
 */
const blockBytes = 512;
const at = { name: 0, mode: 100, uid: 108, gid: 116, size: 124, time: 136, sum: 148, type: 156, magic: 257 };

/** The first regular file of an archive; null: there is none, or the archive is cut off. */
export async function firstFile(
  archive: Uint8Array,
): Promise<{ content: Uint8Array; uid: number; gid: number } | null> {
  try {
    for await (const { kind, uid, gid, content } of readTar(oneChunk(archive))) {
      if (kind === 'file') return { content: Buffer.concat(await Array.fromAsync(content)), uid, gid };
    }
  } catch (error) {
    if (!(error instanceof BrokenArchive)) throw error;
  }
  return null;
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export type ArchivedFile = {
  /** Without a folder, at most 100 bytes. */
  name: string;
  mode: number;
  uid: number;
  gid: number;
  content: Uint8Array;
};

/** Packs small text files that everybody may read. @param files name → content. */
export const packArchive = (files: Readonly<Record<string, string>>): Buffer =>
  archiveOf(
    ...Object.entries(files).map(([name, text]) => ({ name, mode: 0o644, uid: 0, gid: 0, content: Buffer.from(text) })),
  );

export function archiveOf(...files: readonly ArchivedFile[]): Buffer {
  const blocks = files.flatMap((file) => {
    const padding = Buffer.alloc(-file.content.length & (blockBytes - 1));
    return [headerOf(file), file.content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
}

function headerOf(file: ArchivedFile): Buffer {
  const header = Buffer.alloc(blockBytes);
  const number = (value: number, offset: number, length: number) =>
    header.write(value.toString(8).padStart(length - 1, '0'), offset, 'ascii');
  header.write(file.name, at.name, 'utf8');
  number(file.mode, at.mode, 8);
  number(file.uid, at.uid, 8);
  number(file.gid, at.gid, 8);
  number(file.content.length, at.size, 12);
  number(0, at.time, 12);
  header.write('0', at.type, 'ascii');
  header.write('ustar\u000000', at.magic, 'latin1');
  // The sum is taken with spaces in its own place.
  header.fill(' ', at.sum, at.type);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, at.sum, 'latin1');
  return header;
}
