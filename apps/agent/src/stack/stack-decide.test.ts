import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import type { Release } from '@station/protocol/release';
import { startWatch } from './health-decide.ts';
import { emptyJournal, type Journal, type OperationRecord } from './journal.ts';
import { decide, decideBringUp, runningPart, type RunningPart, type Step } from './stack-decide.ts';
import type { Attempts, Facts, StepFailure, Watch } from './stack-facts.ts';
import type { Surface } from './surface-ports.ts';
import { noAttempts } from './stack-facts.ts';

const release = (version: string): Release => ({
  version,
  images: { backend: `registry.test/backend:${version}` },
  imageIds: { backend: `sha256:${version}` },
  digests: {},
  layers: {},
});
const old = release('1.0.0');
const next = release('2.0.0');
const unpulled: Release = { ...next, imageIds: {} };
const gate = { stabilizationMs: 45_000, timeoutMs: 60_000, devicesMs: 200_000 };

const idle: Facts = {
  bootId: 'boot-1',
  journal: { ...emptyJournal, installed: old, upInBoot: 'boot-1' },
  journalInDoubt: false,
  presentImages: ['sha256:1.0.0'],
  pinnedImages: ['sha256:1.0.0'],
  staleFiles: {},
  watch: null,
  attempts: noAttempts(),
  bringUpDue: false,
  checkDue: false,
  images: { unhealed: {}, tried: ['sha256:1.0.0', 'sha256:2.0.0'] },
  gate,
};

const operation: OperationRecord = {
  id: 'one',
  kind: 'update',
  trigger: 'automatic',
  startedAt: '2026-06-01T03:00:00.000Z',
  from: old,
  to: next,
  phase: 'preparing',
  phaseBootId: 'boot-1',
  resumed: 0,
  switchedAt: null,
  failure: null,
};

const surface: Surface = { page: 'text', socket: false, setupNeeded: null, logIn: false, devices: [] };

type Given = {
  operation: Partial<OperationRecord>;
  attempts?: Partial<Attempts>;
  watch?: Watch | null;
  journal?: Partial<Journal>;
  facts?: Partial<Facts>;
};

const during = ({ operation: changes, attempts = {}, watch = null, journal = {}, facts = {} }: Given): Facts => ({
  ...idle,
  watch,
  attempts: { ...noAttempts(), ...attempts },
  journal: { ...idle.journal, ...journal, operation: { ...operation, ...changes } },
  ...facts,
});

const failure = (changes: Partial<StepFailure> = {}): StepFailure => ({
  kind: 'failed',
  failures: 1,
  code: 'registry_unavailable',
  reason: 'no answer',
  transient: true,
  ...changes,
});
const upFailure = (changes: Partial<StepFailure> = {}): StepFailure =>
  failure({ code: 'engine_failed', reason: 'cannot start', ...changes });

const watching = (changes: Partial<Watch>): Watch => ({ ...startWatch(0), attempts: 1, ...changes });
const passed = watching({ lastSampleMs: 45_000, passingSinceMs: 2000, firstPassMs: 2000 });
const crashing = watching({
  lastSampleMs: 4000,
  restarts: { backend: { count: 4, lastAfterMs: 4000, passedSince: false } },
});
const fail = (reason: string, more: object, code = 'release_unhealthy'): Step => ({
  kind: 'record',
  change: { kind: 'fail', failure: { code, reason }, bringUpAgain: true, ...more },
});
const revert = (reason: string, code = 'release_unhealthy'): Step => ({
  kind: 'record',
  change: { kind: 'revert', failure: { code, reason } },
});

type Row = readonly [name: string, facts: Facts, expected: Step];

function table(title: string, rows: readonly Row[]): void {
  describe(title, () => {
    for (const [name, facts, expected] of rows) test(name, () => assert.deepEqual(decide(facts), expected));
  });
}

