import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import type { CountingDevice } from './counting-devices.ts';

/** All devices count without a pause until it is stopped. They repeat messages that the broker has not acknowledged. */
export function startLoad(devices: readonly CountingDevice[], pauseMs: number): { end(): Promise<void> } {
  let isEnding = false;
  const run = async (device: CountingDevice): Promise<void> => {
    while (!isEnding) {
      await device.count();
      await sleep(pauseMs);
    }
  };
  const running = Promise.all(devices.map(run));
  return {
    end: async () => {
      isEnding = true;
      await running;
    },
  };
}

/** Acknowledged messages that are not in the database, as `<device> <number>`. */
export async function findLost(
  cluster: Cluster,
  devices: readonly Pick<CountingDevice, 'externalId' | 'acknowledged'>[],
): Promise<string[]> {
  const rows = await cluster.query<{ external_id: string; n: number }>(
    `select devices.external_id, (device_events.data::json ->> 'n')::int as n
     from device_events join devices on devices.id = device_events.device_id
     where device_events.data like '%"counted"%'`,
  );
  const stored = new Set(rows.map(({ external_id, n }) => `${external_id} ${n}`));
  return devices.flatMap(({ externalId, acknowledged }) =>
    [...acknowledged].map((n) => `${externalId} ${n}`).filter((entry) => !stored.has(entry)),
  );
}

/** Checks ten times a second whether a device is shown as offline. */
export function watchForOffline(cluster: Cluster): AsyncDisposable & { seen: Set<string> } {
  const seen = new Set<string>();
  const ending = new AbortController();
  const look = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const rows = await cluster.query<{ external_id: string }>(
        `select external_id from devices where status = 'offline'`,
      );
      for (const { external_id } of rows) seen.add(external_id);
      await sleep(100, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  };
  const looking = look();
  return {
    seen,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await looking;
    },
  };
}
