import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findDifferences, lowestLayerOf, mergeLayers, type Tree } from './image-tree.ts';
import type { TarEntry, TarKind } from './tar-reader.ts';

type Given = { path: string; kind?: TarKind; text?: string; target?: string; mode?: number; uid?: number };

async function* entriesOf(...given: readonly Given[]): AsyncGenerator<TarEntry> {
  for (const { path, kind = 'file', text = '', target = '', mode = 0o644, uid = 0 } of given) {
    const content = (async function* () {
      yield Buffer.from(text);
    })();
    yield { path, kind, target, mode, uid, gid: 0, size: text.length, content };
  }
}

const file = (text: string): string => `file ${text}`;
const folder = 'folder 755 0:0';
const merged = (...layers: Record<string, string>[]): Record<string, string> =>
  Object.fromEntries(mergeLayers(layers.map((layer) => new Map(Object.entries(layer)))));

describe('layers on each other', () => {
  test('the upper file counts, and folders are joined', () => {
    const base = { etc: folder, 'etc/a': file('1'), 'etc/b': file('1') };
    assert.deepEqual(merged(base, { etc: 'folder 700 0:0', 'etc/b': file('2') }), {
      etc: 'folder 700 0:0',
      'etc/a': file('1'),
      'etc/b': file('2'),
    });
  });

  test('a whiteout removes a file, or a folder with all that is in it', () => {
    const base = { a: file('1'), 'lib/x': file('1'), 'lib/y/z': file('1'), library: file('1') };
    assert.deepEqual(merged(base, { '.wh.a': file(''), '.wh.lib': file('') }), { library: file('1') });
  });

  test('an opaque folder hides what is below it in lower layers only, wherever its mark stands', () => {
    const base = { 'lib/old': file('1'), other: file('1') };
    assert.deepEqual(merged(base, { 'lib/new': file('2'), 'lib/.wh..wh..opq': file('') }), {
      other: file('1'),
      'lib/new': file('2'),
    });
  });

  test('a file in the place of a folder removes what was in it', () => {
    assert.deepEqual(merged({ lib: folder, 'lib/a': file('1') }, { lib: 'symlink usr/lib' }), {
      lib: 'symlink usr/lib',
    });
  });

  test('a hard link to a file of a lower layer is that file', () => {
    assert.deepEqual(merged({ a: file('1') }, { b: 'link a' }), { a: file('1'), b: file('1') });
  });
});

describe('a container beside the layers of its image', () => {
  const expected = async (...given: Given[]): Promise<Tree> => {
    const { treeOf } = await import('./image-tree.ts');
    return treeOf(entriesOf(...given));
  };
  const image: Given[] = [
    { path: 'bin/app', text: 'code' },
    { path: 'bin/link', kind: 'link', target: 'bin/app' },
  ];

  test('does not differ by folders, or by what the engine makes in each one', async () => {
    const seen: Given[] = [
      { path: 'bin', kind: 'folder' },
      ...image,
      { path: 'data', kind: 'folder' },
      { path: '.dockerenv' },
      { path: 'dev/console' },
      { path: 'etc/resolv.conf' },
    ];
    assert.deepEqual(await findDifferences(await expected(...image), entriesOf(...seen)), []);
  });

  test('does not differ when its hard link is the other way round', async () => {
    const seen: Given[] = [
      { path: 'bin/link', text: 'code' },
      { path: 'bin/app', kind: 'link', target: 'bin/link' },
    ];
    assert.deepEqual(await findDifferences(await expected(...image), entriesOf(...seen)), []);
  });

  for (const [what, seen, wrong] of [
    [
      'an empty file, and its links',
      [{ path: 'bin/app' }, { path: 'bin/link', kind: 'link', target: 'bin/app' }],
      ['bin/app', 'bin/link'],
    ],
    [
      'another mode',
      [
        { ...image[0], mode: 0o755 },
        { path: 'bin/link', text: 'code' },
      ],
      ['bin/app'],
    ],
    [
      'another owner',
      [
        { ...image[0], uid: 7 },
        { path: 'bin/link', text: 'code' },
      ],
      ['bin/app'],
    ],
    ['a missing file', [{ path: 'bin/link', text: 'code' }], ['bin/app']],
    ['a file too many', [...image, { path: 'core', text: '' }], ['core']],
    [
      'a folder in the place of a file',
      [
        { path: 'bin/app', kind: 'folder' },
        { path: 'bin/link', text: 'code' },
      ],
      ['bin/app'],
    ],
  ] as [string, Given[], string[]][]) {
    test(`differs: ${what}`, async () => {
      assert.deepEqual((await findDifferences(await expected(...image), entriesOf(...seen))).sort(), wrong);
    });
  }
});

test('the lowest layer with a wrong path is the damaged one; a path of no layer may be of any', () => {
  const layers = [
    new Map([['a', file('1')]]),
    new Map([
      ['a', file('2')],
      ['b', file('2')],
    ]),
    new Map([['c', file('3')]]),
  ];
  assert.equal(lowestLayerOf(['c'], layers), 2);
  assert.equal(lowestLayerOf(['c', 'a'], layers), 1);
  assert.equal(lowestLayerOf(['c', 'unknown'], layers), 0);
});
