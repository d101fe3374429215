import type { Commands } from '../core/commands.ts';
import { readState } from '../core/device-state.ts';
import type { ForeignDevices } from '../core/foreign-devices-port.ts';
import type { DeviceTypes } from '../core/type-registry.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { type Module, opened, type Platform } from '../platform/module.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { type Consumers, openConsumers } from './consumers.ts';
import { type ConsumerStore, createConsumerStore } from './consumer-store.ts';
import type { House } from './picture.ts';

type ConsumersNeeds = {
  version: string;
  /** Devices of gateways, whose topics nobody else has. */
  gateways: ForeignDevices;
  /** Several backends share the broker. */
  isShared: boolean;
};

type Household = { devices: DeviceStore; types: DeviceTypes; commands: Pick<Commands, 'send'> };

type ConsumersDoor = {
  /** What the broker knows of other systems, in both directions. */
  systems: ForeignDevices;
  /** Consumers are told of the devices from now on. */
  begin(household: Household): void;
};

/** Other systems that see and switch the station's devices (ADR 83). Opened before the broker, which must know their logins. */
export const consumersModule: Module<ConsumersNeeds, ConsumersDoor> = {
  open: async (platform, { version, gateways, isShared }) => {
    const { host, store, stationId, events } = platform;
    const { clock, logger } = host;
    const kept = createConsumerStore(store.db);
    const consumers = await openConsumers({
      store: kept,
      stationId,
      events,
      taken: gateways.filters,
      isShared,
      clock,
      logger,
    });
    const door: ConsumersDoor = {
      systems: consumers.beside(gateways),
      begin: (household) =>
        consumers.begin({ commands: household.commands, read: () => readHouse(platform, kept, household, version) }),
    };
    return opened(consumers, door, { serve: async ({ app }) => registerRoutes(app, consumers) });
  },
};

async function readHouse(
  { station, stationId }: Platform,
  store: ConsumerStore,
  { devices, types }: Household,
  version: string,
): Promise<House> {
  const zones = await store.zones();
  const rows = (await devices.list()).toSorted(
    (one, other) => one.created_at - other.created_at || (one.id < other.id ? -1 : 1),
  );
  const { name: stationName } = await station.read();
  return {
    stationId,
    stationName,
    version,
    devices: rows.map((row) => ({
      id: row.id,
      name: row.name,
      typeName: row.type,
      type: types.of(row),
      zone: row.zone_id === null ? null : (zones.get(row.zone_id) ?? null),
      isOnline: row.status === 'online',
      state: readState(row.state),
      firmwareVersion: row.firmware_version,
      dialect: row.gateway_id === null ? null : (row.external_id.split(':')[0] ?? null),
    })),
  };
}

function registerRoutes(app: HttpServer, consumers: Consumers): void {
  serve(app, 'GET /api/consumers', async () => consumers.list());
  serve(app, 'PUT /api/consumers/:kind', async (request, reply) =>
    reply.code(201).send(await consumers.switchOn(request.params.kind, request.body.topic)),
  );
  serve(app, 'POST /api/consumers/:kind/login', (request) => consumers.renewLogin(request.params.kind));
  serve(app, 'DELETE /api/consumers/:kind', async (request, reply) => {
    await consumers.switchOff(request.params.kind);
    return reply.code(204).send(null);
  });
}
