import { Readable } from 'node:stream';
import { type Static, Type } from 'typebox';
import { DeviceHistory, HistoryExportQuery, HistoryQuery } from '@station/protocol/device-history';
import { Id } from '@station/protocol/rest';
import { isoTime, type Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';
import type { Store } from '../store/database.ts';
import type { DeviceRow, DeviceStore } from '../store/device-store.ts';
import { historyLines } from './history-csv.ts';
import type { Span } from './history-decide.ts';
import type { History, HistoryStore } from './history-store.ts';

type Parts = {
  store: Pick<Store, 'db' | 'kind'>;
  devices: Pick<DeviceStore, 'findById'>;
  history: HistoryStore;
  clock: Clock;
};

/** /api/devices/:id/history and its export (contracts, section 9). */
export async function registerHistoryRoutes(app: HttpServer, parts: Parts): Promise<void> {
  app.get('/api/devices/:id/history', historyRoute, (request) => getHistory(parts, request));
  app.get('/api/devices/:id/history.csv', exportRoute, (request, reply) => exportHistory(parts, request, reply));
}

const shared = { tags: ['devices'], params: Type.Object({ id: Id }) };
const config = { access: 'user', heavy: 'answer' } as const;

const historyRoute = { config, schema: { ...shared, querystring: HistoryQuery, response: { 200: DeviceHistory } } };

async function getHistory(
  parts: Parts,
  request: RequestOf<typeof historyRoute>,
): Promise<Static<typeof DeviceHistory>> {
  const { capability, resolution: resolutionMs } = request.query;
  const { id: deviceId } = await find(parts, request.params.id);
  return toBody(await parts.history.read({ deviceId, capability, ...rangeOf(parts, request.query), resolutionMs }));
}

const exportRoute = {
  config: { access: 'user', heavy: 'stream' } as const,
  schema: { ...shared, querystring: HistoryExportQuery, description: 'text/csv (RFC 4180), for spreadsheets.' },
};

async function exportHistory(parts: Parts, request: RequestOf<typeof exportRoute>, reply: ReplyOf<typeof exportRoute>) {
  const { capability } = request.query;
  const { id: deviceId, external_id: externalId } = await find(parts, request.params.id);
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
  const [fromMs, toMs] = [Date.parse(from), to === undefined ? now : Date.parse(to)];
  if (fromMs < toMs) return { fromMs, toMs: Math.min(toMs, now + 1) };
  throw new StationError('bad_request', '"from" and "to" must be times, and "from" must be earlier.');
}

/** @throws (rejects) `not_found` */
async function find({ devices }: Parts, id: string): Promise<DeviceRow> {
  const device = await devices.findById(id);
  if (device === null) throw new StationError('not_found', 'There is no such device.');
  return device;
}

function toBody({ frame, endMs, gaps, ...history }: History): Static<typeof DeviceHistory> {
  const range = {
    from: isoTime(frame.fromMs),
    to: isoTime(endMs),
    resolutionMs: frame.resolutionMs,
    gaps: gaps.map(({ fromMs, toMs }) => ({ from: isoTime(fromMs), to: isoTime(toMs) })),
  };
  if (history.kind === 'number') {
    return {
      kind: 'number',
      ...range,
      points: history.points.map(({ at, ...values }) => ({ at: isoTime(at), ...values })),
    };
  }
  const points = history.points.map(({ at, value, ...summary }) => ({
    at: isoTime(at),
    value: value === null ? null : (JSON.parse(value) as boolean | string),
    ...summary,
  }));
  return { kind: 'transitions', ...range, points };
}
