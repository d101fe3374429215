import { maxAnswerBytes } from '@station/protocol/rest';

/** What of a request and its reply a page needs. */
type Exchange = { request: { url: string }; reply: { header(name: string, value: string): unknown } };
/** `query`: `PageQuery`. */
type PageExchange = Exchange & { request: { query: { after?: string } } };

/** JSON around the items. */
const bracketBytes = 2;

/**
 * The first items whose JSON fits into an answer (contracts, section 9); at least one.
 * @param usedBytes what the rest of the answer needs.
 */
export function fitting<T>(items: readonly T[], usedBytes = 0): T[] {
  let bytes = usedBytes + bracketBytes;
  const cut = items.findIndex((item) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    return bytes > maxAnswerBytes;
  });
  return cut === -1 ? [...items] : items.slice(0, Math.max(1, cut));
}

/**
 * The page of a list that the request asks for. If more follow, the header `Link` names the next page (RFC 8288).
 * @param items the whole list, always in the same order.
 * @param keyOf identifies an item. If the last item of a page is gone, the next page begins at its former place.
 */
export function pageOf<T>(exchange: PageExchange, items: readonly T[], keyOf: (item: T) => string, usedBytes = 0): T[] {
  const start = startOf(items.map(keyOf), exchange.request.query.after);
  const page = fitting(items.slice(start), usedBytes);
  const [last] = page.slice(-1);
  const end = start + page.length;
  if (last !== undefined && end < items.length) linkNext(exchange, 'after', `${end - 1}~${keyOf(last)}`);
  return page;
}

function startOf(keys: readonly string[], cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const [, index = '0', key = ''] = /^(\d{1,9})~([\s\S]*)$/.exec(cursor) ?? [];
  const at = keys.indexOf(key);
  return at === -1 ? Number(index) : at + 1;
}

/**
 * The page of a feed, newest first, whose cursor is the id of the last item (`before`).
 * @param items at most `limit`, from the cursor on.
 */
export function feedPage<T extends { id: string }>(exchange: Exchange, items: readonly T[], limit: number): T[] {
  const page = fitting(items);
  const [last] = page.slice(-1);
  if (last !== undefined && (page.length < items.length || items.length === limit)) {
    linkNext(exchange, 'before', last.id);
  }
  return page;
}

/** Names the next page: the same request with the query parameter `name` set to `cursor`. */
export function linkNext({ request, reply }: Exchange, name: string, cursor: string): void {
  const { pathname, searchParams } = new URL(request.url, 'http://station');
  searchParams.set(name, cursor);
  reply.header('link', `<${pathname}?${searchParams.toString()}>; rel="next"`);
}
