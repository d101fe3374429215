import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Release } from '@station/protocol/release';
import { emptyJournal, type Journal } from './journal.ts';
import {
  changeJournal,
  releaseToRun,
  rollbackTarget,
  wantedImages,
  type Change,
  type Moment,
} from './operation-decide.ts';

const release = (version: string | null, id = `sha256:${version}`): Release => ({
  version,
  images: { backend: `registry.test/backend:${version}` },
  imageIds: { backend: id },
  digests: {},
  layers: {},
});
const [first, old, next] = ['1.0.0', '1.1.0', '2.0.0'].map((version) => release(version)) as [
  Release,
  Release,
  Release,
];
const unpulled: Release = { ...next, imageIds: {} };

const moment: Moment = {
  now: '2026-06-01T03:00:00.000Z',
  bootId: 'boot-1',
  durationMs: 1000,
  downtimeMs: 200,
  startMs: 700,
  keepReleases: 1,
  probationMs: 0,
};
const installed: Journal = {
  ...emptyJournal,
  installed: old,
  kept: [{ release: first, at: '2026-05-01T00:00:00.000Z' }],
  upInBoot: 'boot-1',
};

const change = (journal: Journal, ...changes: Change[]): Journal =>
  changes.reduce((before, one) => changeJournal(before, one, moment), journal);
const begin = (to: Release, kind: 'update' | 'rollback' | 'bootstrap' = 'update'): Change => ({
  kind: 'begin',
  operation: { id: `to-${to.version}`, kind, trigger: 'manual', to },
});
const fetched: Change = { kind: 'fetch', layers: { layer: 5 } };
const switched: Change = {
  kind: 'switch',
  imageIds: next.imageIds,
  digests: { backend: 'registry.test/backend@sha256:d' },
};
const verify: Change = { kind: 'verify' };
const unhealthy = { code: 'release_unhealthy', reason: 'it crashes' };
const revert: Change = { kind: 'revert', failure: unhealthy };
const updating = [begin(unpulled), fetched, switched, verify] as const;
const failed = (bringUpAgain: boolean, changes: object = {}): Change => ({
  kind: 'fail',
  failure: { code: 'registry_unavailable', reason: 'no answer' },
  bringUpAgain,
  ...changes,
});

