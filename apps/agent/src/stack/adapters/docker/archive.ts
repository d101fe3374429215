/**
 * Tar archives with small files, as the Engine API gives and takes them (ContainerArchive, PutContainerArchive). Format: POSIX ustar
 * (IEEE Std 1003.1, pax): a header block of 512 bytes, then the content padded to 512 bytes.
 */
const blockBytes = 512;
const at = { name: 0, mode: 100, uid: 108, gid: 116, size: 124, time: 136, sum: 148, type: 156, magic: 257 };

/** The first regular file of an archive; null: there is none, or the archive is cut off. */
export function firstFile(archive: Uint8Array): { content: Uint8Array; uid: number; gid: number } | null {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  for (let from = 0; from + blockBytes <= bytes.length;) {
    const size = octal(bytes, from + at.size, 12);
    const start = from + blockBytes;
    // Zero blocks end the archive.
    if (size === null || bytes[from] === 0 || start + size > bytes.length) return null;
    const type = bytes[from + at.type] ?? 0;
    if (type === 0 || type === 0x30) {
      const uid = octal(bytes, from + at.uid, 8);
      const gid = octal(bytes, from + at.gid, 8);
      return { content: bytes.subarray(start, start + size), uid: uid ?? 0, gid: gid ?? 0 };
    }
    from = start + Math.ceil(size / blockBytes) * blockBytes;
  }
  return null;
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

/** Null: not an octal number. */
function octal(bytes: Buffer, from: number, length: number): number | null {
  const text = bytes
    .toString('latin1', from, from + length)
    .replace(/[\0 ]+$/, '')
    .trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : null;
}
