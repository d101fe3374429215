import { randomBytes } from 'node:crypto';

const counterBits = 12;

/**
 * Makes UUIDv7 ids that sort in the order they were made; `crypto.randomUUIDv7` does not guarantee it within a millisecond. The 12 bits
 * after the time are a counter (RFC 9562, section 6.2, method 1). When it overflows or the clock is set back, the last id's time continues.
 * @param now milliseconds since the epoch.
 */
export function createEventIds(now: () => number): () => string {
  let time = 0;
  let counter = 0;
  return () => {
    const clock = now();
    if (clock > time) {
      time = clock;
      counter = 0;
    } else if (++counter >= 2 ** counterBits) {
      time += 1;
      counter = 0;
    }
    const bytes = randomBytes(16);
    bytes.writeUIntBE(time, 0, 6);
    bytes.writeUInt16BE((7 << counterBits) | counter, 6);
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = bytes.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };
}
