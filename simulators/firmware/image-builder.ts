import { createHash } from 'node:crypto';
import {
  checksumSeed,
  chipNames,
  descriptorBytes,
  descriptorMagic,
  imageHeaderBytes,
  imageMagic,
  normalizeChip,
  segmentHeaderBytes,
} from '@station/protocol/firmware-image';

export type ImageRecipe = {
  /** Project and version in the application descriptor. */
  project: string;
  version: string;
  /** One of `chipNames`; default esp32. */
  chip?: string;
  /** Approximate size of the image in bytes; default 64 KiB, at least 1 KiB. */
  bytes?: number;
  /** False: no SHA-256 at the end, as some build systems do. */
  hashed?: boolean;
  /** A different seed gives different content. */
  seed?: string;
};

/** Load addresses in an ESP32: read-only data, code, RAM. */
const loadAddresses = [0x3f400020, 0x400d0020, 0x40080000] as const;

/**
 * A valid application image for an ESP32 chip, byte for byte as `esptool elf2image` lays it out: header, segments, descriptor, checksum,
 * hash. Its code is random.
 */
export function buildImage(recipe: ImageRecipe): Uint8Array {
  const { bytes = 64 * 1024, hashed = true } = recipe;
  const segments = segmentsOf(recipe, bytes);
  const segmentsEnd = segments.reduce((at, data) => at + segmentHeaderBytes + data.length, imageHeaderBytes);
  const checksumEnd = (segmentsEnd & ~15) + 16;
  const image = Buffer.alloc(checksumEnd + (hashed ? 32 : 0));
  writeHeader(image, chipId(recipe.chip ?? 'esp32'), segments.length, hashed);
  let at = imageHeaderBytes;
  let checksum = checksumSeed;
  for (const [index, data] of segments.entries()) {
    image.writeUInt32LE(loadAddresses[index] ?? 0, at);
    image.writeUInt32LE(data.length, at + 4);
    image.set(data, at + segmentHeaderBytes);
    at += segmentHeaderBytes + data.length;
    for (const byte of data) checksum ^= byte;
  }
  image[checksumEnd - 1] = checksum;
  if (hashed) image.set(createHash('sha256').update(image.subarray(0, checksumEnd)).digest(), checksumEnd);
  return image;
}

/** An image of an ESP8266 as the Arduino core writes it: its loader fills the first sector, the application follows. */
export function buildEsp8266Image(bytes = 4_000): Uint8Array {
  const loader = esp8266Part([[0x4010f000, noise('loader', 640)]]);
  const application = esp8266Part([
    [0x40201010, noise('flash', Math.ceil(bytes / 4) * 4)],
    [0x40100000, noise('instructions', 512)],
    [0x3ffe8000, noise('data', 256)],
  ]);
  const sector = Buffer.alloc(4096, 0xaa);
  sector.set(loader);
  return Buffer.concat([sector, application]);
}

