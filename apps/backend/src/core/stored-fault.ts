import { parseJson } from '@station/kit/json';
import type { DeviceFaultCode } from '@station/protocol/devices';
import type { DeviceTopicEnd } from '@station/protocol/topics';

/** What is wrong with the messages of a device. */
export type Fault = {
  code: DeviceFaultCode;
  /** Only a good message there, or a handshake, ends the fault. */
  end: DeviceTopicEnd;
  /** Time of the latest such message, milliseconds since the epoch. */
  at: number;
  /** Such messages in a row. */
  count: number;
};

/** @param text JSON of a fault; null and unreadable JSON (damaged disk) count as none. */
export function readFault(text: string | null): Fault | null {
  return text === null ? null : ((parseJson(text) ?? null) as Fault | null);
}
