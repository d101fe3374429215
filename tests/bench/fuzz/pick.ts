import type { Random } from '../../faults/mutate.ts';

/** One of several, all as likely. */
export const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
