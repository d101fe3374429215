import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDrafts } from './drafts.ts';
import { createMemory } from './memory.ts';

function browser() {
  const items = new Map<string, string>();
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  };
  return { items, page: () => createDrafts(createMemory(() => storage as unknown as Storage)) };
}

test('a draft outlives its page, and nothing stays when it is forgotten', () => {
  const { items, page } = browser();
  page().set('olena/scene/new', { name: 'Evening' });
  const next = page();
  assert.deepEqual(next.get('olena/scene/new'), { name: 'Evening' });
  assert.equal(next.get('marko/scene/new'), null);
  next.set('olena/scene/new', null);
  assert.deepEqual([...items], []);
});

test('two tabs keep their drafts beside each other, the latest twenty', () => {
  const { page } = browser();
  const first = page();
  const second = page();
  first.set('a', 1);
  second.set('b', 2);
  assert.deepEqual([page().get('a'), page().get('b')], [1, 2]);
  for (let n = 0; n < 20; n += 1) first.set(`more ${n}`, n);
  assert.deepEqual(
    [page().get('a'), page().get('b'), page().get('more 0'), page().get('more 19')],
    [null, null, 0, 19],
  );
});

test('where nothing can be stored, and after what somebody else left there, drafts live as long as the page', () => {
  const forbidden = createDrafts(
    createMemory(() => {
      throw new Error('SecurityError');
    }),
  );
  forbidden.set('a', 1);
  assert.equal(forbidden.get('a'), 1);
  const { items, page } = browser();
  for (const left of ['{', '7', '[1,null,["a"]]', '{"length":1}']) {
    items.set('station.drafts', left);
    assert.equal(page().get('a'), null);
  }
});