describe('an update', () => {
  test('begins with what is installed as the release to go back to', () => {
    const { operation } = change(installed, begin(unpulled));
    assert.deepEqual([operation?.from, operation?.phase, operation?.phaseBootId], [old, 'preparing', 'boot-1']);
    assert.deepEqual([operation?.resumed, operation?.switchedAt, operation?.failure], [0, null, null]);
  });

  test('takes up what the pull found', () => {
    const { operation } = change(installed, ...updating);
    assert.deepEqual(operation?.to, {
      ...next,
      digests: { backend: 'registry.test/backend@sha256:d' },
      layers: { layer: 5 },
    });
    assert.equal(operation?.switchedAt, moment.now);
  });

  test('pins the new release from the switch on only', () => {
    const pinned = (...changes: Change[]): string | null | undefined =>
      releaseToRun(change(installed, ...changes))?.version;
    assert.equal(pinned(), '1.1.0');
    assert.equal(pinned(begin(unpulled)), '1.1.0');
    assert.equal(pinned(begin(unpulled), fetched), '1.1.0');
    assert.equal(pinned(begin(unpulled), fetched, switched), '2.0.0');
    assert.equal(pinned(...updating), '2.0.0');
    assert.equal(pinned(...updating, revert), '1.1.0');
    assert.equal(pinned(...updating, revert, { kind: 'verify_revert' }), '1.1.0');
  });

  test('names the release it leaves as the one to go back to', () => {
    assert.equal(rollbackTarget(installed)?.release.version, '1.0.0');
    assert.equal(rollbackTarget(change(installed, begin(unpulled)))?.release.version, '1.1.0');
    assert.equal(rollbackTarget(change(installed, begin(first, 'rollback')))?.release.version, '1.1.0');
    assert.equal(rollbackTarget(change(installed, begin(old, 'bootstrap')))?.release.version, '1.0.0');
    assert.equal(rollbackTarget(emptyJournal), null);
  });

  test('never names a quarantined release, but the first kept one before it', () => {
    const left = { version: '1.0.0', reason: 'rolled back manually', at: moment.now };
    const journal = { ...installed, quarantined: [left] };
    assert.equal(rollbackTarget(journal), null);
    const kept = [...installed.kept, { release: release('0.9.0'), at: '2026-04-01T00:00:00.000Z' }];
    assert.equal(rollbackTarget({ ...journal, kept })?.release.version, '0.9.0');
  });

  test('wants the images of every release it names', () => {
    assert.deepEqual(
      [...wantedImages(change(installed, ...updating))],
      ['sha256:1.1.0', 'sha256:2.0.0', 'sha256:1.0.0'],
    );
  });

  describe('to a release that names another service', () => {
    const proxy = (version: string) => ({
      images: { proxy: 'proxy:edge' },
      imageIds: { proxy: `sha256:proxy-${version}` },
    });
    const named: Change = {
      kind: 'begin',
      operation: {
        id: 'a',
        kind: 'update',
        trigger: 'manual',
        to: { ...unpulled, images: { ...unpulled.images, proxy: 'proxy:edge' } },
      },
      beside: proxy('old'),
    };
    const toBoth: Change = {
      kind: 'switch',
      imageIds: { ...next.imageIds, ...proxy('new').imageIds },
      digests: {},
    };
    const withOld = { backend: 'sha256:1.1.0', ...proxy('old').imageIds };

    test('rolls back to what ran of that service too', () => {
      const reverting = change(installed, named, fetched, toBoth, verify, revert);
      assert.deepEqual(releaseToRun(reverting)?.imageIds, withOld);
      assert.ok(wantedImages(reverting).has('sha256:proxy-old'));
      const ended = change(reverting, { kind: 'verify_revert' }, { kind: 'reverted' });
      assert.deepEqual(ended.installed?.imageIds, withOld);
      // The tag by which the one before had it means another image now.
      assert.deepEqual(rollbackTarget(ended)?.release.imageIds, { ...first.imageIds, ...proxy('old').imageIds });
      assert.equal(ended.retired['sha256:proxy-old'], undefined);
    });

    test('keeps what ran of it for a manual rollback', () => {
      const ended = change(installed, named, fetched, toBoth, verify, { kind: 'complete' });
      assert.deepEqual(rollbackTarget(ended)?.release.imageIds, withOld);
    });

    test('pins what runs of it when the fetch fails, which may have moved its tag', () => {
      assert.deepEqual(change(installed, named, fetched, failed(false)).installed?.imageIds, withOld);
    });
  });

  test('completes: the new one is installed, the previous one kept, the one before that retired', () => {
    const ended = change(installed, ...updating, { kind: 'complete' });
    assert.equal(ended.installed?.version, '2.0.0');
    assert.deepEqual(ended.kept, [{ release: old, at: moment.now }]);
    assert.deepEqual(ended.retired, { 'sha256:1.0.0': 'registry.test/backend:1.0.0' });
    assert.deepEqual([ended.operation, ended.upInBoot, ended.fetchingSince], [null, 'boot-1', null]);
    assert.deepEqual(ended.history[0], {
      id: 'to-2.0.0',
      kind: 'update',
      trigger: 'manual',
      result: 'updated',
      from: '1.1.0',
      to: '2.0.0',
      reason: null,
      code: null,
      startedAt: moment.now,
      endedAt: moment.now,
      durationMs: 1000,
      downtimeMs: 200,
      isSwitched: true,
    });
  });

  test('keeps as many releases as asked for', () => {
    const two = { ...moment, keepReleases: 2 };
    const before = change(installed, ...updating);
    assert.deepEqual(
      changeJournal(before, { kind: 'complete' }, two).kept.map((entry) => entry.release.version),
      ['1.1.0', '1.0.0'],
    );
    assert.deepEqual(changeJournal(before, { kind: 'complete' }, { ...moment, keepReleases: 0 }).kept, []);
  });

  test('does not retire an image that the new release shares', () => {
    const shared: Change = { kind: 'switch', imageIds: first.imageIds, digests: {} };
    assert.deepEqual(change(installed, begin(unpulled), fetched, shared, verify, { kind: 'complete' }).retired, {});
  });

  test('that works lifts the quarantine of its release', () => {
    const quarantined = [{ version: '2.0.0', reason: 'before', code: 'x', at: moment.now }];
    assert.deepEqual(change({ ...installed, quarantined }, ...updating, { kind: 'complete' }).quarantined, []);
  });

  test('is held back and not quarantined when it was not to blame', () => {
    const ended = change(
      installed,
      ...updating,
      revert,
      { kind: 'verify_revert' },
      { kind: 'reverted', isBlameless: true },
    );
    assert.deepEqual([ended.heldBack, ended.quarantined, ended.history[0]?.result], ['2.0.0', [], 'rolled_back']);
  });

  test('that fails ends on the old release, the new one quarantined and retired', () => {
    const ended = change(installed, ...updating, revert, { kind: 'verify_revert' }, { kind: 'reverted' });
    assert.equal(ended.installed?.version, '1.1.0');
    assert.deepEqual(ended.quarantined, [{ version: '2.0.0', ...unhealthy, at: moment.now }]);
    assert.deepEqual(ended.retired, { 'sha256:2.0.0': 'registry.test/backend:2.0.0' });
    assert.deepEqual(ended.kept, installed.kept);
    assert.deepEqual([ended.history[0]?.result, ended.history[0]?.reason], ['rolled_back', 'it crashes']);
  });

  test('is not quarantined when the engine could start neither release', () => {
    const cannotStart = { code: 'engine_failed', reason: 'cannot start' };
    const way = (there: typeof unhealthy, back: typeof unhealthy): string[] =>
      change(
        installed,
        begin(unpulled),
        fetched,
        switched,
        { kind: 'revert', failure: there },
        { kind: 'fail', failure: back, bringUpAgain: true },
      ).quarantined.map(({ version }) => version);
    assert.deepEqual(way(cannotStart, cannotStart), []);
    assert.deepEqual(way(cannotStart, unhealthy), ['2.0.0']);
    assert.deepEqual(way(unhealthy, cannotStart), ['2.0.0']);
  });

  describe('that the engine could start as little as the previous release', () => {
    const cannotStart = { code: 'engine_failed', reason: 'the port is taken' };
    const stuck = change(
      installed,
      ...updating.slice(0, 3),
      { kind: 'revert', failure: cannotStart },
      { kind: 'fail', failure: cannotStart, bringUpAgain: true },
    );

    test('is in the history as one for which the services were changed', () => {
      assert.equal(stuck.history[0]?.isSwitched, true);
      const before = change(installed, begin(unpulled), { kind: 'fail', failure: cannotStart, bringUpAgain: false });
      assert.equal(before.history[0]?.isSwitched, false);
    });

    test('keeps what was fetched for the next try', () => {
      assert.deepEqual(stuck.fetched, { 'sha256:2.0.0': 'registry.test/backend:2.0.0' });
      assert.deepEqual([stuck.retired, stuck.upInBoot], [{}, null]);
    });

    test('is held back until the stack runs again', () => {
      assert.equal(stuck.heldBack, '2.0.0');
      const again = change(stuck, begin(old, 'bootstrap'), { kind: 'fail', failure: cannotStart, bringUpAgain: true });
      assert.equal(again.heldBack, '2.0.0');
      assert.equal(change(again, begin(old, 'bootstrap'), { kind: 'complete' }).heldBack, null);
      assert.equal(change(again, ...updating, { kind: 'complete' }).heldBack, null);
      assert.equal(change(again, ...updating, revert, { kind: 'reverted' }).heldBack, null);
    });
  });

  test('whose rollback fails is quarantined too, and the installed release is due', () => {
    const ended = change(installed, ...updating, revert, failed(true));
    assert.deepEqual(ended.quarantined, [{ version: '2.0.0', ...unhealthy, at: moment.now }]);
    assert.deepEqual([ended.installed?.version, ended.upInBoot], ['1.1.0', null]);
  });

  test('that ends before the switch does not change the stack and has no downtime', () => {
    const ended = change(installed, begin(unpulled), fetched, failed(false, { fetched: { 'sha256:x': 'image-x' } }));
    assert.deepEqual([ended.installed?.version, ended.upInBoot, ended.quarantined], ['1.1.0', 'boot-1', []]);
    assert.deepEqual([ended.fetched, ended.history[0]?.downtimeMs], [{ 'sha256:x': 'image-x' }, null]);
  });

  test('retires what an earlier failed one fetched', () => {
    const before = { ...installed, fetched: { 'sha256:x': 'image-x', 'sha256:2.0.0': 'again' } };
    const { retired, fetched: left } = change(before, ...updating, { kind: 'complete' });
    assert.deepEqual(retired, { 'sha256:x': 'image-x', 'sha256:1.0.0': 'registry.test/backend:1.0.0' });
    assert.deepEqual(left, {});
  });
});

