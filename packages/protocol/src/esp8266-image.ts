/**
 * Images of an ESP8266. Format: esptool, "Firmware Image Format" of the ESP8266 (version 1: 0xE9, version 2: 0xEA, version 3: with the header
 * of an ESP32), as `elf2image` and the Arduino core write it. It is known by its segments and where they are loaded. Numbers are little-endian.
 */

export const esp8266Magic = 0xe9;
const secondMagic = 0xea;
const headerBytes = 8;
/** Of version 3, which ESP8266_RTOS_SDK writes. */
const longHeaderBytes = 24;
const segmentHeaderBytes = 8;
const mostSegments = 16;

/** Data RAM, instruction RAM, and flash as it is mapped. `end` is behind the last address. */
const memory: readonly { start: number; end: number }[] = [
  { start: 0x3ffe8000, end: 0x40000000 },
  { start: 0x40100000, end: 0x40110000 },
  { start: 0x40200000, end: 0x41200000 },
];

/** The loader of Arduino fills a sector; the application begins behind it. */
const sectorBytes = 4096;

/** Whether a file begins with such an image. Data of a file system or a second image may follow. */
export function isEsp8266Image(view: DataView): boolean {
  const end = endOfImage(view, 0);
  if (end === null) return false;
  const isLoader = end <= sectorBytes && view.byteLength > sectorBytes && view.getUint8(sectorBytes) === esp8266Magic;
  return !isLoader || endOfImage(view, sectorBytes) !== null;
}

/** Where an image ends; null: there is none at `offset`. */
function endOfImage(view: DataView, offset: number): number | null {
  const start = offset + headerBytes > view.byteLength ? null : startOfHeader(view, offset);
  if (start === null || start + headerBytes > view.byteLength || view.getUint8(start) !== esp8266Magic) return null;
  const count = view.getUint8(start + 1);
  return endOfSegments(view, start + headerBytes, count) ?? endOfSegments(view, start + longHeaderBytes, count);
}

function endOfSegments(view: DataView, start: number, count: number): number | null {
  if (count === 0 || count > mostSegments) return null;
  let at = start;
  for (let index = 0; index < count; index += 1) {
    if (at + segmentHeaderBytes > view.byteLength) return null;
    const address = view.getUint32(at, true);
    const length = view.getUint32(at + 4, true);
    if (length === 0 || !memory.some(({ start: from, end }) => address >= from && address + length <= end)) return null;
    at += segmentHeaderBytes + length;
  }
  // The checksum is the last byte of a block of 16.
  const end = (at & ~15) + 16;
  return end <= view.byteLength ? end : null;
}

/** Version 2 has the code that stays in flash before the header. @returns null when the file ends before it. */
function startOfHeader(view: DataView, offset: number): number | null {
  if (view.getUint8(offset) !== secondMagic) return offset;
  const start = offset + headerBytes + segmentHeaderBytes;
  return start > view.byteLength ? null : start + view.getUint32(offset + headerBytes + 4, true);
}
