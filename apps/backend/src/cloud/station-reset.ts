import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { DeviceStore } from '../store/device-store.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { CloudConfigStore } from './cloud-config-store.ts';
import type { PublishCommand } from '../core/commands.ts';

export type StationReset = {
  /** On disk from here on: whatever ends the backend, the reset goes on at its next start. */
  begin(): Promise<void>;
  /** Tells every device to forget the station, and forgets the cloud. */
  finish(): Promise<void>;
};

/** Contracts, section 12: how long devices are waited for. */
const patienceMs = 10_000;
const retryMs = 500;
/** A device that is away now gets it when it comes back, if the broker keeps its session. */
const keptForMs = 7 * 24 * 60 * 60 * 1000;

/** station_reset (specification, "Cloud legacy messages"). The broker may be down: then the devices are not told, and the rest is done. */
export function createStationReset(parts: {
  config: Pick<CloudConfigStore, 'beginReset' | 'wipe'>;
  /** Tokens of this user no longer tell the truth. */
  revoke(userId: string): void;
  devices: Pick<DeviceStore, 'list'>;
  publish: PublishCommand;
  clock: Clock;
  logger: BackendLogger;
}): StationReset {
  const { config, devices, publish, clock, logger } = parts;

  const tell = async (externalId: string, patience: AbortSignal): Promise<boolean> => {
    const command = { action: 'factory_reset', commandId: randomUUID() };
    while (!patience.aborted) {
      try {
        await publish(externalId, command, keptForMs);
        return true;
      } catch {
        await clock.sleep(retryMs, patience).catch(() => undefined);
      }
    }
    return false;
  };

  return {
    begin: config.beginReset,
    finish: async () => {
      const all = await devices.list();
      logger.event('cloud_station_reset', { phase: 'begun', devices: all.length, reached: 0 });
      const patience = new AbortController();
      let reached = 0;
      const telling = all.map(async ({ external_id: externalId }) => {
        if (await tell(externalId, patience.signal)) reached += 1;
      });
      const waiting = clock.sleep(patienceMs, patience.signal).catch(() => undefined);
      await Promise.race([Promise.all(telling), waiting]);
      patience.abort();
      (await config.wipe()).forEach(parts.revoke);
      logger.event('cloud_station_reset', { phase: 'done', devices: all.length, reached });
    },
  };
}