describe('interruptions', () => {
  test('are counted', () => {
    assert.equal(change(installed, begin(unpulled), { kind: 'resume' }, { kind: 'resume' }).operation?.resumed, 2);
  });

  test('of the pull do not count against the release', () => {
    const resumed = change(installed, begin(unpulled), fetched, { kind: 'resume' }, switched);
    assert.equal(resumed.operation?.resumed, 0);
    assert.equal(change(resumed, { kind: 'resume' }, verify).operation?.resumed, 1);
  });

  test('keep the time of the first switch', () => {
    const before = change(installed, begin(unpulled), fetched, switched);
    const later = changeJournal(before, switched, { ...moment, now: '2026-06-01T04:00:00.000Z' });
    assert.equal(later.operation?.switchedAt, moment.now);
  });
});

describe('the doubt about fetched images', () => {
  const begun = change(installed, begin(unpulled), fetched);
  const laterBoot = { ...moment, bootId: 'boot-2' };

  test('begins with the fetch and keeps its first boot', () => {
    assert.equal(begun.fetchingSince, 'boot-1');
    assert.equal(changeJournal(begun, fetched, laterBoot).fetchingSince, 'boot-1');
  });

  test('ends when all images are there and looked at', () => {
    assert.equal(changeJournal(begun, switched, laterBoot).fetchingSince, null);
  });

  test('ends when suspect images are removed: the fetch begins again', () => {
    const before = { ...begun, fetched: { 'sha256:a': 'image-a', 'sha256:b': 'image-b' } };
    const anew = changeJournal(before, { kind: 'fetch_anew', imageIds: ['sha256:a'] }, laterBoot);
    assert.deepEqual([anew.fetchingSince, anew.fetched], [null, { 'sha256:b': 'image-b' }]);
    assert.deepEqual([anew.operation?.phase, anew.operation?.phaseBootId], ['preparing', 'boot-2']);
    assert.equal(changeJournal(anew, fetched, laterBoot).fetchingSince, 'boot-2');
  });

  test('ends with a failed fetch of the same boot, which was synced', () => {
    assert.equal(change(begun, failed(false)).fetchingSince, null);
  });

  test('outlives a failed fetch of another boot', () => {
    const ended = changeJournal(begun, failed(false), laterBoot);
    assert.equal(ended.fetchingSince, 'boot-1');
    // A rollback to images that are here has looked at nothing.
    assert.equal(change(ended, begin(first, 'rollback'), switched).fetchingSince, 'boot-1');
  });
});

