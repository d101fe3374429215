import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Release } from '@station/protocol/release';
import { checkImages, rebuild } from './image-care.ts';
import { emptyJournal, type Journal } from './journal.ts';
import { changeJournal, type Change } from './operation-decide.ts';
import { noAttempts, type ImagesSeen } from './stack-facts.ts';
import type { ImageCondition, RebuildAnswer, RebuildResult } from './stack-ports.ts';
import type { StepContext } from './step-context.ts';

const { signal } = new AbortController();
const installed: Release = {
  version: '1.0.0',
  images: { backend: 'test/backend:1.0.0', frontend: 'test/frontend:1.0.0' },
  imageIds: { backend: 'b', frontend: 'f' },
  digests: { frontend: 'test/frontend@sha256:d' },
  layers: {},
};

type Given = {
  found?: Record<string, ImageCondition>;
  answer?: RebuildAnswer;
  result?: RebuildResult;
  journal?: Partial<Journal>;
  images?: ImagesSeen;
};

function createContext({ found = {}, answer, result, journal: more, images }: Given) {
  const calls: string[] = [];
  const events: string[] = [];
  const run = { attempts: noAttempts(), images: images ?? { unhealed: {}, tried: [] } };
  let journal: Journal = { ...emptyJournal, installed, upInBoot: 'boot-1', ...more };
  const context = {
    engine: {
      namedImages: async () => ({ p: 'test/proxy:2' }),
      checkImages: async (ids: readonly string[]) => {
        calls.push(`check ${ids.join(' ')}`);
        return new Map(ids.map((id) => [id, found[id] ?? 'whole']));
      },
      removeImage: async (id: string) => {
        calls.push(`remove ${id}`);
        return 'removed';
      },
      planRebuild: async (ids: readonly string[], references: Record<string, string>) => {
        calls.push(`plan ${ids.join(' ')} of ${Object.values(references).join(' ')}`);
        return answer ?? { rebuilding: { saved: [...ids], references: {} }, refused: [] };
      },
      rebuildImages: async () => result,
    },
    keeper: {
      run,
      journal: () => journal,
      record: async (change: Change) => {
        calls.push(change.kind);
        const moment = {
          now: '',
          bootId: 'boot-1',
          durationMs: 0,
          downtimeMs: null,
          startMs: null,
          keepReleases: 1,
          probationMs: 0,
        };
        journal = changeJournal(journal, change, moment);
      },
    },
    bootId: 'boot-1',
    logger: { event: (name: string) => void events.push(name) },
    alive: () => undefined,
  };
  return { context: context as unknown as StepContext, calls, events, run, journal: () => journal };
}

describe('checking images', () => {
  test('whole ones are noted, and nothing else is read', async () => {
    const { context, calls, journal } = createContext({});
    await checkImages(context, ['b'], signal);
    assert.deepEqual(calls, ['check b', 'images_checked']);
    assert.deepEqual(journal().imagesFoundWhole, { bootId: 'boot-1', ids: ['b'] });
  });

  test('one that is damaged: all others are checked before anything is planned, and the plan is in the journal', async () => {
    const { context, calls, journal } = createContext({ found: { b: 'damaged' } });
    await checkImages(context, ['b'], signal);
    assert.deepEqual(calls, [
      'check b',
      'check p',
      'check f',
      'images_checked',
      'plan b of test/proxy:2 test/backend:1.0.0 test/frontend@sha256:d',
      'rebuild',
    ]);
    assert.deepEqual([journal().rebuilding?.saved, journal().upInBoot], [['b'], null]);
  });

  test('what nobody needs is removed: no registry may offer it any more', async () => {
    const given = {
      found: { b: 'damaged', old: 'damaged' },
      journal: { fetched: { old: 'test/backend:0.9.0' } },
    } as const;
    const { context, calls } = createContext(given);
    await checkImages(context, ['b'], signal);
    assert.ok(calls.includes('remove old'));
    assert.ok(calls.some((call) => call.startsWith('plan b of')));
  });

  test('what was made again in vain is not made again in this boot', async () => {
    const unhealed = { b: { image: 'test/backend:1.0.0', why: 'stays_damaged' } } as const;
    const { context, calls, run } = createContext({ found: { b: 'damaged' }, images: { unhealed, tried: [] } });
    await checkImages(context, ['b'], signal);
    assert.ok(!calls.some((call) => call.startsWith('plan')));
    assert.equal(run.images.unhealed['b']?.why, 'stays_damaged');
  });

  test('the archive of a plan that waits is not overwritten', async () => {
    const rebuilding = { saved: ['f'], references: { f: 'test/frontend@sha256:d' } };
    const { context, calls, journal } = createContext({ found: { b: 'damaged' }, journal: { rebuilding } });
    await checkImages(context, ['b'], signal);
    assert.ok(!calls.some((call) => call.startsWith('plan')));
    assert.deepEqual(journal().rebuilding, rebuilding);
  });

  test('what is refused is named, with the reason', async () => {
    const answer: RebuildAnswer = { rebuilding: null, refused: [{ reason: 'in_use', imageIds: ['b'] }] };
    const { context, calls, events, run } = createContext({ found: { b: 'damaged' }, answer });
    await checkImages(context, ['b'], signal);
    assert.deepEqual(run.images.unhealed, { b: { image: 'test/backend:1.0.0', why: 'in_use' } });
    assert.deepEqual(events, ['images_damaged', 'images_not_healed']);
    assert.ok(!calls.includes('rebuild'));
  });
});

describe('making images again', () => {
  const rebuilding = { saved: ['b'], references: { b: 'test/backend:1.0.0' } };

  test('ends the entry of the journal, and the images count as whole', async () => {
    const { context, events, journal } = createContext({ journal: { rebuilding }, result: { kind: 'rebuilt' } });
    await rebuild(context, signal);
    assert.deepEqual([journal().rebuilding, journal().imagesFoundWhole?.ids], [null, ['b']]);
    assert.deepEqual(events, ['image_healed']);
  });

  for (const [reason, stays] of [
    ['needs_registry', true],
    ['stays_damaged', false],
    ['in_use', false],
  ] as const) {
    test(`${stays ? 'keeps' : 'ends'} the entry when it fails: ${reason}`, async () => {
      const { context, journal, run } = createContext({ journal: { rebuilding }, result: { kind: 'failed', reason } });
      await rebuild(context, signal);
      assert.equal(journal().rebuilding !== null, stays);
      assert.equal(run.images.unhealed['b']?.why, reason);
    });
  }
});
