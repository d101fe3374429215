import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import {
  attemptKey,
  chooseEntry,
  decide,
  oldKeptMs,
  refusedEntries,
  refusedImages,
  type Attempt,
  type CachedFirmware,
  type Facts,
} from './firmware-decide.ts';

const now = Date.parse('2026-06-01T00:00:00.000Z');
const sum = (letter: string): string => `sha256:${letter.repeat(64)}`;

const item = (version: string, changes: Partial<CachedFirmware> = {}): CachedFirmware => ({
  name: 'lamp',
  version,
  file: `lamp@${version}.bin`,
  path: `/firmware/lamp@${version}.bin`,
  checksum: sum('a'),
  size: 100,
  downloadedAt: '2026-05-31T00:00:00.000Z',
  chip: 'esp32',
  project: 'lamp',
  minVersion: null,
  ...changes,
});

const entry = (version: string, changes: Partial<FirmwareEntry> = {}): FirmwareEntry => ({
  name: 'lamp',
  version,
  url: 'https://releases.test/lamp.bin',
  checksum: sum('b'),
  size: null,
  chip: null,
  minVersion: null,
  ...changes,
});

const attempt = (changes: Partial<Attempt> = {}): Attempt => ({
  kind: 'failed',
  reason: 'ECONNREFUSED',
  failures: 1,
  dueMs: 500,
  ...changes,
});

/** Nothing to do: all is cached, handed over, and asked for. */
const atRest: Facts = {
  nowMs: 100,
  wallMs: now,
  pollDueMs: 1000,
  entries: [entry('1.0.0', { checksum: sum('a') })],
  signedFloors: {},
  describesTypes: false,
  items: [item('1.0.0')],
  files: [{ name: 'lamp', version: '1.0.0' }],
  partials: [],
  attempts: new Map(),
  needsApproval: false,
  handedOver: { lamp: { version: '1.0.0', checksum: sum('a'), path: '/firmware/lamp@1.0.0.bin' } },
  types: [{ type: 'lamp', installed: ['1.0.0'], cached: '1.0.0' }],
  askDueMs: 800,
  handOvers: new Map(),
};

const decideWith = (changes: Partial<Facts>) => decide({ ...atRest, ...changes });

