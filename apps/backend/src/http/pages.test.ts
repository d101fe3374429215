import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxAnswerBytes } from '@station/protocol/rest';
import { feedPage, fitting, pageOf } from './pages.ts';

type Item = { id: string; text: string };
const item = (id: string, bytes: number): Item => ({ id, text: 'ї'.repeat(bytes / 2) });
const idOf = ({ id }: Item): string => id;

/** Reads a list as a client does. `between` changes it before each further page. */
function readAll(list: Item[], between: () => void = () => undefined): { ids: string[]; pages: number } {
  const ids: string[] = [];
  let pages = 0;
  for (let url: string | null = '/api/list?kind=x'; url !== null; pages += 1) {
    if (pages > 0) between();
    const after = new URL(url, 'http://x').searchParams.get('after');
    let link: string | null = null;
    const reply = { header: (_name: string, value: string) => (link = value) };
    const page: Item[] = pageOf({ request: { url, query: after === null ? {} : { after } }, reply }, list, idOf);
    assert.ok(Buffer.byteLength(JSON.stringify(page)) <= maxAnswerBytes);
    ids.push(...page.map(idOf));
    url = link === null ? null : (/^<(.*)>; rel="next"$/.exec(link)?.[1] ?? null);
    if (url !== null) assert.match(url, /^\/api\/list\?kind=x&after=/);
  }
  return { ids, pages };
}

test('all pages together are the list, and each fits', () => {
  const list = Array.from({ length: 50 }, (_, n) => item(`${n}~ї&?/`, 30_000));
  const read = readAll(list);
  assert.deepEqual(read.ids, list.map(idOf));
  assert.equal(read.pages, 7);
  assert.deepEqual(readAll([]), { ids: [], pages: 1 });
  assert.equal(readAll([item('a', 10)]).pages, 1);
});

test('an item that is added or removed between two pages costs no other item', () => {
  const list = Array.from({ length: 20 }, (_, n) => item(`${n}`, 60_000));
  const removed = [...list];
  assert.deepEqual(
    readAll(removed, () => void removed.splice(3, 1)).ids.filter((id) => Number(id) > 6),
    list.map(idOf).filter((id) => Number(id) > 6),
  );
  const added = [...list];
  const { ids } = readAll(added, () => void added.unshift(item(`new ${added.length}`, 10)));
  assert.deepEqual(ids, list.map(idOf));
});

test('a page that would begin behind the end is empty', () => {
  const reply = { header: () => assert.fail('there is no next page') };
  const request = { url: '/api/list?after=99~gone', query: { after: '99~gone' } };
  assert.deepEqual(pageOf({ request, reply }, [item('a', 10)], idOf), []);
});

test('an item that does not fit is a page alone', () => {
  assert.equal(fitting([item('a', maxAnswerBytes), item('b', 2)]).length, 1);
});

test('a feed names the next page when it was cut or is full', () => {
  const linkOf = (items: Item[], limit: number): [number, string | null] => {
    let link: string | null = null;
    const reply = { header: (_name: string, value: string) => (link = value) };
    const page = feedPage({ request: { url: `/api/feed?limit=${limit}` }, reply }, items, limit);
    return [page.length, link];
  };
  const items = Array.from({ length: 6 }, (_, n) => item(`${n}`, 60_000));
  assert.deepEqual(linkOf(items, 6), [4, '</api/feed?limit=6&before=3>; rel="next"']);
  assert.deepEqual(linkOf(items.slice(0, 3), 6), [3, null]);
  assert.deepEqual(linkOf(items.slice(0, 3), 3), [3, '</api/feed?limit=3&before=2>; rel="next"']);
});