table('before anything else', [
  [
    'a journal in doubt is written again, also before stale files',
    { ...idle, journalInDoubt: true, staleFiles: { 'current_version.txt': '1.0.0\n' } },
    { kind: 'write_journal' },
  ],
  [
    'stale files are written, also in the middle of an operation',
    during({ operation: { phase: 'switching' }, facts: { staleFiles: { 'rollback.json': null } } }),
    { kind: 'write_files', files: { 'rollback.json': null } },
  ],
]);

const full = failure({ code: 'disk_space_low', reason: 'too small', transient: false });
const leftovers = {
  fetched: { 'sha256:f': 'registry.test/backend:1.5.0', 'sha256:own': 'registry.test/backend:2.0.0' },
  retired: { 'sha256:r': 'registry.test/backend:0.9.0', 'sha256:1.0.0': 'registry.test/backend:1.0.0' },
};

table('with too little space', [
  [
    'what other releases left behind goes first; what this one has fetched, and what is installed, stays',
    during({ operation: { to: unpulled }, attempts: { space: full }, journal: leftovers }),
    { kind: 'remove_images', imageIds: ['sha256:f', 'sha256:r'] },
  ],
  [
    'it goes also when only the pull has found out',
    during({ operation: { phase: 'pulling', to: unpulled }, attempts: { pull: full }, journal: leftovers }),
    { kind: 'remove_images', imageIds: ['sha256:f', 'sha256:r'] },
  ],
  [
    'what could not be removed is not tried again',
    during({
      operation: { to: unpulled },
      attempts: { space: full, tidied: { pin_images: [], unpin_images: [], remove_images: ['sha256:f', 'sha256:r'] } },
      journal: leftovers,
    }),
    fail('too small', { bringUpAgain: false, fetched: {} }, 'disk_space_low'),
  ],
  [
    'nothing is removed for a failure of another kind',
    during({
      operation: { to: unpulled },
      attempts: { space: failure({ code: 'image_missing', reason: 'gone', transient: false }) },
      journal: leftovers,
    }),
    fail('gone', { bringUpAgain: false, fetched: {} }, 'image_missing'),
  ],
]);

table('without an operation', [
  ['there is nothing to do', idle, { kind: 'idle' }],
  ['an installed release that is due is brought up', { ...idle, bringUpDue: true }, { kind: 'bring_up' }],
  [
    'nothing is brought up where nothing is installed',
    { ...idle, bringUpDue: true, journal: emptyJournal, pinnedImages: [] },
    { kind: 'idle' },
  ],
  [
    'a wanted image without a pin is pinned',
    { ...idle, pinnedImages: [] },
    { kind: 'pin_images', imageIds: ['sha256:1.0.0'] },
  ],
  ['an image that was removed cannot be pinned', { ...idle, pinnedImages: [], presentImages: [] }, { kind: 'idle' }],
  [
    'an image that could not be pinned is not tried again at once',
    {
      ...idle,
      pinnedImages: [],
      attempts: { ...noAttempts(), tidied: { pin_images: ['sha256:1.0.0'], unpin_images: [], remove_images: [] } },
    },
    { kind: 'idle' },
  ],
  [
    'the pin of an image that nobody wants is removed',
    { ...idle, pinnedImages: ['sha256:1.0.0', 'sha256:0.9.0'] },
    { kind: 'unpin_images', imageIds: ['sha256:0.9.0'] },
  ],
  [
    'a pin that could not be removed is not tried again at once',
    {
      ...idle,
      pinnedImages: ['sha256:1.0.0', 'sha256:0.9.0'],
      attempts: { ...noAttempts(), tidied: { pin_images: [], unpin_images: ['sha256:0.9.0'], remove_images: [] } },
    },
    { kind: 'idle' },
  ],
  [
    'retired images are removed',
    { ...idle, journal: { ...idle.journal, retired: { 'sha256:0.9.0': 'registry.test/backend:0.9.0' } } },
    { kind: 'remove_images', imageIds: ['sha256:0.9.0'] },
  ],
  [
    'a retired image that is in use is not tried again at once',
    {
      ...idle,
      journal: { ...idle.journal, retired: { 'sha256:0.9.0': 'registry.test/backend:0.9.0' } },
      attempts: { ...noAttempts(), tidied: { pin_images: [], unpin_images: [], remove_images: ['sha256:0.9.0'] } },
    },
    { kind: 'idle' },
  ],
]);