describe('a manual rollback', () => {
  const gone: Change = { kind: 'switch', imageIds: first.imageIds, digests: {} };

  test('swaps the releases and quarantines the one it leaves', () => {
    const ended = change(installed, begin(first, 'rollback'), gone, verify, { kind: 'complete' });
    assert.deepEqual([ended.installed?.version, ended.kept.map((one) => one.release.version)], ['1.0.0', ['1.1.0']]);
    assert.deepEqual(
      ended.quarantined.map(({ version, reason }) => [version, reason]),
      [['1.1.0', 'rolled back manually']],
    );
    assert.equal(ended.history[0]?.result, 'rolled_back');
  });

  test('from a release of unknown version quarantines nothing', () => {
    const unknown = { ...installed, installed: release(null) };
    assert.deepEqual(change(unknown, begin(first, 'rollback'), gone, verify, { kind: 'complete' }).quarantined, []);
  });
});

describe('a bring-up', () => {
  const bringUp = [begin(old, 'bootstrap'), { kind: 'switch', imageIds: old.imageIds, digests: {} }, verify] as const;

  test('that works is no news', () => {
    const ended = change({ ...installed, upInBoot: null }, ...bringUp, { kind: 'complete' });
    assert.deepEqual([ended.history, ended.upInBoot, ended.operation], [[], 'boot-1', null]);
    assert.deepEqual(ended.kept, installed.kept);
  });

  test('that fails again and again is one piece of news', () => {
    const once = change(installed, ...bringUp, failed(true));
    const twice = change(once, ...bringUp, failed(true));
    assert.equal(once.history.length, 1);
    assert.equal(twice.history.length, 1);
    assert.equal(twice.upInBoot, null);
    const afterwards = change(twice, ...updating, { kind: 'complete' }, begin(next, 'bootstrap'), failed(true));
    assert.deepEqual(
      afterwards.history.map((entry) => entry.kind),
      ['bootstrap', 'update', 'bootstrap'],
    );
  });
});

