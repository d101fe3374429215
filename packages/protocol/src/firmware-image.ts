import { esp8266Magic, isEsp8266Image } from './esp8266-image.ts';

/**
 * Application images of ESP32 chips. Format: ESP-IDF, "App Image Format" (header, segments, checksum, hash) and
 * `esp_app_format` / `esp_app_desc_t` (component esp_app_format); signature blocks: "Secure Boot v2". Numbers are little-endian.
 */

/** First byte of an ESP32 image, and of its bootloader. */
export const imageMagic = esp8266Magic;
export const imageHeaderBytes = 24;
export const segmentHeaderBytes = 8;
const mostSegments = 16;
export const descriptorMagic = 0xabcd5432;
export const descriptorBytes = 256;
/** Seed of the XOR over all segment data. */
export const checksumSeed = 0xef;
const hashBytes = 32;

/** `esp_chip_id_t` → name of the chip. */
export const chipNames: Readonly<Record<number, string>> = {
  0x00: 'esp32',
  0x02: 'esp32s2',
  0x05: 'esp32c3',
  0x09: 'esp32s3',
  0x0c: 'esp32c2',
  0x0d: 'esp32c6',
  0x10: 'esp32h2',
  0x12: 'esp32p4',
  0x14: 'esp32c61',
  0x17: 'esp32c5',
  0x19: 'esp32h21',
  0x1c: 'esp32h4',
  0x20: 'esp32s31',
};

/** `ESP32-S3`, `esp32_s3` and `esp32s3` are the same chip. */
export const normalizeChip = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

export type ImageInspection =
  | {
      kind: 'application';
      chip: string;
      /** Version and project of the descriptor. Arduino builds have those of the SDK. */
      descriptorVersion: string;
      project: string;
    }
  /** It names neither version nor project. */
  | { kind: 'esp8266' }
  | { kind: 'refused'; reason: string };

/** SHA-256 of bytes. A parameter, because this code also runs in browsers. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

/** Inspects all bytes of an image. Never throws. Behind its end there may be what a loader ignores. */
export function inspectImage(bytes: Uint8Array, sha256: Sha256): ImageInspection {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (looksMerged(bytes, view)) return refused(merged);
  if (isEsp8266Image(view)) return { kind: 'esp8266' };
  if (bytes[0] !== imageMagic) return refused(describeForeign(bytes, view));
  if (bytes.length < imageHeaderBytes + segmentHeaderBytes + descriptorBytes) {
    return refused('shorter than the header and the descriptor of an ESP32 application');
  }
  if (!hasDescriptor(bytes, view)) return refused(describeImage(bytes));
  const segments = walkSegments(bytes, view);
  if (segments.kind === 'refused') return segments;
  const fault = findHeaderFault(bytes, view) ?? findEndFault(bytes, segments, sha256);
  if (fault !== null) return refused(fault);
  return {
    kind: 'application',
    chip: chipNames[view.getUint16(0x0c, true)] as string,
    descriptorVersion: textAt(bytes, 0x30),
    project: textAt(bytes, 0x50),
  };
}

/** First bytes of files that people publish by mistake. */
const foreign: readonly (readonly [start: string, name: string])[] = [
  ['UF2\n', 'a UF2 file'],
  ['\x7fELF', 'an ELF file'],
  ['PK\x03\x04', 'a ZIP archive'],
  ['\x1f\x8b', 'compressed'],
  ['\xfd7zXZ', 'compressed'],
  ['\x28\xb5\x2f\xfd', 'compressed'],
  ['7z\xbc\xaf', 'compressed'],
  // `esp_encrypted_img` of Espressif.
  ['\xcf\xb6\x88\x07', 'encrypted'],
  // Zigbee Cluster Library, "OTA File Format".
  ['\x1e\xf1\xee\x0b', 'a file for Zigbee devices'],
  ['S0', 'an S-record file'],
  [':', 'an Intel HEX file'],
  ['<', 'a page of text'],
  ['{', 'a text'],
];

function describeForeign(bytes: Uint8Array, view: DataView): string {
  if (bytes.length === 0) return 'empty';
  if (hasDescriptor(bytes, view)) return 'an ESP32 application whose first byte is damaged';
  const start = String.fromCharCode(...bytes.subarray(0, 64)).replace(/^(\xef\xbb\xbf)?\s*/, '');
  const name = foreign.find(([begin]) => start.startsWith(begin))?.[1] ?? 'of no known form';
  return `${name}, not an image that an ESP32 or ESP8266 loads`;
}

const merged = 'a merged image of a whole flash, not an application';

function describeImage(bytes: Uint8Array): string {
  // A bootloader has `esp_bootloader_desc_t` where an application has its descriptor.
  if (bytes[0x20] === 0x50 && bytes[0x21] === 0) return 'a bootloader, not an application';
  return 'without an application descriptor: a bootloader, or damaged';
}

/** A partition table at its default offset, or a bootloader after the empty flash before it. */
function looksMerged(bytes: Uint8Array, view: DataView): boolean {
  if (hasPartitionTable(view)) return true;
  return [0x1000, 0x2000].some(
    (at) => bytes[at] === imageMagic && bytes.subarray(0, at).every((byte) => byte === 0xff),
  );
}

