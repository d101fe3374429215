import type { CommandChange, DeviceEvent, DeviceReport } from '../core/device-events.ts';
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
  const { action, percent, reason } = report.data;
  if (action === 'ota_progress' && typeof percent === 'number') {
    return { kind: 'progress', percent: Math.round(Math.min(100, Math.max(0, percent))), at };
  }
  if (action !== 'ota_failed') return null;
  return {
    kind: 'error',
    reason: typeof reason === 'string' ? reason.slice(0, 200) : 'The device gave no reason.',
    at,
  };
}
