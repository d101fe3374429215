import { StationError } from '@station/kit/station-error';
import type { GatewayBroker } from './foreign-devices-port.ts';

/** @throws {StationError} `unavailable`: the link to the broker is not open. */
export function openBroker({ broker }: { broker: GatewayBroker | null }): GatewayBroker {
  if (broker === null) throw new StationError('unavailable', 'The broker is not there yet.');
  return broker;
}

/** @throws (rejects) {StationError} `unavailable` in place of what the broker says. */
export async function askBroker<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof StationError) throw cause;
    throw new StationError('unavailable', 'The broker is offline, or refused it.', { cause });
  }
}