table('preparing', [
  ['asks for the space first', during({ operation: { to: unpulled } }), { kind: 'check_space', delayMs: 0 }],
  [
    'goes straight to the switch when all images are here',
    during({ operation: {}, attempts: { surface }, facts: { presentImages: ['sha256:2.0.0'] } }),
    { kind: 'record', change: { kind: 'switch', imageIds: { backend: 'sha256:2.0.0' }, digests: {}, surface } },
  ],
  [
    'looks at the running release before it is replaced',
    during({ operation: {}, facts: { presentImages: ['sha256:2.0.0'] } }),
    { kind: 'learn_surface' },
  ],
  [
    'compares nothing when somebody goes back to an older release',
    during({ operation: { from: next, to: old }, facts: { presentImages: ['sha256:1.0.0'] } }),
    { kind: 'record', change: { kind: 'switch', imageIds: { backend: 'sha256:1.0.0' }, digests: {} } },
  ],
  [
    'compares nothing in a rollback',
    during({ operation: { kind: 'rollback' }, facts: { presentImages: ['sha256:2.0.0'] } }),
    { kind: 'record', change: { kind: 'switch', imageIds: { backend: 'sha256:2.0.0' }, digests: {} } },
  ],
  [
    'compares nothing when a person asks again for a release that has failed',
    during({
      operation: {},
      journal: { quarantined: [{ version: '2.0.0', reason: 'blank', at: '2026-06-01T03:00:00.000Z' }] },
      facts: { presentImages: ['sha256:2.0.0'] },
    }),
    { kind: 'record', change: { kind: 'switch', imageIds: { backend: 'sha256:2.0.0' }, digests: {} } },
  ],
  [
    'compares nothing when nothing ran before',
    during({ operation: { from: null }, facts: { presentImages: ['sha256:2.0.0'] } }),
    { kind: 'record', change: { kind: 'switch', imageIds: { backend: 'sha256:2.0.0' }, digests: {} } },
  ],
  [
    'fetches when there is room',
    during({ operation: { to: unpulled }, attempts: { space: { kind: 'ok', layers: { a: 1 } } } }),
    { kind: 'record', change: { kind: 'fetch', layers: { a: 1 } } },
  ],
  [
    'asks again after a pause',
    during({ operation: { to: unpulled }, attempts: { space: failure() } }),
    { kind: 'check_space', delayMs: 1000 },
  ],
  [
    'ends when the disk is too small, the stack untouched',
    during({
      operation: { to: unpulled },
      attempts: { space: failure({ code: 'disk_space_low', reason: 'full', transient: false }) },
    }),
    {
      kind: 'record',
      change: { kind: 'fail', failure: { code: 'disk_space_low', reason: 'full' }, bringUpAgain: false, fetched: {} },
    },
  ],
  [
    'brings up what is installed first after a boot',
    during({ operation: { to: unpulled, phaseBootId: 'boot-0' } }),
    { kind: 'up', delayMs: 0 },
  ],
  [
    'goes on after that, however it went',
    during({ operation: { to: unpulled, phaseBootId: 'boot-0' }, attempts: { up: upFailure() } }),
    { kind: 'check_space', delayMs: 0 },
  ],
  [
    'has nothing to bring up in a first install',
    during({ operation: { to: unpulled, from: null, phaseBootId: 'boot-0' }, journal: { installed: null } }),
    { kind: 'check_space', delayMs: 0 },
  ],
]);

const pulling = { phase: 'pulling', to: unpulled } as const;
const pulled = { kind: 'ok', imageIds: { a: 'b' }, digests: { a: 'c' }, isDoubtful: false } as const;

const unread = (imageIds: string[]): { pull: StepFailure } => ({
  pull: failure({ code: 'disk_space_low', reason: 'no room to read it', transient: false, unread: imageIds }),
});
const cannotBeRead = fail('no room to read it', { bringUpAgain: false, fetched: {} }, 'disk_space_low');

