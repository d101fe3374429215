import { monotonicMs } from './pinned.ts';

/** Ten digits, like a raw device's counter, that encode a time with a resolution of 10 µs. They wrap after a day. */
const base = 1_000_000_000;
const range = 8_640_000_000;
const perMs = 100;

export const stampNow = (): number => base + (Math.floor(monotonicMs() * perMs) % range);

/** Milliseconds since the stamp was created by any process of this machine. */
export const msSince = (stamp: number): number => ((stampNow() - stamp + range) % range) / perMs;
