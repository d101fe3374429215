import { Readable } from 'node:stream';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { Sight } from '../core/sight.ts';
import { sightOf } from '../http/access.ts';
import { sendLarge } from '../http/pages.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { Store } from '../store/database.ts';
import type { DeviceRow, DeviceStore } from '../store/device-store.ts';
import { historyLines } from './history-csv.ts';
import type { Span } from '../history/history-decide.ts';
import type { HistoryStore } from '../history/history-store.ts';
import type { LargeReads } from './large-reads.ts';

type Parts = {
  store: Pick<Store, 'db' | 'kind'>;
  devices: Pick<DeviceStore, 'findSeen'>;
  history: Pick<HistoryStore, 'kindOf'>;
  reads: LargeReads;
  clock: Clock;
};

/** /api/devices/:id/history and its export (contracts, section 9). */
export async function registerHistoryRoutes(app: HttpServer, parts: Parts): Promise<void> {
  serve(app, 'GET /api/devices/:id/history', (request, reply) => getHistory(parts, request, reply));
  serve(app, 'GET /api/devices/:id/history.csv', (request, reply) => exportHistory(parts, request, reply));
}

async function getHistory(
  parts: Parts,
  request: RequestOf<'GET /api/devices/:id/history'>,
  reply: ReplyOf<'GET /api/devices/:id/history'>,
) {
  const { capability, resolution: resolutionMs } = request.query;
  const { id: deviceId } = await find(parts, sightOf(request), request.params.id);
  const query = { deviceId, capability, ...rangeOf(parts, request.query), resolutionMs };
  return sendLarge({ request, reply }, await parts.reads({ kind: 'history', query }));
}

async function exportHistory(
  parts: Parts,
  request: RequestOf<'GET /api/devices/:id/history.csv'>,
  reply: ReplyOf<'GET /api/devices/:id/history.csv'>,
) {
  const { capability } = request.query;
  const { id: deviceId, external_id: externalId } = await find(parts, sightOf(request), request.params.id);
  const stretch = { deviceId, capability, ...rangeOf(parts, request.query) };
  const kind = await parts.history.kindOf(deviceId, capability);
  const lines = historyLines(parts.store, kind, stretch);
  const name = `${externalId}-${capability}.csv`.replaceAll(/[^A-Za-z0-9._-]/g, '_');
  return reply
    .type('text/csv; charset=utf-8; header=present')
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(Readable.from(lines));
}

/** @throws `bad_request` */
function rangeOf({ clock }: Parts, { from, to }: { from: string; to?: string }): Span {
  const now = clock.now();
  const fromMs = timeOf('from', from);
  const toMs = to === undefined ? now : timeOf('to', to);
  if (fromMs >= now) throw new StationError('bad_request', '"from" is in the future.');
  if (fromMs >= toMs) throw new StationError('bad_request', '"from" must be earlier than "to".');
  return { fromMs, toMs: Math.min(toMs, now + 1) };
}

/**
 * Of ISO 8601; without a zone it counts as UTC. `Date.parse` takes more for a time: `0` for the year 2000, and 30 February for 2 March.
 * @throws `bad_request`
 */
function timeOf(name: string, text: string): number {
  try {
    if (/[T ].*(?:Z|[+-][\d:]+)$/i.test(text)) return Temporal.Instant.from(text).epochMilliseconds;
    return Temporal.PlainDateTime.from(text).toZonedDateTime('UTC').epochMilliseconds;
  } catch {
    throw new StationError('bad_request', `"${name}" must be a time such as 2026-03-29T01:00:00Z.`);
  }
}

/** @throws (rejects) `not_found` */
async function find({ devices }: Parts, sight: Sight, id: string): Promise<DeviceRow> {
  const device = await devices.findSeen(sight, id);
  if (device === null) throw new StationError('not_found', 'There is no such device.');
  return device;
}