table('with suspect images that there is no room to read through', [
  [
    'makes room first: that may be enough to read them',
    during({ operation: pulling, attempts: unread(['sha256:own']), journal: leftovers }),
    { kind: 'remove_images', imageIds: ['sha256:f', 'sha256:r'] },
  ],
  [
    'removes them, to fetch them again',
    during({ operation: pulling, attempts: unread(['sha256:a', 'sha256:b']) }),
    { kind: 'discard', imageIds: ['sha256:a', 'sha256:b'] },
  ],
  [
    'keeps one that the installed release uses: it was there before',
    during({ operation: pulling, attempts: unread(['sha256:1.0.0', 'sha256:b']) }),
    { kind: 'discard', imageIds: ['sha256:b'] },
  ],
  [
    'removes nothing of a release that is kept',
    during({
      operation: pulling,
      attempts: unread(['sha256:2.0.0', 'sha256:b']),
      journal: { kept: [{ release: next, at: '2026-06-01T03:00:00.000Z' }] },
    }),
    cannotBeRead,
  ],
  [
    'gives up when one cannot be removed',
    during({
      operation: pulling,
      attempts: {
        ...unread(['sha256:b']),
        tidied: { pin_images: [], unpin_images: [], remove_images: ['sha256:b'] },
      },
    }),
    cannotBeRead,
  ],
]);

table('pulling', [
  ['pulls', during({ operation: pulling }), { kind: 'pull', delayMs: 0, suspect: false }],
  [
    'trusts what this boot fetched',
    during({ operation: pulling, journal: { fetchingSince: 'boot-1' } }),
    { kind: 'pull', delayMs: 0, suspect: false },
  ],
  [
    'suspects what another boot fetched',
    during({ operation: pulling, journal: { fetchingSince: 'boot-0' } }),
    { kind: 'pull', delayMs: 0, suspect: true },
  ],
  [
    'brings up what is installed first after a boot',
    during({ operation: { ...pulling, phaseBootId: 'boot-0' } }),
    { kind: 'up', delayMs: 0 },
  ],
  [
    'switches when all is here',
    during({ operation: pulling, attempts: { surface, pull: pulled } }),
    { kind: 'record', change: { kind: 'switch', imageIds: { a: 'b' }, digests: { a: 'c' }, surface } },
  ],
  [
    'waits longer before each try',
    during({ operation: pulling, attempts: { pull: failure({ failures: 2 }) } }),
    { kind: 'pull', delayMs: 4000, suspect: false },
  ],
  [
    'gives up after three tries, and remembers what was fetched',
    during({ operation: pulling, attempts: { pull: failure({ failures: 3, fetched: { x: 'y' } }) } }),
    {
      kind: 'record',
      change: {
        kind: 'fail',
        failure: { code: 'registry_unavailable', reason: 'no answer' },
        bringUpAgain: false,
        fetched: { x: 'y' },
      },
    },
  ],
  [
    'gives up at once what trying again cannot help',
    during({ operation: pulling, attempts: { pull: failure({ code: 'image_missing', transient: false }) } }),
    {
      kind: 'record',
      change: {
        kind: 'fail',
        failure: { code: 'image_missing', reason: 'no answer' },
        bringUpAgain: false,
        fetched: {},
      },
    },
  ],
  [
    'a bring-up that cannot fetch its images is due again',
    during({ operation: { ...pulling, kind: 'bootstrap' }, attempts: { pull: failure({ transient: false }) } }),
    {
      kind: 'record',
      change: {
        kind: 'fail',
        failure: { code: 'registry_unavailable', reason: 'no answer' },
        bringUpAgain: true,
        fetched: {},
      },
    },
  ],
]);