describe('what is kept of the past', () => {
  test('is fifty entries', () => {
    let journal = installed;
    for (let count = 0; count < 60; count += 1)
      journal = change(journal, begin(release(`3.0.${count}`)), failed(false));
    assert.equal(journal.history.length, 50);
    assert.equal(journal.history[0]?.to, '3.0.59');
  });

  test('has one entry for a release that fails again and again automatically for one reason', () => {
    const begun = (trigger: 'automatic' | 'manual', id: string, to = unpulled): Change => ({
      kind: 'begin',
      operation: { id, kind: 'update', trigger, to },
    });
    const low: Change = { kind: 'fail', failure: { code: 'disk_space_low', reason: 'full' }, bringUpAgain: false };
    let journal = change(installed, begun('manual', 'asked'), failed(false));
    for (let count = 0; count < 60; count += 1)
      journal = change(journal, begun('automatic', `${count}`), failed(false));
    assert.deepEqual(
      journal.history.map(({ id }) => id),
      ['59', 'asked'],
    );
    // Another reason, another release and a person's request are news.
    journal = change(journal, begun('automatic', 'low'), low, begun('automatic', 'other', first), low);
    journal = change(journal, begun('manual', 'again', first), low, begun('automatic', 'after', first), low);
    assert.deepEqual(
      journal.history.map(({ id }) => id),
      ['after', 'again', 'other', 'low', '59', 'asked'],
    );
  });

  test('the latest time known never goes back', () => {
    const ahead = { ...installed, timeFloor: '2027-01-01T00:00:00.000Z' };
    assert.equal(change(ahead, begin(unpulled)).timeFloor, '2027-01-01T00:00:00.000Z');
    assert.equal(change(installed, begin(unpulled)).timeFloor, moment.now);
  });

  test('images that were removed are forgotten', () => {
    const retired = { 'sha256:a': 'a', 'sha256:b': 'b' };
    assert.deepEqual(change({ ...installed, retired }, { kind: 'forget_images', imageIds: ['sha256:a'] }).retired, {
      'sha256:b': 'b',
    });
  });

  test('so are those of a fetch that failed', () => {
    const before = { ...installed, fetched: { 'sha256:a': 'a', 'sha256:b': 'b' } };
    const { fetched: left } = change(before, { kind: 'forget_images', imageIds: ['sha256:a'] });
    assert.deepEqual(left, { 'sha256:b': 'b' });
  });
});

test('a change of an operation changes nothing where none is under way', () => {
  for (const kind of ['resume', 'verify', 'verify_revert', 'complete', 'reverted'] as const) {
    assert.equal(change(installed, { kind }), installed);
  }
});
