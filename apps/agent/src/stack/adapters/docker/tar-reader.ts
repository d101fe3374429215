import { type ByteReader, createByteReader } from '@station/kit/byte-reader';

/** `other`: a device or a pipe. */
export type TarKind = 'file' | 'link' | 'symlink' | 'folder' | 'other';

export type TarEntry = {
  /** Without a leading or closing slash; empty for the root. */
  path: string;
  kind: TarKind;
  /** Where a hard or symbolic link points, as written. */
  target: string;
  /** Bytes of the content. */
  size: number;
  /** Permission bits. */
  mode: number;
  uid: number;
  gid: number;
  /** To be read before the next entry is asked for; what is left of it is skipped. */
  content: AsyncIterable<Buffer>;
};

/** The archive ends before its end mark, or a header makes no sense. */
export class BrokenArchive extends Error {}

const blockBytes = 512;
/** A longer extended header is not read: paths have at most 4096 bytes. */
const mostExtendedBytes = 1024 * 1024;
const at = { name: 0, mode: 100, uid: 108, gid: 116, size: 124, type: 156, target: 157, magic: 257, prefix: 345 };
const kinds: ReadonlyMap<string, TarKind> = new Map([
  ['\0', 'file'],
  ['0', 'file'],
  ['7', 'file'],
  ['1', 'link'],
  ['2', 'symlink'],
  ['5', 'folder'],
]);

/**
 * Entries of a tar archive of any size: POSIX ustar and pax (IEEE Std 1003.1, pax), and GNU's long names and large numbers.
 * @throws BrokenArchive, or the error of the source.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  await using reader = createByteReader(source);
  let extended = new Map<string, string>();
  for (;;) {
    const header = await reader.read(blockBytes);
    if (header.length < blockBytes) throw new BrokenArchive('the archive ends early');
    if (header.every((byte) => byte === 0)) break;
    const type = String.fromCharCode(header[at.type] ?? 0);
    const size = Number(extended.get('size') ?? numberAt(header, at.size, 12));
    if (!Number.isSafeInteger(size) || size < 0) throw new BrokenArchive('the size of an entry is no number');
    if ('xgLK'.includes(type)) {
      const more = readExtended(type, await readPadded(reader, size));
      if (type !== 'g') extended = new Map([...extended, ...more]);
      continue;
    }
    const kind = kinds.get(type) ?? 'other';
    const entry = entryOf(header, kind, extended);
    extended = new Map();
    const content = contentOf(reader, kind === 'file' ? size : 0);
    yield { ...entry, size: kind === 'file' ? size : 0, content };
    for await (const _ of content);
  }
  // To its end, so that whoever gives it notices that all was taken.
  for await (const _ of reader.pieces(Infinity));
}

/** One pass over the content; a second one gives what the first has left. */
function contentOf(reader: ByteReader, size: number): AsyncIterable<Buffer> {
  let missing = size;
  let padding = -size & (blockBytes - 1);
  return {
    [Symbol.asyncIterator]: async function* () {
      while (missing > 0) {
        let isEnd = true;
        for await (const piece of reader.pieces(missing)) {
          isEnd = false;
          missing -= piece.length;
          yield piece;
        }
        if (isEnd) throw new BrokenArchive('the archive ends early');
      }
      if ((await reader.read(padding)).length < padding) throw new BrokenArchive('the archive ends early');
      padding = 0;
    },
  };
}

async function readPadded(reader: ByteReader, size: number): Promise<Buffer> {
  if (size > mostExtendedBytes) throw new BrokenArchive('a header is too long');
  const bytes = await reader.read(size + (-size & (blockBytes - 1)));
  if (bytes.length < size) throw new BrokenArchive('the archive ends early');
  return bytes.subarray(0, size);
}

/** Records of a pax header, or the long name of GNU's kind. */
function readExtended(type: string, bytes: Buffer): Map<string, string> {
  if (type === 'L' || type === 'K')
    return new Map([[type === 'L' ? 'path' : 'linkpath', textAt(bytes, 0, bytes.length)]]);
  const records = new Map<string, string>();
  for (let from = 0; from < bytes.length;) {
    const space = bytes.indexOf(' ', from);
    const length = Number(bytes.toString('latin1', from, space));
    const equals = bytes.indexOf('=', space);
    if (space < 0 || equals < 0 || !(length > 0)) throw new BrokenArchive('an extended header makes no sense');
    records.set(bytes.toString('utf8', space + 1, equals), bytes.toString('utf8', equals + 1, from + length - 1));
    from += length;
  }
  return records;
}

function entryOf(
  header: Buffer,
  kind: TarKind,
  extended: ReadonlyMap<string, string>,
): Omit<TarEntry, 'content' | 'size'> {
  const isPosix = header.toString('latin1', at.magic, at.magic + 6) === 'ustar\0';
  const prefix = isPosix ? textAt(header, at.prefix, 155) : '';
  const name = textAt(header, at.name, 100);
  return {
    path: cleanPath(extended.get('path') ?? (prefix === '' ? name : `${prefix}/${name}`)),
    kind,
    target: extended.get('linkpath') ?? textAt(header, at.target, 100),
    mode: numberAt(header, at.mode, 8) & 0o7777,
    uid: Number(extended.get('uid') ?? numberAt(header, at.uid, 8)),
    gid: Number(extended.get('gid') ?? numberAt(header, at.gid, 8)),
  };
}

/** A path as `readTar` gives it. */
export const cleanPath = (path: string): string => path.replace(/^(\.?\/)+|^\.$/, '').replace(/\/+$/, '');

function textAt(bytes: Buffer, from: number, length: number): string {
  const end = bytes.indexOf(0, from);
  return bytes.toString('utf8', from, end < 0 ? from + length : Math.min(end, from + length));
}

/** Octal digits, or with the highest bit set a binary number (GNU). */
function numberAt(bytes: Buffer, from: number, length: number): number {
  if (((bytes[from] ?? 0) & 0x80) !== 0) return bytes.readUIntBE(from + length - 6, 6);
  const digits = textAt(bytes, from, length).trim();
  return digits === '' ? 0 : /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : NaN;
}
