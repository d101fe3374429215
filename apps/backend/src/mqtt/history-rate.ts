import { ownValue } from '@station/protocol/own-value';
import type { DeviceEvents, DeviceReport } from '../core/device-events.ts';
import { charge, historyRate } from './rates-decide.ts';

export type HistoryRate = Disposable & {
  /** The report, marked if its device sends faster than its history takes. Such a report costs the device nothing further. */
  limited(report: DeviceReport, payloadBytes: number): DeviceReport;
};

/** About what a row takes in the database, with its indices. */
const eventBytes = 260;
const valueBytes = 160;

/** Limits what each device adds to the history. */
export function createHistoryRate(options: { events: DeviceEvents; now: () => number }): HistoryRate {
  const { events, now } = options;
  const paid = new Map<string, number>();
  const listening = events.subscribe((event) => {
    if (event.kind === 'removed') paid.delete(event.deviceId);
  });
  return {
    limited: (report, payloadBytes) => {
      if (report.kind !== 'state' && report.kind !== 'event') return report;
      const bytes = report.kind === 'event' ? eventBytes + payloadBytes : valueBytes * countValues(report.state);
      const { paidAtMs, earlyMs } = charge(historyRate, paid.get(report.deviceId) ?? 0, bytes, now());
      if (earlyMs > 0) return { ...report, isOverRate: true };
      paid.set(report.deviceId, paidAtMs);
      return report;
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}

function countValues(state: Readonly<Record<string, unknown>>): number {
  let count = 0;
  for (const key of Object.keys(state)) {
    const type = typeof ownValue(state, key);
    if (type === 'number' || type === 'boolean') count += 1;
  }
  return count;
}