function esp8266Part(segments: readonly [address: number, data: Uint8Array][]): Uint8Array {
  const header = Buffer.from([imageMagic, segments.length, 0x03, 0x40, 0, 0, 0, 0]);
  header.writeUInt32LE(0x4010f000, 4);
  const parts: Uint8Array[] = [header];
  let checksum = checksumSeed;
  for (const [address, data] of segments) {
    const head = Buffer.alloc(segmentHeaderBytes);
    head.writeUInt32LE(address, 0);
    head.writeUInt32LE(data.length, 4);
    parts.push(head, data);
    for (const byte of data) checksum ^= byte;
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const end = Buffer.alloc(16 - (length % 16));
  end[end.length - 1] = checksum;
  return Buffer.concat([...parts, end]);
}

/** A bootloader: an image without an application descriptor. */
export function buildBootloader(chip = 'esp32', bytes = 24 * 1024): Uint8Array {
  const image = Buffer.from(buildImage({ project: '', version: '', chip, bytes }));
  const { length } = image;
  // `esp_bootloader_desc_t`: magic 80, version 1.
  image.set([80, 0, 0, 0, 1, 0, 0, 0], imageHeaderBytes + segmentHeaderBytes);
  image[length - 33] = checksumOf(image.subarray(0, length - 48));
  image.set(
    createHash('sha256')
      .update(image.subarray(0, length - 32))
      .digest(),
    length - 32,
  );
  return image;
}

/** A whole flash as `esptool merge_bin` writes it: bootloader, partition table, application. */
export function mergeImages(application: Uint8Array, chip = 'esp32'): Uint8Array {
  const flash = Buffer.alloc(0x10000 + application.length, 0xff);
  // The first chip generation has one empty sector before its bootloader.
  flash.set(buildBootloader(chip), chip === 'esp32' || chip === 'esp32s2' ? 0x1000 : 0);
  // esp_partition_info_t: magic, type, subtype, offset, size, label.
  flash.set([0xaa, 0x50, 0x00, 0x00], 0x8000);
  flash.writeUInt32LE(0x10000, 0x8004);
  flash.writeUInt32LE(0x100000, 0x8008);
  flash.set(Buffer.from('factory\0'), 0x800c);
  flash.set(application, 0x10000);
  return flash;
}

export const checksumOfFile = (bytes: Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

function segmentsOf(recipe: ImageRecipe, bytes: number): Uint8Array[] {
  const overhead = imageHeaderBytes + loadAddresses.length * segmentHeaderBytes + 48;
  const words = Math.max(3 * 64, Math.floor((bytes - overhead) / 4));
  const shares = [0.25, 0.6].map((share) => Math.max(64, Math.floor(words * share)) * 4);
  const last = Math.max(4, words * 4 - (shares[0] ?? 0) - (shares[1] ?? 0));
  const segments = [...shares, last].map((length, index) =>
    noise(`${recipe.seed ?? ''} ${recipe.version} ${index}`, length),
  );
  segments[0]?.set(descriptorOf(recipe));
  return segments;
}

/** Bytes that compress as little as code does. The same seed gives the same bytes. */
function noise(seed: string, length: number): Uint8Array {
  const bytes = Buffer.alloc(length);
  const block = createHash('shake256', { outputLength: 4096 }).update(seed).digest();
  for (let at = 0; at < length; at += block.length) {
    bytes.set(block.subarray(0, Math.min(block.length, length - at)), at);
    // All blocks differ.
    bytes.writeUInt32LE(at, at);
  }
  return bytes;
}

function writeHeader(image: Buffer, chip: number, segments: number, hashed: boolean): void {
  // Quad I/O, 40 MHz, 4 MB; entry point; no write-protect pin; pads; chip and its revisions; hash appended.
  image.set([imageMagic, segments, 0x02, 0x20], 0);
  image.writeUInt32LE(0x40081000, 4);
  image[8] = 0xee;
  image.writeUInt16LE(chip, 0x0c);
  image.writeUInt16LE(0, 0x0f);
  image.writeUInt16LE(0xffff, 0x11);
  image[0x17] = hashed ? 1 : 0;
}

/** esp_app_desc_t. */
function descriptorOf({ project, version }: ImageRecipe): Uint8Array {
  const descriptor = Buffer.alloc(descriptorBytes);
  descriptor.writeUInt32LE(descriptorMagic, 0);
  const put = (text: string, at: number, most = 31): void => void descriptor.write(text.slice(0, most), at, 'latin1');
  put(version, 0x10);
  put(project, 0x30);
  put('12:00:00', 0x50, 15);
  put('Jan  1 2026', 0x60, 15);
  put('v5.3.1', 0x70);
  descriptor.set(createHash('sha256').update(`${project} ${version}`).digest(), 0x90);
  return descriptor;
}

/** XOR over the data of all segments. */
function checksumOf(image: Uint8Array): number {
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
  let checksum = checksumSeed;
  let at = imageHeaderBytes;
  for (let left = image[1] ?? 0; left > 0; left -= 1) {
    const length = view.getUint32(at + 4, true);
    at += segmentHeaderBytes;
    for (const end = at + length; at < end; at += 1) checksum ^= image[at] as number;
  }
  return checksum;
}

function chipId(name: string): number {
  const wanted = normalizeChip(name);
  const found = Object.entries(chipNames).find(([, chip]) => chip === wanted);
  if (found === undefined) throw new Error(`unknown ESP32 chip: ${name}`);
  return Number(found[0]);
}