const sectorBytes = 4096;
const tableAt = 0x8000;

/** `esp_partition_info_t`: magic, type, subtype, and where the first partition begins. Two bytes of code may look like its magic. */
const hasPartitionTable = (view: DataView): boolean =>
  view.byteLength >= tableAt + 8 &&
  view.getUint16(tableAt, true) === 0x50aa &&
  view.getUint32(tableAt + 4, true) > tableAt &&
  view.getUint32(tableAt + 4, true) % sectorBytes === 0;

const hasDescriptor = (bytes: Uint8Array, view: DataView): boolean =>
  bytes.length >= 0x24 && view.getUint32(0x20, true) === descriptorMagic;

function findHeaderFault(bytes: Uint8Array, view: DataView): string | null {
  const chip = view.getUint16(0x0c, true);
  if (chipNames[chip] === undefined) return `for an unknown chip (0x${chip.toString(16)})`;
  if ((bytes[0x17] ?? 0) > 1) return 'the header is damaged: its hash flag is invalid';
  return null;
}

type Segments = { kind: 'segments'; end: number; checksum: number };

function walkSegments(bytes: Uint8Array, view: DataView): Segments | { kind: 'refused'; reason: string } {
  const count = bytes[1] ?? 0;
  if (count === 0 || count > mostSegments) return refused(`${count} segments instead of 1 to ${mostSegments}`);
  let at = imageHeaderBytes;
  let checksum = checksumSeed;
  for (let index = 1; index <= count; index += 1) {
    if (at + segmentHeaderBytes > bytes.length) return refused(`cut off before segment ${index} of ${count}`);
    const length = view.getUint32(at + 4, true);
    at += segmentHeaderBytes;
    if (length === 0) return refused(`segment ${index} of ${count} is empty`);
    if (length % 4 !== 0)
      return refused(`segment ${index} of ${count} is ${length} bytes long, which is not a multiple of four`);
    if (length > bytes.length - at) return refused(`cut off in segment ${index} of ${count}`);
    if (index === 1 && length < descriptorBytes) return refused('the first segment is too short for the descriptor');
    checksum ^= xorOf(bytes.subarray(at, at + length));
    at += length;
  }
  return { kind: 'segments', end: at, checksum };
}

/** XOR of a segment, whose length is a multiple of four. By words: byte by byte, interpreted code (`--jitless`) takes seconds. */
function xorOf(segment: Uint8Array): number {
  const aligned = segment.byteOffset % 4 === 0 ? segment : new Uint8Array(segment);
  const words = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
  const word = words.reduce((all, one) => all ^ one, 0);
  return (word ^ (word >>> 8) ^ (word >>> 16) ^ (word >>> 24)) & 0xff;
}

function findEndFault(bytes: Uint8Array, { end, checksum }: Segments, sha256: Sha256): string | null {
  // The checksum is the last byte of a block of 16.
  const checksumEnd = (end & ~15) + 16;
  if (checksumEnd > bytes.length) return 'cut off before its checksum';
  if (bytes[checksumEnd - 1] !== checksum) return 'the checksum of the segments does not match';
  const hashed = bytes[0x17] === 1;
  const imageEnd = hashed ? checksumEnd + hashBytes : checksumEnd;
  if (imageEnd > bytes.length) return 'cut off in its hash';
  if (hashed && !equal(sha256(bytes.subarray(0, checksumEnd)), bytes.subarray(checksumEnd, imageEnd))) {
    return 'the hash at its end does not match';
  }
  if (!hashed && bytes.length === imageEnd + hashBytes) return 'the header is damaged: the flag of its hash is not set';
  return isForeignSignature(bytes, imageEnd, sha256) ? 'signed, but the signature is that of another image' : null;
}

/**
 * Whether the image, padded with 0xFF to a whole sector, is followed by a sector of signature blocks (Secure Boot v2) with another digest.
 * The older scheme appends 68 bytes without a digest, and a key of 384 bits signs one of SHA-384: only the chip can tell whose they are.
 */
function isForeignSignature(bytes: Uint8Array, imageEnd: number, sha256: Sha256): boolean {
  const signatureAt = Math.ceil(imageEnd / sectorBytes) * sectorBytes;
  // Version 2: RSA, 3: ECDSA. The digest of the image follows the four bytes of magic, version, kind of digest and padding.
  const magic = bytes[signatureAt];
  const version = bytes[signatureAt + 1];
  if (magic !== 0xe7 || (version !== 2 && version !== 3)) return false;
  // 0: SHA-256, also where it is padding; 1: SHA-384.
  if (bytes[signatureAt + 2] !== 0) return false;
  const digest = bytes.subarray(signatureAt + 4, signatureAt + 4 + hashBytes);
  return !equal(sha256(bytes.subarray(0, signatureAt)), digest);
}

const equal = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);

/** A text of at most 32 bytes that ends at the first zero. */
function textAt(bytes: Uint8Array, at: number): string {
  const field = bytes.subarray(at, at + 32);
  const end = field.indexOf(0);
  const text = new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
  // The text is shown to people, so it must not contain terminal control characters.
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}

const refused = (reason: string): { kind: 'refused'; reason: string } => ({ kind: 'refused', reason });
