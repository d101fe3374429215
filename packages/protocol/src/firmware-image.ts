/**
 * Application images of ESP32 chips. Format: ESP-IDF, "App Image Format" (header, segments, checksum, hash) and
 * `esp_app_format` / `esp_app_desc_t` (component esp_app_format); signature blocks: "Secure Boot v2". Numbers are little-endian.
 */

/** First byte of an ESP32 image (and of the bootloader, and of ESP8266 images). */
export const imageMagic = 0xe9;
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
  0x17: 'esp32c5',
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
  /** Not an ESP32 image; its content is not inspected. */
  | { kind: 'other' }
  | { kind: 'refused'; reason: string };

/** SHA-256 of bytes. A parameter, because this code also runs in browsers. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

/** Inspects all bytes of an image. Never throws. */
export function inspectImage(bytes: Uint8Array, sha256: Sha256): ImageInspection {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes[0] !== imageMagic) return inspectForeign(bytes, view);
  if (bytes.length < imageHeaderBytes + segmentHeaderBytes + descriptorBytes) {
    return refused('shorter than the header and the descriptor of an ESP32 application');
  }
  if (!hasDescriptor(bytes, view)) return refused(describeForeign(bytes));
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

/** Data that does not begin like an ESP32 image may be a damaged one, or one at an offset. */
function inspectForeign(bytes: Uint8Array, view: DataView): ImageInspection {
  if (bytes.length === 0) return refused('empty');
  if (hasDescriptor(bytes, view)) return refused('an ESP32 application whose first byte is damaged');
  return looksMerged(bytes) ? refused(merged) : { kind: 'other' };
}

const merged = 'a merged image of a whole flash, not an application';

function describeForeign(bytes: Uint8Array): string {
  // A bootloader has `esp_bootloader_desc_t` where an application has its descriptor.
  if (looksMerged(bytes)) return merged;
  if (bytes[0x20] === 0x50 && bytes[0x21] === 0) return 'a bootloader, not an application';
  return 'without an application descriptor: a bootloader, an image of an ESP8266, or damaged';
}

/** A partition table at its default offset, or a bootloader after the empty flash before it. */
function looksMerged(bytes: Uint8Array): boolean {
  if (bytes[0x8000] === 0xaa && bytes[0x8001] === 0x50) return true;
  return [0x1000, 0x2000].some(
    (at) => bytes[at] === imageMagic && bytes.subarray(0, at).every((byte) => byte === 0xff),
  );
}

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
  if (imageEnd === bytes.length || isSigned(bytes, imageEnd, sha256)) return null;
  return `${bytes.length - imageEnd} extra bytes after the end of the image`;
}

const sectorBytes = 4096;

/** The image padded with 0xFF to a whole sector, then one sector of signature blocks (Secure Boot v2). */
function isSigned(bytes: Uint8Array, imageEnd: number, sha256: Sha256): boolean {
  const signatureAt = bytes.length - sectorBytes;
  if (signatureAt < imageEnd || signatureAt % sectorBytes !== 0) return false;
  if (!bytes.subarray(imageEnd, signatureAt).every((byte) => byte === 0xff)) return false;
  // Version 2: RSA, 3: ECDSA. The digest of the image follows the four bytes of magic, version and padding.
  const [magic, version] = bytes.subarray(signatureAt);
  const digest = bytes.subarray(signatureAt + 4, signatureAt + 4 + hashBytes);
  const known = magic === 0xe7 && (version === 2 || version === 3);
  return known && equal(sha256(bytes.subarray(0, signatureAt)), digest);
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
