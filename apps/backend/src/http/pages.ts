import type { FastifyReply } from 'fastify';
import { maxAnswerBytes } from '@station/protocol/rest';

/** What of a request and its reply a page needs. */
type Exchange = { request: { url: string }; reply: { header(name: string, value: string): unknown } };
/** `query`: `PageQuery`. */
type PageExchange = Exchange & { request: { query: { after?: string } } };

/** JSON around the items. */
const bracketBytes = 2;

/**
 * The JSON of the first items that fit into an answer (contracts, section 9); of at least one.
 * @param usedBytes what the rest of the answer needs.
 */
export function fittingJson(items: readonly unknown[], usedBytes = 0): string[] {
  const texts: string[] = [];
  let bytes = usedBytes + bracketBytes;
  for (const item of items) {
    const text = JSON.stringify(item);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > maxAnswerBytes && texts.length > 0) break;
    texts.push(text);
  }
  return texts;
}

/** The items of `fittingJson`. */
export const fitting = <T>(items: readonly T[], usedBytes = 0): T[] =>
  items.slice(0, fittingJson(items, usedBytes).length);

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
function linkNext({ request, reply }: Exchange, name: string, cursor: string): void {
  const { pathname, searchParams } = new URL(request.url, 'http://station');
  searchParams.set(name, cursor);
  reply.header('link', `<${pathname}?${searchParams.toString()}>; rel="next"`);
}

/**
 * Sends a body that is ready, and names the next page.
 * @param cursorName query parameter of the next page.
 */
export function sendLarge(
  { request, reply }: { request: { url: string }; reply: FastifyReply },
  { body, next }: { body: Uint8Array; next: string | null },
  cursorName = 'after',
): FastifyReply {
  if (next !== null) linkNext({ request, reply }, cursorName, next);
  return reply.type('application/json; charset=utf-8').send(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
}
