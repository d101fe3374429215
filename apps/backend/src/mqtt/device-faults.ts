import type { DeviceFaultCode } from '@station/protocol/devices';
import type { DeviceTopicEnd } from '@station/protocol/topics';
import type { DeviceEvents, DeviceReport } from '../core/device-events.ts';
import { type Fault, readFault } from '../core/device-faults.ts';

export type DeviceFaults = Disposable & {
  /**
   * A message of the device arrived.
   * @param code what was lost of it; null: nothing.
   * @returns the change to write; null when there is none.
   */
  received(deviceId: string, end: DeviceTopicEnd, code: DeviceFaultCode | null, at: number): DeviceReport | null;
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
      if (code === null && (known === undefined || (known.end !== end && end !== 'handshake'))) return null;
      const isSame = known?.code === code && known?.end === end;
      const fault = code === null ? null : { code, end, at, count: isSame ? known.count + 1 : 1 };
      keep(deviceId, fault);
      return { kind: 'fault', deviceId, at, fault };
    },
    written: (reports) => {
      for (const report of reports) if (report.kind === 'fault') keep(report.deviceId, report.fault);
    },
    [Symbol.dispose]: () => removing[Symbol.dispose](),
  };
}
