import type { DeviceFaultCode } from '@station/protocol/devices';
import type { DeviceTopicEnd } from '@station/protocol/topics';
import type { DeviceEvents, DeviceReport } from '../core/device-events.ts';
import { type Fault, readFault } from '../core/stored-fault.ts';

export type DeviceFaults = Disposable & {
  /**
   * A message of the device arrived.
   * @param code what was lost of it; null: nothing.
   * @returns the change to write; null when there is none.
   */
  received(deviceId: string, end: DeviceTopicEnd, code: DeviceFaultCode | null, at: number): DeviceReport | null;
  /**
   * States are on disk.
   * @param cut ids of devices whose state exceeded its limits, once for each report.
   * @returns the changes to write.
   */
  statesWritten(reports: readonly DeviceReport[], cut: readonly string[]): DeviceReport[];
  /** Takes over faults that another replica wrote. */
  written(reports: readonly DeviceReport[]): void;
};

/** Which devices send messages that cannot be used. Kept in memory, because it is asked for every message. */
export function createDeviceFaults(options: {
  /** As stored at the start. */
  devices: readonly { id: string; fault: string | null }[];
  events: DeviceEvents;
}): DeviceFaults {
  const faults = new Map<string, Fault>();
  const keep = (deviceId: string, fault: Fault | null): void => {
    if (fault === null) faults.delete(deviceId);
    else faults.set(deviceId, fault);
  };
  for (const { id, fault } of options.devices) keep(id, readFault(fault));
  const removing = options.events.subscribe((event) => {
    if (event.kind === 'removed') faults.delete(event.deviceId);
  });
  return {
    received: (deviceId, end, code, at) => {
      if (code === null && faults.size === 0) return null;
      const known = faults.get(deviceId);
      // Only the write shows whether the state fits now.
      if (code === null && known?.code === 'state_full' && end === 'state') return null;
      if (code === null && (known === undefined || (known.end !== end && end !== 'handshake'))) return null;
      const isSame = known?.code === code && known?.end === end;
      const fault = code === null ? null : { code, end, at, count: isSame ? known.count + 1 : 1 };
      keep(deviceId, fault);
      return { kind: 'fault', deviceId, at, fault };
    },
    statesWritten: (reports, cut) => {
      if (cut.length === 0 && faults.size === 0) return [];
      const counts = new Map<string, number>();
      for (const deviceId of cut) counts.set(deviceId, (counts.get(deviceId) ?? 0) + 1);
      const changed = new Map<string, DeviceReport>();
      for (const { kind, deviceId, at } of reports) {
        if (kind !== 'state' || changed.has(deviceId)) continue;
        const known = faults.get(deviceId);
        const wasFull = known?.code === 'state_full';
        const count = counts.get(deviceId) ?? 0;
        if (count === 0 && !wasFull) continue;
        const total = count + (wasFull ? known.count : 0);
        const fault: Fault | null = count === 0 ? null : { code: 'state_full', end: 'state', at, count: total };
        keep(deviceId, fault);
        changed.set(deviceId, { kind: 'fault', deviceId, at, fault });
      }
      return [...changed.values()];
    },
    written: (reports) => {
      for (const report of reports) if (report.kind === 'fault') keep(report.deviceId, report.fault);
    },
    [Symbol.dispose]: () => removing[Symbol.dispose](),
  };
}
