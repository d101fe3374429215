import type { Behaviour } from '../../rig/small-images.ts';

/** Releases of a small stack that pass every gate and turn out bad afterwards, and the reason that a station gives. */
export const lateReleases: readonly (readonly [name: string, behaviour: Behaviour, code: string])[] = [
  ['crashes again and again', { kind: 'crash-after', seconds: 7 }, 'release_crashes'],
  ['shows its page no more', { kind: 'unhealthy-after', seconds: 7 }, 'release_page_broken'],
  ['uses all the memory that it may use', { kind: 'fill-memory-after', seconds: 7 }, 'release_out_of_memory'],
];
