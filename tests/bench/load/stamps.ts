import { monotonicMs } from './pinned.ts';

/** Ten digits, as a raw device's counter has, that encode a time with 10 µs resolution; they wrap after a day. */
const [base, range, perMs] = [1_000_000_000, 8_640_000_000, 100];

export const stampNow = (): number => base + (Math.floor(monotonicMs() * perMs) % range);

/** Milliseconds since the stamp was made, by whichever process of this machine. */
export const msSince = (stamp: number): number => ((stampNow() - stamp + range) % range) / perMs;