table('switching', [
  ['brings the stack up', during({ operation: { phase: 'switching' } }), { kind: 'up', delayMs: 0 }],
  [
    'watches it once it is up',
    during({ operation: { phase: 'switching' }, attempts: { up: { kind: 'ok' } } }),
    { kind: 'record', change: { kind: 'verify' } },
  ],
  [
    'simply tries again first',
    during({ operation: { phase: 'switching' }, attempts: { up: upFailure() } }),
    { kind: 'up', delayMs: 1000 },
  ],
  [
    'goes back after three failures',
    during({ operation: { phase: 'switching' }, attempts: { up: upFailure({ failures: 3 }) } }),
    revert('cannot start', 'engine_failed'),
  ],
  [
    'goes back at once when it hung',
    during({ operation: { phase: 'switching' }, attempts: { up: upFailure({ transient: false }) } }),
    revert('cannot start', 'engine_failed'),
  ],
  [
    'goes back after five interruptions',
    during({ operation: { phase: 'switching', resumed: 5 } }),
    revert('interrupted too often'),
  ],
  ['goes on after four', during({ operation: { phase: 'switching', resumed: 4 } }), { kind: 'up', delayMs: 0 }],
  [
    'has nothing to go back to in a first install',
    during({
      operation: { phase: 'switching', from: null },
      attempts: { up: upFailure({ failures: 3 }) },
    }),
    fail('cannot start', {}, 'engine_failed'),
  ],
]);

table('verifying', [
  ['brings up first in a new process', during({ operation: { phase: 'verifying' } }), { kind: 'up', delayMs: 0 }],
  [
    'tries that again',
    during({ operation: { phase: 'verifying' }, attempts: { up: upFailure() } }),
    { kind: 'up', delayMs: 1000 },
  ],
  [
    'goes back when that fails',
    during({ operation: { phase: 'verifying' }, attempts: { up: upFailure({ failures: 3 }) } }),
    revert('cannot start'),
  ],
  [
    'probes at once',
    during({ operation: { phase: 'verifying' }, watch: startWatch(0) }),
    { kind: 'probe', delayMs: 0 },
  ],
  [
    'probes often while it starts',
    during({ operation: { phase: 'verifying' }, watch: watching({ lastSampleMs: 9999 }) }),
    { kind: 'probe', delayMs: 100 },
  ],
  [
    'probes less often when that takes long',
    during({ operation: { phase: 'verifying' }, watch: watching({ lastSampleMs: 10_000 }) }),
    { kind: 'probe', delayMs: 1000 },
  ],
  [
    'probes less often while it passes',
    during({ operation: { phase: 'verifying' }, watch: watching({ lastSampleMs: 500, passingSinceMs: 500 }) }),
    { kind: 'probe', delayMs: 1000 },
  ],
  [
    'completes',
    during({ operation: { phase: 'verifying' }, watch: passed }),
    { kind: 'record', change: { kind: 'complete' } },
  ],
  ['goes back', during({ operation: { phase: 'verifying' }, watch: crashing }), revert('a service keeps crashing')],
  [
    'goes back after five interruptions',
    during({ operation: { phase: 'verifying', resumed: 5 }, watch: passed }),
    revert('interrupted too often'),
  ],
  [
    'a rollback that fails goes back to where it came from',
    during({ operation: { phase: 'verifying', kind: 'rollback' }, watch: crashing }),
    revert('a service keeps crashing'),
  ],
  [
    'a bring-up goes nowhere: it is due again',
    during({ operation: { phase: 'verifying', kind: 'bootstrap' }, watch: crashing }),
    fail('a service keeps crashing', {}),
  ],
]);

table('reverting', [
  ['brings the old release up', during({ operation: { phase: 'reverting' } }), { kind: 'up', delayMs: 0 }],
  [
    'goes back however often it was interrupted',
    during({ operation: { phase: 'reverting', resumed: 9 } }),
    { kind: 'up', delayMs: 0 },
  ],
  [
    'watches it once it is up',
    during({ operation: { phase: 'reverting' }, attempts: { up: { kind: 'ok' } } }),
    { kind: 'record', change: { kind: 'verify_revert' } },
  ],
  [
    'ends after three, the old release being due',
    during({ operation: { phase: 'reverting' }, attempts: { up: upFailure({ failures: 3 }) } }),
    fail('cannot start', {}, 'engine_failed'),
  ],
]);

