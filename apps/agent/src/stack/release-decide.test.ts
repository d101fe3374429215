import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import type { Release } from '@station/protocol/release';
import { emptyJournal, type Journal } from './journal.ts';
import {
  chooseAutomatic,
  chooseManual,
  findKept,
  fitRelease,
  nextTimeFloor,
  requestedVersion,
  type Circumstances,
} from './release-decide.ts';

const release = (version: string | null): Release => ({ version, images: {}, imageIds: {}, digests: {}, layers: {} });
const manifest: ReleaseManifest = {
  version: '1.2.0',
  images: { backend: 'b:1.2.0', frontend: 'f:1.2.0' },
  notes: null,
  releasedAt: null,
  minAgentVersion: null,
  rollout: 100,
  nextPublicKey: null,
};
const journal = (changes: Partial<Journal> = {}): Journal => ({
  ...emptyJournal,
  installed: release('1.1.0'),
  ...changes,
});
const at = (changes: Partial<Circumstances> = {}): Circumstances => ({
  journal: journal(),
  agentVersion: '1.0.0',
  isAutomatic: true,
  mustInstall: false,
  insideWindow: true,
  takesPart: true,
  isForgeable: false,
  ...changes,
});
const quarantined = [{ version: '1.2.0', reason: 'failed', at: '' }];

for (const [name, given, manifestChanges, expected] of [
  ['a newer release', {}, {}, 'install'],
  [
    'a first release, nothing being known of what runs',
    { journal: journal({ installed: release(null) }) },
    {},
    'install',
  ],
  ['the same release', { journal: journal({ installed: release('1.2.0') }) }, {}, 'current'],
  ['an older release', { journal: journal({ installed: release('2.0.0') }) }, {}, 'current'],
  ['the release a pre-release led to', { journal: journal({ installed: release('1.2.0-rc.1') }) }, {}, 'install'],
  ['a quarantined release', { journal: journal({ quarantined }) }, {}, 'quarantined'],
  [
    'a release that was not to blame for a stack that does not run yet',
    { journal: journal({ heldBack: '1.2.0' }) },
    {},
    'stack_not_running',
  ],
  ['a release newer than that one', { journal: journal({ heldBack: '1.1.5' }) }, {}, 'install'],
  ['a release for newer agents', {}, { minAgentVersion: '1.0.1' }, 'agent_too_old'],
  ['a release for this very agent', {}, { minAgentVersion: '1.0.0' }, 'install'],
  ['a station that updates manually', { isAutomatic: false }, {}, 'manual'],
  [
    'a station that must have a release',
    { isAutomatic: false, insideWindow: false, takesPart: false, mustInstall: true },
    {},
    'install',
  ],
  ['a manifest that others could write', { isForgeable: true }, {}, 'unsigned'],
  ['a first release that others could write', { isForgeable: true, mustInstall: true }, {}, 'unsigned'],
  ['a station outside the rollout', { takesPart: false }, {}, 'rollout'],
  ['a time outside the window', { insideWindow: false }, {}, 'maintenance_window'],
] as [string, Partial<Circumstances>, Partial<ReleaseManifest>, string][]) {
  test(`automatically: ${name} → ${expected}`, () => {
    const choice = chooseAutomatic({ ...manifest, ...manifestChanges }, at(given));
    assert.equal(choice.kind === 'deferred' ? choice.reason : choice.kind, expected);
  });
}

const manually = (given: Journal, requested: string | null, changes: Partial<ReleaseManifest> = {}, isSigned = false) =>
  chooseManual({ ...manifest, ...changes }, { journal: given, isSigned }, requested);

test('asked for the latest: installs a newer version, refuses one that failed before, never an older one', () => {
  assert.equal(manually(journal(), null).kind, 'install');
  assert.equal(manually(journal({ heldBack: '1.2.0' }), null).kind, 'install');
  assert.equal(manually(journal({ installed: release('2.0.0') }), null).kind, 'current');
  const refused = manually(journal({ quarantined }), null);
  assert.equal(refused.kind === 'refused' && refused.code, 'conflict');
});