describe('the next step', () => {
  it('is to wait until the manifest or the backend is due', () => {
    assert.deepEqual(decide(atRest), { kind: 'wait', untilMs: 800 });
    assert.deepEqual(decideWith({ askDueMs: 2000 }), { kind: 'wait', untilMs: 1000 });
    assert.deepEqual(decideWith({ items: [], files: [], entries: [] }), { kind: 'wait', untilMs: 1000 });
  });

  it('is the manifest when that is due, before all else', () => {
    assert.deepEqual(decideWith({ pollDueMs: 100, askDueMs: 0 }), { kind: 'poll' });
  });

  it('is to ask the backend when that is due, and not while there is nothing to hand over', () => {
    assert.deepEqual(decideWith({ askDueMs: 100 }), { kind: 'ask_backend' });
    assert.deepEqual(decideWith({ askDueMs: 100, items: [], files: [], entries: [] }).kind, 'wait');
    const describing = { items: [], files: [], entries: [], describesTypes: true };
    assert.deepEqual(decideWith({ askDueMs: 100, ...describing }), { kind: 'ask_backend' });
  });

  it('is to hand over what either side does not know of', () => {
    for (const changes of [
      { handedOver: {} },
      { handedOver: { lamp: { version: '1.0.0', checksum: sum('c'), path: '/firmware/lamp@1.0.0.bin' } } },
      { handedOver: { lamp: { version: '1.0.0', checksum: sum('a'), path: '/other/lamp@1.0.0.bin' } } },
      { handedOver: { lamp: { version: '1.0.0', checksum: sum('a') } } },
      { handedOver: { lamp: { version: '0.9.0', checksum: sum('a') } } },
      { types: [] },
      { types: [{ type: 'lamp', installed: [], cached: null }] },
      { types: [{ type: 'lamp', installed: [], cached: '0.9.0' }] },
      { types: [{ type: 'lamp', installed: [], cached: '1.0.0', needsApproval: true }] },
      { types: [{ type: 'lamp', installed: [], cached: '1.0.0', needsApproval: false }], needsApproval: true },
    ] satisfies Partial<Facts>[]) {
      assert.deepEqual(decideWith(changes), { kind: 'hand_over', item: item('1.0.0') }, JSON.stringify(changes));
    }
  });

  it('is not to hand over again when the backend knows a newer one', () => {
    assert.equal(decideWith({ types: [{ type: 'lamp', installed: [], cached: '1.1.0' }] }).kind, 'wait');
    const newer = { type: 'lamp', installed: [], cached: '1.1.0', needsApproval: true };
    assert.equal(decideWith({ types: [newer] }).kind, 'wait');
  });

  it('is not to hand over again what the backend knows, nor for a backend that does not say what needs approval', () => {
    const known = { type: 'lamp', installed: [], cached: '1.0.0' };
    assert.equal(decideWith({ types: [{ ...known, needsApproval: true }], needsApproval: true }).kind, 'wait');
    assert.equal(decideWith({ types: [known], needsApproval: true }).kind, 'wait');
  });

  it('is to wait with a hand-over that has just failed', () => {
    const handOvers = new Map([[attemptKey(item('1.0.0')), { failures: 1, dueMs: 300, reason: '409' }]]);
    assert.deepEqual(decideWith({ handedOver: {}, handOvers }), { kind: 'wait', untilMs: 300 });
    assert.equal(decideWith({ handedOver: {}, handOvers, nowMs: 300 }).kind, 'hand_over');
  });

  it('is to hand over what has failed least: one that the backend refuses delays no other', () => {
    const refused = item('1.0.0');
    const other = item('2.0.0', { name: 'climate', file: 'climate@2.0.0.bin' });
    const items = [refused, other];
    for (const dueMs of [0, 300]) {
      const handOvers = new Map([[attemptKey(refused), { failures: 9, dueMs, reason: '409' }]]);
      assert.deepEqual(decideWith({ items, handedOver: {}, handOvers }), { kind: 'hand_over', item: other });
    }
  });

  it('is to fetch what is newer, and what is not here at all', () => {
    const newer = entry('1.1.0');
    assert.deepEqual(decideWith({ entries: [newer] }), { kind: 'fetch', entry: newer });
    assert.deepEqual(decideWith({ entries: [newer], items: [], files: [] }), { kind: 'fetch', entry: newer });
  });

  it('is to wait with what has failed, until it is due', () => {
    const newer = entry('1.1.0');
    const attempts = new Map([[attemptKey(newer), attempt()]]);
    assert.deepEqual(decideWith({ entries: [newer], attempts }), { kind: 'wait', untilMs: 500 });
    assert.deepEqual(decideWith({ entries: [newer], attempts, nowMs: 500 }), { kind: 'fetch', entry: newer });
  });

  it('is what has failed least: one that always fails does not delay the others', () => {
    const never = entry('1.1.0');
    const other = entry('1.0.0', { name: 'climate' });
    const attempts = new Map([[attemptKey(never), attempt({ failures: 9, dueMs: 0 })]]);
    assert.deepEqual(decideWith({ entries: [never, other], attempts }), { kind: 'fetch', entry: other });
  });

  it('is what devices of the station need, then the rest', () => {
    const entries = [entry('1.0.0', { name: 'pir' }), entry('1.0.0', { name: 'esp32-light' })];
    for (const type of ['light', 'esp32-light']) {
      const types = [...(atRest.types ?? []), { type, installed: ['0.9.0'], cached: null }];
      assert.deepEqual(decideWith({ entries, types }), { kind: 'fetch', entry: entries[1] }, type);
    }
    assert.deepEqual(decideWith({ entries }), { kind: 'fetch', entry: entries[0] });
  });

  it('is to hand over before anything that may take long', () => {
    assert.equal(decideWith({ entries: [entry('1.1.0')], handedOver: {} }).kind, 'hand_over');
  });

  it('removes unfinished downloads that no manifest lists any more, once the manifest was read', () => {
    const wanted = 'b'.repeat(64);
    const unwanted = 'c'.repeat(64);
    const changes = { partials: [wanted, unwanted], entries: [entry('1.1.0')] };
    assert.deepEqual(decideWith(changes), { kind: 'remove_partial', checksum: unwanted });
    assert.equal(decideWith({ ...changes, entries: null }).kind, 'wait');
    assert.deepEqual(decideWith({ partials: ['a'.repeat(64)] }), { kind: 'remove_partial', checksum: 'a'.repeat(64) });
  });
});

