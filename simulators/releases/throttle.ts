import { setTimeout as delay } from 'node:timers/promises';

/** A bandwidth limit, shared by everything that is sent through it. */
export type Throttle = {
  /** Passes the bytes on in pieces, as the bandwidth allows. */
  send(bytes: Uint8Array): AsyncGenerator<Uint8Array>;
  /** From the next piece on. */
  setSpeed(bytesPerSecond: number): void;
};

const pieceBytes = 16 * 1024;

/** @param bytesPerSecond Infinity for no limit. */
export function createThrottle(bytesPerSecond: number): Throttle {
  let speed = bytesPerSecond;
  let freeAtMs = 0;
  return {
    setSpeed: (wanted) => {
      speed = wanted;
    },
    send: async function* (bytes) {
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const piece = bytes.subarray(at, at + pieceBytes);
        freeAtMs = Math.max(freeAtMs, performance.now()) + (1000 * piece.length) / speed;
        const waitMs = freeAtMs - performance.now();
        if (waitMs > 1) await delay(waitMs);
        yield piece;
      }
    },
  };
}
