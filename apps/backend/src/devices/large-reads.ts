import type { Static } from 'typebox';
import { type Clock, isoTime } from '@station/kit/clock';
import type { DeviceHistory } from '@station/protocol/device-history';
import type { DeviceEvent } from '@station/protocol/devices';
import { maxAnswerBytes } from '@station/protocol/rest';
import { fittingJson } from '../http/pages.ts';
import type { Store } from '../store/database.ts';
import type { LoggedReports } from '../store/logged-reports.ts';
import { createDeviceStore, toDevice } from '../store/device-store.ts';
import { type ActivityQuery, type ActivityRow, createActivityStore } from './activity-store.ts';
import type { Stretch } from '../history/downsampling.ts';
import { createHistoryStore, type History } from '../history/history-store.ts';

/** Only devices of these zones; null: all. */
type Zones = readonly string[] | null;

/** A read whose answer is large. Plain data, so that a thread can be asked. */
export type LargeRead =
  | { kind: 'devices'; after: { name: string; id: string } | null; zones: Zones }
  | { kind: 'events'; deviceId: string; before: string | null; limit: number }
  | { kind: 'activity'; query: ActivityQuery }
  | { kind: 'history'; query: Stretch & { resolutionMs?: number | undefined } };

export type LargeAnswer = {
  /** The body of the answer, JSON in UTF-8. */
  body: Uint8Array<ArrayBuffer>;
  /** Cursor of the next page; null: there is none. */
  next: string | null;
};

/** Answers large reads. @throws (rejects) errors of the database. */
export type LargeReads = (read: LargeRead) => Promise<LargeAnswer>;

type ReadStore = Pick<Store, 'db' | 'kind'> & { logged?: LoggedReports };

/** Answers in this thread. @param clock of the station. */
export function createLargeReads({ store, clock }: { store: ReadStore; clock: Clock }): LargeReads {
  const devices = createDeviceStore({ ...store, clock });
  const activity = createActivityStore(store.db);
  const history = createHistoryStore({ store, clock });
  return async (read) => {
    switch (read.kind) {
      case 'devices': {
        // Only the rows of the page: all states together may be larger than the memory that the backend has.
        const { rows, isLast } = await devices.page(read.after, maxAnswerBytes, read.zones);
        const page = fittingJson(rows.map(toDevice));
        const last = rows[page.length - 1];
        return pageAnswer(page, last === undefined || (isLast && page.length === rows.length) ? null : cursorOf(last));
      }
      case 'events':
        return eventsAnswer(await activity.ofDevice(read), read.limit);
      case 'activity':
        return eventsAnswer(await activity.page(read.query), read.query.limit);
      case 'history':
        return { body: bytesOf(JSON.stringify(toBody(await history.read(read.query)))), next: null };
    }
  };
}

const encoder = new TextEncoder();
const bytesOf = (json: string): Uint8Array<ArrayBuffer> => encoder.encode(json);

const pageAnswer = (items: readonly string[], next: string | null): LargeAnswer => ({
  body: bytesOf(`[${items.join(',')}]`),
  next,
});

function eventsAnswer(rows: readonly ActivityRow[], limit: number): LargeAnswer {
  const events = rows.map(toEvent);
  const page = fittingJson(events);
  const last = events[page.length - 1];
  const isMore = page.length < events.length || events.length === limit;
  return pageAnswer(page, last !== undefined && isMore ? last.id : null);
}

/** The place in the order by name and id, also of a device that was removed meanwhile. */
const cursorOf = ({ name, id }: { name: string; id: string }): string =>
  Buffer.from(JSON.stringify([name, id])).toString('base64url');

/** Events from before the limit on their data may be this large or larger. */
const oldEventBytes = 64 * 1024;

function dataOf(text: string): Record<string, unknown> {
  const data = JSON.parse(text) as Record<string, unknown>;
  return Buffer.byteLength(text) < oldEventBytes ? data : { action: data['action'] };
}

const toEvent = ({ id, device_id, kind, data, at, by }: ActivityRow): DeviceEvent => ({
  id,
  deviceId: device_id,
  kind,
  data: dataOf(data),
  at: isoTime(at),
  ...(by !== undefined && { by }),
});

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
