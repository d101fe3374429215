import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decideRebuild, groupByDamage, type ImageFact } from './rebuild-decide.ts';

const fact = (id: string, layers: string, more: Partial<ImageFact> = {}): ImageFact => ({
  id,
  layers: layers.split(''),
  damage: null,
  size: 100,
  isOurs: true,
  isUsedByOthers: false,
  isOffered: async () => false,
  ...more,
});
const saved = (layer: number | null) => ({ damage: { archiveBytes: 10, layer } });
const unsaved = (layer: number | null) => ({ damage: { archiveBytes: null, layer } });
const offered = { isOffered: async () => true };

const groups = (...images: ImageFact[]): string[] =>
  groupByDamage(images).map((group) => group.map(({ id }) => id).join('+'));

describe('damaged images and all that stand on a damaged layer are one group', () => {
  test('a whole image of the same base belongs to it only if the base is damaged', () => {
    assert.deepEqual(groups(fact('a', 'xyA', saved(2)), fact('b', 'xyB')), ['a']);
    assert.deepEqual(groups(fact('a', 'xyA', saved(1)), fact('b', 'xyB')), ['a+b']);
    assert.deepEqual(groups(fact('a', 'xyA', saved(1)), fact('b', 'xzB')), ['a']);
  });

  test('damaged images of one base whose damaged layer is not known do not heal one by one', () => {
    assert.deepEqual(groups(fact('a', 'xA', unsaved(null)), fact('b', 'xB', unsaved(null))), ['a+b']);
    assert.deepEqual(groups(fact('a', 'xA', unsaved(null)), fact('b', 'yB', unsaved(null))), ['a', 'b']);
  });

  test('a whole image shares a damaged layer that is not known only if it has all of them', () => {
    assert.deepEqual(groups(fact('a', 'xA', unsaved(null)), fact('b', 'xB')), ['a']);
    assert.deepEqual(groups(fact('a', 'xA', unsaved(null)), fact('b', 'xAB')), ['a+b']);
  });

  test('an image draws in others through one that both share layers with', () => {
    const images = [fact('a', 'xA', saved(0)), fact('b', 'xyB', saved(1)), fact('c', 'xyC')];
    assert.deepEqual(groups(...images), ['a+b+c']);
  });

  test('an image that cannot be inspected is alone', () => {
    assert.deepEqual(groups(fact('a', '', { ...unsaved(null), layers: null }), fact('b', 'x', saved(0))), ['a', 'b']);
  });
});

describe('a group is made again', () => {
  const plan = (room: number, ...images: ImageFact[]) => decideRebuild(images, room);

  test('from what the engine has, without asking a registry', async () => {
    assert.deepEqual(await plan(1000, fact('a', 'xA', saved(0)), fact('b', 'xB')), {
      saved: ['a', 'b'],
      pulled: [],
      refused: [],
    });
  });

  test('from its registry when a copy is damaged too, or there is no room for it', async () => {
    const image = fact('a', 'xA', { ...unsaved(0), ...offered });
    assert.deepEqual((await plan(1000, image)).pulled, ['a']);
    assert.deepEqual((await plan(5, fact('a', 'xA', { ...saved(0), ...offered }))).pulled, ['a']);
  });

  test('the room counts once for all groups', async () => {
    const answer = await plan(15, fact('a', 'x', saved(0)), fact('b', 'y', saved(0)));
    assert.deepEqual(answer, { saved: ['a'], pulled: [], refused: [{ reason: 'no_room', imageIds: ['b'] }] });
  });

  for (const [reason, images] of [
    ['needs_registry', [fact('a', 'xA', unsaved(0))]],
    ['needs_registry', [fact('a', 'xA', { ...unsaved(0), ...offered }), fact('b', 'xB')]],
    ['in_use', [fact('a', 'xA', saved(0)), fact('b', 'xB', { isUsedByOthers: true })]],
    ['in_use', [fact('a', 'xA', { ...unsaved(0), ...offered }), fact('b', 'xB', { isOurs: false, ...offered })]],
    ['no_room', [fact('a', 'xA', { damage: { archiveBytes: 2000, layer: 0 } })]],
  ] as const) {
    test(`or stays as it is: ${reason} (${images.length} images)`, async () => {
      const { saved: kept, pulled, refused } = await plan(1000, ...images);
      assert.deepEqual([kept, pulled, refused], [[], [], [{ reason, imageIds: images.map(({ id }) => id) }]]);
    });
  }

  test('an unused image of somebody else comes back from the copy', async () => {
    const answer = await plan(1000, fact('a', 'xA', saved(0)), fact('b', 'xB', { isOurs: false }));
    assert.deepEqual(answer.saved, ['a', 'b']);
  });
});
