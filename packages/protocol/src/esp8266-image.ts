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

/** Whether a file begins with such an image. Data of a file system or a second image may follow. */
export function isEsp8266Image(view: DataView): boolean {
  const start = view.byteLength < headerBytes ? null : startOfHeader(view);
  if (start === null || start + headerBytes > view.byteLength || view.getUint8(start) !== esp8266Magic) return false;
  return [headerBytes, longHeaderBytes].some((bytes) => hasSegments(view, start + bytes, view.getUint8(start + 1)));
}

function hasSegments(view: DataView, start: number, count: number): boolean {
  if (count === 0 || count > mostSegments) return false;
  let at = start;
  for (let index = 0; index < count; index += 1) {
    if (at + segmentHeaderBytes > view.byteLength) return false;
    const address = view.getUint32(at, true);
    const length = view.getUint32(at + 4, true);
    if (length === 0 || !memory.some(({ start: from, end }) => address >= from && address + length <= end))
      return false;
    at += segmentHeaderBytes + length;
  }
  // The checksum is the last byte of a block of 16.
  return (at & ~15) + 16 <= view.byteLength;
}

/** Version 2 has the code that stays in flash before the header. @returns null when the file ends before it. */
function startOfHeader(view: DataView): number | null {
  if (view.getUint8(0) !== secondMagic) return 0;
  return view.byteLength < headerBytes + segmentHeaderBytes
    ? null
    : headerBytes + segmentHeaderBytes + view.getUint32(headerBytes + 4, true);
}