test('asked for a version: uses the manifest, its images at another tag, or reports that they are unknown', () => {
  const named = manually(journal({ quarantined }), '1.2.0');
  assert.ok(named.kind === 'install' && named.release.images['backend'] === 'b:1.2.0');
  const older = manually(journal(), '0.9.0');
  assert.ok(
    older.kind === 'install' && older.release.version === '0.9.0' && older.release.images['frontend'] === 'f:0.9.0',
  );
  for (const backend of [`b@sha256:${'0'.repeat(64)}`, `b:1.2.0@sha256:${'0'.repeat(64)}`]) {
    const refused = manually(journal(), '0.9.0', { images: { ...manifest.images, backend } });
    assert.equal(refused.kind === 'refused' && refused.code, 'version_not_derivable');
  }
});

test('asked for a version with a public key: only the signed manifest names it, or one of its own', () => {
  assert.equal(manually(journal(), '1.2.0', {}, true).kind, 'install');
  assert.deepEqual(manually(journal(), '0.9.0', {}, true), { kind: 'find', version: '0.9.0' });
});

test('a release that is on the machine is found by its version', () => {
  const kept = journal({ kept: [{ release: release('1.0.0'), at: '' }] });
  assert.equal(findKept(kept, '1.0.0')?.version, '1.0.0');
  assert.equal(findKept(kept, '1.0.1'), null);
});

test('reads the version of a request', () => {
  assert.equal(requestedVersion(null), null);
  assert.equal(requestedVersion('v1.0.0'), '1.0.0');
  assert.equal(requestedVersion('newest'), undefined);
});

const floorMs = Date.UTC(2026, 10, 23);
const dayMs = 24 * 3600_000;
const floors: [string, number, boolean | null, number | null][] = [
  ['rises after a day', floorMs + dayMs + 1, true, floorMs + dayMs + 1],
  ['rises, too, when nobody knows whether the clock is right', floorMs + dayMs + 1, null, floorMs + dayMs + 1],
  ['does not rise with a clock that is not right', floorMs + 3650 * dayMs, false, null],
  ['stays within a day', floorMs + dayMs, true, null],
  ['came from a clock that was ahead, and falls', floorMs - 3650 * dayMs, true, floorMs - 3650 * dayMs],
  ['stays when a clock that may be wrong is behind', floorMs - dayMs, null, null],
  ['stays in 1970', 5_000, false, null],
];

for (const [story, nowMs, isClockRight, expected] of floors) {
  test(`the time floor ${story}`, () =>
    assert.equal(nextTimeFloor({ floor: new Date(floorMs).toISOString(), nowMs, isClockRight }), expected));
}

test('the first time floor is the time of the first check', () =>
  assert.equal(nextTimeFloor({ floor: null, nowMs: floorMs, isClockRight: true }), floorMs));

test('a release is fitted to the services that run here; what it does not name stays as installed', () => {
  const installed: Release = {
    version: '1.1.0',
    images: { backend: 'b:1.1.0', frontend: 'f:1.1.0', cache: 'c:1.1.0' },
    imageIds: { backend: 'sha256:b', frontend: 'sha256:f', cache: 'sha256:c' },
    digests: { backend: 'b@sha256:1', frontend: 'f@sha256:1', cache: 'c@sha256:1' },
    layers: {},
  };
  const named: Release = { ...release('1.2.0'), images: { backend: 'b:1.2.0', database: 'd:1.2.0' } };
  assert.deepEqual(fitRelease(named, installed, ['backend', 'frontend']), {
    release: {
      ...named,
      images: { backend: 'b:1.2.0', frontend: 'f:1.1.0' },
      imageIds: { frontend: 'sha256:f' },
      digests: { frontend: 'f@sha256:1' },
    },
    ignored: ['database'],
  });
  assert.deepEqual(fitRelease(named, null, ['backend', 'frontend']).release.images, { backend: 'b:1.2.0' });
});
