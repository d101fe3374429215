import {
  provisioningCharacteristicUuid,
  provisioningServiceUuid,
  type HelperEvent,
  type WriteResult,
} from '@station/protocol/ble-frames';
import type { Helper, Peripheral } from '../../vstation/bluetooth.ts';

export const isSweep = process.env['STATION_SWEEP'] === 'yes';
export const startScan = { event: 'start_scan', service_uuid: provisioningServiceUuid } as const;

export const isResult = (frame: HelperEvent): frame is WriteResult => frame.event === 'write_result';
export const resultsOf = (helper: Helper): WriteResult[] => helper.received.filter(isResult);

/** Orders a write and does not wait. */
export function order(helper: Helper, address: string, payload: string): void {
  helper.send({
    event: 'connect_and_write',
    address,
    payload,
    service_uuid: provisioningServiceUuid,
    characteristic_uuid: provisioningCharacteristicUuid,
  });
}

/** Somewhat above the time in which the helper must answer: the machine may be slow to pass it on. */
const answerWithinMs = 50_000;

/** Orders a write and waits for its result. */
export async function write(helper: Helper, address: string, payload: string): Promise<WriteResult & { ms: number }> {
  const from = helper.received.length;
  const started = performance.now();
  order(helper, address, payload);
  const result = await helper.next('a write result', isResult, { from, timeoutMs: answerWithinMs });
  return { ...result, ms: performance.now() - started };
}

/** Waits until the helper tells of a device under this name. */
export async function discover(helper: Helper, { address }: Peripheral, name: string, from = 0): Promise<void> {
  await helper.next(
    `${name} to be discovered`,
    (frame) => frame.event === 'discovered' && frame.address === address && frame.name === name,
    { from },
  );
}

/** Texts that the device received, oldest first. */
export const textsOf = (device: Peripheral, from = 0): string[] =>
  device.received
    .slice(from)
    .flatMap((event) => (event.event === 'written' ? [Buffer.from(event.base64, 'base64').toString()] : []));