table('verifying the previous release', [
  [
    'brings up first in a new process',
    during({ operation: { phase: 'verifying_revert' } }),
    { kind: 'up', delayMs: 0 },
  ],
  [
    'ends rolled back',
    during({ operation: { phase: 'verifying_revert' }, watch: passed }),
    { kind: 'record', change: { kind: 'reverted' } },
  ],
  [
    'blames no release when the devices stay away from this one too',
    during({
      operation: { phase: 'verifying_revert' },
      watch: watching({
        lastSampleMs: 201_000,
        passingSinceMs: 2000,
        firstPassMs: 2000,
        parts: [{ part: 'devices', isShown: false, fault: 'only 0 of 5 devices came back' }],
      }),
    }),
    { kind: 'record', change: { kind: 'reverted', isBlameless: true } },
  ],
  [
    'ends with the old release being due',
    during({ operation: { phase: 'verifying_revert' }, watch: crashing }),
    fail('a service keeps crashing', {}),
  ],
]);

test('the decision imports nothing but its own rooms', async () => {
  const text = await readFile(new URL('./stack-decide.ts', import.meta.url), 'utf8');
  const imported = [...text.matchAll(/from '([^']+)'/g)].map(([, from]) => from as string);
  assert.ok(imported.length > 0);
  assert.deepEqual(
    imported.filter((from) => !from.startsWith('.') && !/^@station\/protocol\/(own-value|version)$/.test(from)),
    [],
  );
});

describe('whether the installed release is brought up', () => {
  const at = (upInBoot: string | null, bootstrapOnStart: boolean, isStart = true) => ({
    upInBoot,
    bootstrapOnStart,
    isStart,
    bootId: 'now',
  });
  type Row = [
    name: string,
    at: ReturnType<typeof at>,
    found: RunningPart | null,
    due: ReturnType<typeof decideBringUp>,
  ];
  const table: readonly Row[] = [
    ['after an operation that left it so, whatever the value of BOOTSTRAP_ON_START', at(null, false), null, 'due'],
    ['after an operation that left it so, later too', at(null, true, false), 'all', 'due'],
    ['after a boot with BOOTSTRAP_ON_START', at('before', true), null, 'due'],
    ['after a boot without it, once somebody has looked', at('before', false), null, 'look'],
    ['after a boot without it, where it is down', at('before', false), 'none', 'not_due'],
    ['after a boot without it, where some of it runs', at('before', false), 'some', 'due'],
    ['after a boot without it, where all of it runs', at('before', false), 'all', 'due'],
    ['at a later start, once somebody has looked', at('now', true), null, 'look'],
    ['at a later start, where all of it runs', at('now', true), 'all', 'not_due'],
    ['at a later start, where some of it runs', at('now', true), 'some', 'due'],
    ['at a later start, where it is down', at('now', true), 'none', 'due'],
    ['at a later start without BOOTSTRAP_ON_START', at('now', false), null, 'not_due'],
    ['long after the start', at('now', true, false), null, 'not_due'],
  ];
  for (const [name, facts, found, due] of table)
    test(name, () => {
      assert.equal(decideBringUp(facts, found), due);
    });

  test('what runs of it is counted by service', () => {
    const container = (service: string, state: string) => ({
      id: service,
      service,
      state,
      image: 'a:1',
      imageId: 'sha256:a',
      health: 'none',
      restartCount: 0,
      exitCode: 0,
    });
    const services = ['backend', 'frontend'];
    const of = (...containers: ReturnType<typeof container>[]) => runningPart(containers, services);
    assert.equal(of(container('backend', 'running'), container('frontend', 'running')), 'all');
    assert.equal(of(container('backend', 'running'), container('frontend', 'exited')), 'some');
    assert.equal(of(container('backend', 'exited'), container('mqtt', 'running')), 'none');
    // Nobody has stopped it.
    assert.equal(of(container('backend', 'restarting'), container('frontend', 'restarting')), 'some');
  });
});

