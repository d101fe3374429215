import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideHelper, type HelperFacts, type HelperStep } from './helper-decide.ts';

const facts: HelperFacts = { nowMs: 1_000_000, idleSinceMs: null, process: null, mayStartAtMs: 0, write: null };
const ready = { startedAtMs: 0, isReady: true, isEnding: false };
const ago = (ms: number): number => facts.nowMs - ms;

const table: [what: string, change: Partial<HelperFacts>, step: HelperStep][] = [
  ['it is needed and does not run', {}, { kind: 'start' }],
  ['it failed a moment ago', { mayStartAtMs: 1_000_500 }, { kind: 'wait', untilMs: 1_000_500 }],
  ['nobody needs it', { idleSinceMs: 0 }, { kind: 'wait', untilMs: Infinity }],
  [
    'it starts',
    { process: { ...ready, isReady: false, startedAtMs: ago(9_999) } },
    { kind: 'wait', untilMs: 1_000_001 },
  ],
  [
    'it does not become ready',
    { process: { ...ready, isReady: false, startedAtMs: ago(10_000) } },
    { kind: 'kill', reason: 'not ready in time' },
  ],
  ['it runs and is needed', { process: ready }, { kind: 'wait', untilMs: Infinity }],
  ['nobody has needed it for 29 s', { process: ready, idleSinceMs: ago(29_000) }, { kind: 'wait', untilMs: 1_001_000 }],
  ['nobody has needed it for 30 s', { process: ready, idleSinceMs: ago(30_000) }, { kind: 'end' }],
  [
    'it was told to end',
    { process: { ...ready, isEnding: true }, idleSinceMs: ago(60_000) },
    { kind: 'wait', untilMs: Infinity },
  ],
  [
    'it writes',
    { process: ready, write: { queuedAtMs: 0, startedAtMs: ago(44_000) } },
    { kind: 'wait', untilMs: 1_001_000 },
  ],
  [
    'it writes for 45 s',
    { process: ready, write: { queuedAtMs: 0, startedAtMs: ago(45_000) } },
    { kind: 'kill', reason: 'no write_result in time' },
  ],
  [
    'a write waits for its start',
    { mayStartAtMs: Infinity, write: { queuedAtMs: ago(44_000), startedAtMs: null } },
    { kind: 'wait', untilMs: 1_001_000 },
  ],
  [
    'a write waited for 45 s',
    { mayStartAtMs: Infinity, write: { queuedAtMs: ago(45_000), startedAtMs: null } },
    { kind: 'fail_write' },
  ],
];

for (const [what, change, step] of table) {
  test(`${what}: ${step.kind}`, () => assert.deepEqual(decideHelper({ ...facts, ...change }), step));
}