describe('an old file', () => {
  const old = { name: 'lamp', version: '0.9.0' };
  const files = [old, { name: 'lamp', version: '1.0.0' }];
  const removed = { kind: 'remove_old', file: old };

  it('goes when every device of the type reports the new version', () => {
    assert.deepEqual(decideWith({ files }), removed);
  });

  for (const [name, changes] of Object.entries<Partial<Facts>>({
    'a device reports an older one': { types: [{ type: 'lamp', installed: ['0.8.0', '1.0.0'], cached: '1.0.0' }] },
    'a device has reported none yet': { types: [{ type: 'lamp', installed: ['', '1.0.0'], cached: '1.0.0' }] },
    'the backend does not answer': { types: null, askDueMs: 900 },
    'the backend offers something else': { types: [{ type: 'lamp', installed: ['1.0.0'], cached: '1.1.0' }] },
  })) {
    it(`stays while ${name}`, () => assert.equal(decideWith({ ...changes, files }).kind, 'wait'));
  }

  it('is removed after 30 days, whatever devices report', () => {
    const types = [{ type: 'lamp', installed: ['0.9.0'], cached: '1.0.0' }];
    const downloadedMs = Date.parse(item('1.0.0').downloadedAt);
    assert.equal(decideWith({ files, types, wallMs: downloadedMs + oldKeptMs }).kind, 'wait');
    assert.deepEqual(decideWith({ files, types, wallMs: downloadedMs + oldKeptMs + 1 }), removed);
  });

  it('stays while nobody knows whether the clock is right', () => {
    const types = [{ type: 'lamp', installed: ['0.9.0'], cached: '1.0.0' }];
    assert.equal(decideWith({ files, types, wallMs: null }).kind, 'wait');
  });

  it('stays when its age is unknown because the clock was not set', () => {
    const types = [{ type: 'lamp', installed: ['0.9.0'], cached: '1.0.0' }];
    for (const downloadedAt of ['1970-01-01T00:00:09.000Z', 'yesterday']) {
      assert.equal(decideWith({ files, types, items: [item('1.0.0', { downloadedAt })] }).kind, 'wait', downloadedAt);
    }
  });

  it('is not one that no metadata names yet, nor one whose name has no metadata', () => {
    assert.equal(decideWith({ files: [{ name: 'lamp', version: '1.1.0' }] }).kind, 'wait');
    assert.equal(decideWith({ files: [{ name: 'climate', version: '0.1.0' }] }).kind, 'wait');
  });
});

describe('an entry', () => {
  const here = { items: [item('1.0.0')], signedFloors: {} };

  it('that is here is current', () => {
    assert.deepEqual(chooseEntry(entry('1.0.0', { checksum: sum('a') }), here), { kind: 'current' });
  });

  for (const [name, offered, floors, reason] of [
    ['goes back', entry('0.9.9'), {}, /not newer than the cached 1\.0\.0/],
    ['differs only in build metadata', entry('1.0.0+2'), {}, /not newer/],
    ['is a candidate of what is here', entry('1.0.0-rc.1'), {}, /not newer/],
    ['has other content under the same version', entry('1.0.0'), {}, /other content/],
    ['is signed, and older than a signed one before', entry('1.1.0'), { lamp: '1.2.0' }, /older than 1\.2\.0/],
  ] as const) {
    it(`that ${name} is refused`, () => {
      const choice = chooseEntry(offered, { ...here, signedFloors: floors });
      assert.match(choice.kind === 'refused' ? choice.reason : '', reason);
    });
  }

  it('may be called like something every object has', () => {
    for (const name of ['constructor', 'valueof']) {
      assert.deepEqual(chooseEntry(entry('1.0.0', { name }), here), { kind: 'fetch' });
    }
    assert.equal(decideWith({ items: [item('1.0.0', { name: 'constructor' })], files: [] }).kind, 'hand_over');
  });
});

it('refusals of the manifest and of images differ', () => {
  const back = entry('0.9.0');
  const bad = entry('1.1.0', { name: 'climate' });
  const attempts = new Map([
    [attemptKey(bad), attempt({ kind: 'refused', reason: 'a bootloader, not an application' })],
    ['other@1.0.0 x', attempt()],
  ]);
  const facts = { ...atRest, entries: [back, bad], attempts };
  const given = [{ name: 'LAMP', version: null, reason: 'the name' }];
  assert.deepEqual(
    refusedEntries(given, facts).map(({ name }) => name),
    ['LAMP', 'lamp'],
  );
  assert.deepEqual(refusedImages(facts), [
    { name: 'climate', version: '1.1.0', reason: 'a bootloader, not an application' },
  ]);
});
