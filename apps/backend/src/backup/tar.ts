import { BackupRefused } from './backup-refused.ts';
import { createByteReader } from '@station/kit/byte-reader';

/** A file in a tar archive (POSIX.1-1988 `ustar`). */
export type TarFile = { name: string; bytes: number };

const block = 512;
const nameBytes = 100;
/** Eleven octal digits. */
const maxFileBytes = 8 ** 11 - 1;
/** Of zeros after the last file: a few compressed bytes can be any number of them. */
const maxRestBytes = 1024 * 1024;

/** Whether the archive can hold a file of this name: at most 100 bytes after its folder. */
export function fitsTar(name: string): boolean {
  const { last } = splitName(name);
  return Buffer.byteLength(last) <= nameBytes;
}

/** @param files in this order; each must give exactly `bytes` bytes. */
export async function* writeTar(
  files:
    | AsyncIterable<TarFile & { content: AsyncIterable<Uint8Array> }>
    | Iterable<TarFile & { content: AsyncIterable<Uint8Array> }>,
  modifiedAt: number,
): AsyncGenerator<Uint8Array> {
  for await (const { name, bytes, content } of files) {
    yield headerOf({ name, bytes }, modifiedAt);
    let written = 0;
    for await (const chunk of content) {
      written += chunk.length;
      yield chunk;
    }
    if (written !== bytes) throw new Error(`${name} has ${written} bytes instead of ${bytes}`);
    if (written % block > 0) yield Buffer.alloc(block - (written % block));
  }
  yield Buffer.alloc(2 * block);
}

/**
 * Calls `onFile` for each file in order; it must read the content. Anything that is not a regular file is refused.
 * @throws BackupRefused `damaged`
 */
export async function readTar(
  source: AsyncIterable<Uint8Array>,
  onFile: (file: TarFile, content: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  await using reader = createByteReader(source);
  for (;;) {
    const header = await reader.read(block);
    if (header.length < block) throw notAnArchive();
    if (header.every((byte) => byte === 0)) break;
    const file = readTarHeader(header);
    await onFile(file, reader.pieces(file.bytes));
    const padding = (block - (file.bytes % block)) % block;
    if ((await reader.read(padding)).length < padding) throw notAnArchive();
  }
  // Read to the end, so that the layers below check theirs.
  let rest = 0;
  for await (const piece of reader.pieces(Infinity)) {
    rest += piece.length;
    if (rest > maxRestBytes || !piece.every((byte) => byte === 0)) throw notAnArchive();
  }
}

const notAnArchive = (): BackupRefused => new BackupRefused('damaged');

function headerOf({ name, bytes }: TarFile, modifiedAt: number): Buffer {
  if (!fitsTar(name) || bytes > maxFileBytes) throw new Error(`${name} does not fit into the archive`);
  const header = Buffer.alloc(block);
  const { folder, last } = splitName(name);
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
  header.write(last, 0);
  header.write(`${octal(0o600, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  header.write(`${octal(bytes, 11)}\0${octal(Math.floor(modifiedAt / 1000), 11)}\0`, 124);
  // The checksum is counted with spaces in its place.
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.write(folder, 345);
  header.write(`${octal(checksumOf(header), 6)}\0 `, 148);
  return header;
}

function readTarHeader(header: Buffer): TarFile {
  const text = (from: number, length: number): string =>
    header.toString('utf8', from, from + length).replace(/\0.*$/s, '');
  const number = (from: number, length: number): number => {
    const digits = text(from, length).trim();
    return /^[0-7]+$/.test(digits) ? parseInt(digits, 8) : NaN;
  };
  const bytes = number(124, 12);
  const checksum = number(148, 8);
  const counted = Buffer.from(header);
  counted.write('        ', 148);
  const type = header[156];
  const isRegular = type === 0x30 || type === 0;
  if (checksum !== checksumOf(counted) || Number.isNaN(bytes) || !isRegular) throw notAnArchive();
  const folder = text(345, 155);
  return { name: folder === '' ? text(0, nameBytes) : `${folder}/${text(0, nameBytes)}`, bytes };
}

const checksumOf = (header: Buffer): number => header.reduce((sum, byte) => sum + byte, 0);

function splitName(name: string): { folder: string; last: string } {
  const at = name.lastIndexOf('/');
  return at < 0 ? { folder: '', last: name } : { folder: name.slice(0, at), last: name.slice(at + 1) };
}
