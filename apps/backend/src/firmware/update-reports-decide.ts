import type { CommandChange, DeviceEvent, DeviceReport } from '../core/device-events.ts';
import { numberOf } from '../core/number-text.ts';
import type { UpdateReport } from './target-decide.ts';

/** Facts about device updates in an event. */
export function updateReportsOf(event: DeviceEvent): [deviceId: string, report: UpdateReport][] {
  if (event.kind === 'command') return acceptanceOf(event.command);
  if (event.kind !== 'reports') return [];
  return event.reports.flatMap((report) => {
    const own = updateReportOf(report);
    return own === null ? [] : [[report.deviceId, own]];
  });
}

const acceptanceOf = ({ action, status, deviceId, at }: CommandChange): [string, UpdateReport][] =>
  action === 'ota_update' && status === 'confirmed' ? [[deviceId, { kind: 'accepted', at }]] : [];

function updateReportOf(report: DeviceReport): UpdateReport | null {
  const { at } = report;
  if (report.kind === 'handshake') return { kind: 'handshake', firmwareVersion: report.firmwareVersion, at };
  if (report.kind !== 'event') return null;
  const { action, reason } = report.data;
  const percent = numberOf(report.data['percent']);
  if (action === 'ota_progress' && percent !== null) {
    return { kind: 'progress', percent: Math.round(Math.min(100, Math.max(0, percent))), at };
  }
  if (action !== 'ota_failed') return null;
  return {
    kind: 'error',
    reason: reasonOf(reason),
    at,
  };
}

/** Some devices give the number of an error. */
function reasonOf(reason: unknown): string {
  const text = typeof reason === 'number' ? String(reason) : reason;
  return typeof text === 'string' && text !== '' ? text.slice(0, 200) : 'The device gave no reason.';
}
