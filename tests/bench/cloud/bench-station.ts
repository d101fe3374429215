import { backendEvents } from '@station/protocol/backend-events';
import { join } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createBroadcastTap } from '../../../apps/backend/src/cloud/outgoing-events.ts';
import { startCloud, type Cloud, type CloudParts } from '../../../apps/backend/src/cloud/cloud.ts';
import { createCloudConfigStore } from '../../../apps/backend/src/cloud/cloud-config-store.ts';
import { readCloudSettings } from '../../../apps/backend/src/cloud/cloud-settings.ts';
import { createDeviceEvents, type DeviceEvents } from '../../../apps/backend/src/core/device-events.ts';
import { builtInTypes } from '../../../apps/backend/testing/built-in-types.ts';
import { createDeviceStore, type DeviceStore } from '../../../apps/backend/src/store/device-store.ts';
import { createLogger } from '@station/kit/logger';
import { openSecretBox } from '../../../apps/backend/src/store/secret-box.ts';
import { createSocketHub } from '../../../apps/backend/src/socket/hub.ts';
import { ensureStation } from '../../../apps/backend/src/store/station-store.ts';
import { openStore, type Store } from '../../../apps/backend/src/store/database.ts';
import { migrations } from '../../../apps/backend/src/store/migrations/all.ts';

/** Effects of the link outside the database. */
export type StationActions = Pick<CloudParts, 'commands' | 'publish' | 'onReset'>;

export type BenchStation = AsyncDisposable & {
  store: Store;
  file: string;
  devices: DeviceStore;
  events: DeviceEvents;
  /** Starts the claimed station's link to a cloud on this loopback port. */
  link(port: number, tuning?: CloudParts['tuning'], doing?: Partial<StationActions>): Promise<Cloud>;
};

/**
 * The parts of a backend that the cloud link needs, with their own SQLite file; no HTTP, no broker.
 * @param write receives logged errors.
 */
export async function benchStation(
  folder: string,
  write: (line: string) => void = (line) => void process.stderr.write(line),
): Promise<BenchStation> {
  const clock = systemClock;
  const logger = createLogger({ catalogue: backendEvents, clock, level: 'error', secrets: [], write });
  await using starting = new AsyncDisposableStack();
  const file = join(folder, 'station.sqlite');
  const onDamage = (): void => undefined;
  const store = starting.use(
    await openStore({ config: { kind: 'sqlite', file }, migrations, clock, disk: nodeDisk, logger, onDamage }),
  );
  const { db } = store;
  await ensureStation(db, { stationId: null, generateId: () => 'bench', timeZone: 'UTC', clock });
  const box = await openSecretBox({ disk: nodeDisk, path: join(folder, 'settings-key') });
  await createCloudConfigStore({ db, box, clock }).claim('a token that is long enough');
  const devices = createDeviceStore({ db, clock });
  const events = createDeviceEvents(logger);
  const running = starting.move();
  return {
    store,
    file,
    devices,
    events,
    link: async (port, tuning = {}, doing = {}) => {
      const { settings } = readCloudSettings({ CLOUD_HOST: `ws://127.0.0.1:${port}` });
      if (settings === null) throw new Error('CLOUD_HOST was not accepted');
      const tap = createBroadcastTap();
      const leadership = { isLeader: () => true, subscribe: () => ({ [Symbol.dispose]: () => undefined }) };
      const scenes = { list: async () => [], run: async () => ({ sent: [], failed: [] }) };
      const alone = { leadership, others: null, scenes };
      const usual: StationActions = {
        commands: { send: async () => ({ kind: 'unknown_device' }) },
        publish: async () => undefined,
        onReset: () => undefined,
      };
      const home = { store, box, devices, types: builtInTypes, events, hub: tap.on(createSocketHub()), tap, ...alone };
      const rest = { ...usual, ...doing, tokens: { revoke: () => undefined } };
      const host = { clock, disk: nodeDisk, logger, random: Math.random };
      return running.use(await startCloud({ settings, stationId: 'bench', ...home, ...rest, ...host, tuning }));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
