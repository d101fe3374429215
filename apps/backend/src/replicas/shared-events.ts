import type { DeviceEvents } from '../core/device-events.ts';
import type { FanOut } from './fan-out.ts';

/** What is told here is told at every replica, in the same order; `reports` and `status` stay here, for each makes its own. */
export function shareEvents(local: DeviceEvents, { publish }: Pick<FanOut, 'publish'>): DeviceEvents {
  return {
    subscribe: local.subscribe,
    emit: (event) => {
      if (event.kind === 'reports' || event.kind === 'status') local.emit(event);
      else publish({ kind: 'happening', happening: event });
    },
  };
}
