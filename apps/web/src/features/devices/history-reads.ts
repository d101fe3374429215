import { type QueryClient, useQueries, type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Capability } from '@station/protocol/device-types';
import type { DeviceHistory } from '@station/protocol/device-history';
import type { Device } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import type { SentTo } from '@station/protocol/routes';
import { historyKey } from '../../api/devices.ts';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import type { Span } from './history-span.ts';
import { type Range, ranges, withReport } from './history-view.ts';

/** A value of a device whose history is on a chart. */
export type Charted = { device: Device; capability: Capability };

/** The whole range until now, or a part of it that was zoomed into. */
export type Wanted = { range: Range; span: Span | null };

const readEveryMs = 60_000;
/** While fingers move, the station is not asked. */
const settleMs = 250;

/** The span once it has not changed for a moment; the whole range at once. */
export function useSettled(span: Span | null): Span | null {
  const [settled, settle] = useState(span);
  useEffect(() => {
    const timer = setTimeout(() => settle(span), settleMs);
    return () => clearTimeout(timer);
  }, [span]);
  return span === null ? null : settled;
}

/** Answers of the station in the order of `shown`; null: not there yet. */
export type Histories = { histories: readonly (DeviceHistory | null)[]; error: Problem | null };

/** Zooming in asks for that part alone, and so for a finer resolution. Until it is there, the coarser one stays. */
export function useHistories(shown: readonly Charted[], wanted: Wanted): Histories {
  const { session, clock } = useServices();
  const queries = useQueryClient();
  return useQueries({
    queries: shown.map((one) => ({
      queryKey: keyOf(one, wanted),
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        session.call('GET /api/devices/:id/history', { ...askedOf(one, wanted, clock.now()), signal }),
      placeholderData: () => lastOf(queries, one, wanted.range),
      refetchInterval: ({ state }: { state: { status: string } }) =>
        state.status === 'error' ? 5_000 : wanted.span === null ? readEveryMs : false,
    })),
    combine: together,
  });
}

/** The newest answer for any part of the range. Without it, the chart and the focus on it would go away at each zoom. */
const lastOf = (queries: QueryClient, one: Charted, range: Range): DeviceHistory | undefined =>
  queries
    .getQueryCache()
    .findAll({ queryKey: keyOf(one, { range, span: null }) })
    .toSorted((a, b) => b.state.dataUpdatedAt - a.state.dataUpdatedAt)[0]?.state.data as DeviceHistory | undefined;

const together = (results: UseQueryResult<DeviceHistory>[]): Histories => ({
  histories: results.map(({ data }) => data ?? null),
  error: (results.find(({ error }) => error !== null)?.error as Problem | undefined) ?? null,
});

const keyOf = ({ device, capability }: Charted, { range, span }: Wanted): readonly unknown[] => [
  ...historyKey(device.id, capability.key),
  range,
  ...(span === null ? [] : [span.fromMs, span.toMs]),
];

/** Adds each report of a device since the station's answer to it. */
export function FollowReports({ charted, range }: { charted: Charted; range: Range }): null {
  const queries = useQueryClient();
  const { device, capability } = charted;
  const at = ownValue(device.stateTimes, capability.key) ?? device.stateAt;
  const value = ownValue(device.state, capability.key);
  const queryKey = keyOf(charted, { range, span: null });
  const isAnswered = queries.getQueryData(queryKey) !== undefined;
  useEffect(() => {
    if (at === null) return;
    queries.setQueryData<DeviceHistory>(queryKey, (history) => history && withReport(history, at, value));
  }, [at, value, isAnswered]);
  useEffect(() => {
    // A gap begins or ends.
    void queries.invalidateQueries({ queryKey });
  }, [device.status]);
  return null;
}

/** What is sent for a history, or for the CSV file with the same content. */
export function askedOf(
  { device, capability }: Charted,
  { range, span }: Wanted,
  nowMs: number,
): SentTo<'GET /api/devices/:id/history.csv'> {
  const iso = (at: number): string => new Date(at).toISOString();
  const from = iso(span?.fromMs ?? nowMs - ranges[range]);
  const query = { capability: capability.key, from, ...(span && { to: iso(span.toMs) }) };
  return { params: { id: device.id }, query };
}
