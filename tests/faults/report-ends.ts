import assert from 'node:assert/strict';
import type { BadEnd, Counts } from './explorer.ts';

const shown = 5;

/** Fails with the first wrong results, each with the command that repeats it. */
export function assertNoBadEnds(badEnds: readonly BadEnd[]): void {
  const lines = badEnds
    .slice(0, shown)
    .map(
      ({ replay, stage, faults }) => `${stage}: ${faults.join('; ')}\n  npx node tests/faults/replay.ts '${replay}'`,
    );
  assert.equal(badEnds.length, 0, `${badEnds.length} bad ends\n${lines.join('\n')}`);
}

export const describeCounts = ({ single, double, storms, damaged, afterwards }: Counts): string =>
  `${single} single, ${double} double, ${storms} storms, ${damaged} damaged files, ${afterwards} updates afterwards`;