const unchecked = { images: { unhealed: {}, tried: [] } };
const gone = { image: 'registry.test/backend:2.0.0', why: 'needs_registry' } as const;
const damagedReason =
  'registry.test/backend:2.0.0 is damaged on this machine: it has to be fetched again, and its registry does not offer it now';
const failedUp = { up: upFailure({ failures: 3 }) };

table('images that may be damaged', [
  [
    'are checked before a release that cannot be started is blamed',
    during({ operation: { phase: 'switching' }, attempts: failedUp, facts: unchecked }),
    { kind: 'check_images', imageIds: ['sha256:2.0.0'] },
  ],
  [
    'are checked before one that keeps crashing is blamed',
    during({ operation: { phase: 'verifying' }, watch: crashing, facts: unchecked }),
    { kind: 'check_images', imageIds: ['sha256:2.0.0'] },
  ],
  [
    'are checked before the previous release is given up, too',
    during({ operation: { phase: 'reverting' }, attempts: failedUp, facts: unchecked }),
    { kind: 'check_images', imageIds: ['sha256:1.0.0'] },
  ],
  [
    'are not checked twice in a boot',
    during({
      operation: { phase: 'switching' },
      attempts: failedUp,
      journal: { imagesFoundWhole: { bootId: 'boot-1', ids: ['sha256:2.0.0'] } },
      facts: unchecked,
    }),
    revert('cannot start', 'engine_failed'),
  ],
  [
    'are checked again in the next boot',
    during({
      operation: { phase: 'switching' },
      attempts: failedUp,
      journal: { imagesFoundWhole: { bootId: 'boot-0', ids: ['sha256:2.0.0'] } },
      facts: unchecked,
    }),
    { kind: 'check_images', imageIds: ['sha256:2.0.0'] },
  ],
  [
    'are not checked by what may end this machine again and again',
    during({ operation: { phase: 'switching', resumed: 5 }, facts: unchecked }),
    revert('interrupted too often'),
  ],
  [
    'and are damaged: the release is not at fault',
    during({
      operation: { phase: 'switching' },
      attempts: failedUp,
      facts: { images: { unhealed: { 'sha256:2.0.0': gone }, tried: ['sha256:2.0.0'] } },
    }),
    revert(damagedReason, 'image_damaged'),
  ],
  [
    'that could not be read for lack of space say nothing',
    during({
      operation: { phase: 'switching' },
      attempts: failedUp,
      facts: { images: { unhealed: { 'sha256:2.0.0': { ...gone, why: 'unread' } }, tried: ['sha256:2.0.0'] } },
    }),
    revert('cannot start', 'engine_failed'),
  ],
  [
    'are checked after a doubtful fetch',
    during({ operation: pulling, attempts: { pull: { ...pulled, isDoubtful: true } }, facts: unchecked }),
    { kind: 'check_images', imageIds: ['b'] },
  ],
  [
    'are not used when they stay damaged',
    during({
      operation: pulling,
      attempts: { pull: { ...pulled, isDoubtful: true } },
      facts: { images: { unhealed: { b: gone }, tried: ['b'] } },
    }),
    {
      kind: 'record',
      change: {
        kind: 'fail',
        failure: { code: 'image_damaged', reason: damagedReason },
        bringUpAgain: false,
        fetched: { b: 'b' },
      },
    },
  ],
  [
    'are made again before anything else',
    { ...idle, bringUpDue: true, journal: { ...idle.journal, rebuilding: { saved: [], references: {} } } },
    { kind: 'rebuild', delayMs: 0 },
  ],
  [
    'wait for their registry no longer than three tries; then the stack is brought up as it is',
    {
      ...idle,
      bringUpDue: true,
      attempts: { ...noAttempts(), rebuild: failure({ failures: 3 }) },
      journal: { ...idle.journal, rebuilding: { saved: [], references: {} } },
    },
    { kind: 'bring_up' },
  ],
  ['are checked one after the other when nothing failed', { ...idle, checkDue: true }, { kind: 'check_next_image' }],
]);
