import type { DeviceReport } from '../core/device-events.ts';

/** When each capability of a device was reported last, milliseconds since the epoch. */
export type StateTimes = Record<string, number>;

/** A time that lies further ahead was written while the database's clock was wrong. */
const maxAheadMs = 10 * 60_000;

/**
 * Takes out of reports what others have overtaken: states of one device come over several replicas. What may have waited counts from the
 * earliest time it was said, other reports from when they were received. Pure, but
 * that `times` goes on.
 * @param times by device; a device that is not in it is left as it is.
 */
export function inOrder(reports: readonly DeviceReport[], times: ReadonlyMap<string, StateTimes>): DeviceReport[] {
  return reports.flatMap((report) => {
    const known = times.get(report.deviceId);
    if (report.kind !== 'state' || known === undefined) return [report];
    const at = report.saidAt ?? report.at;
    const newer = Object.entries(report.state).filter(([capability]) => {
      const aheadMs = (known[capability] ?? -Infinity) - at;
      return aheadMs <= 0 || aheadMs > maxAheadMs;
    });
    for (const [capability] of newer) known[capability] = at;
    const isWhole = newer.length === Object.keys(report.state).length;
    if (isWhole) return [report];
    return newer.length === 0 ? [] : [{ ...report, state: Object.fromEntries(newer) }];
  });
}
