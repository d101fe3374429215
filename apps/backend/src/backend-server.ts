import type { Foundations } from './backend-platform.ts';
import type { BackendConfig } from './config.ts';
import { enforceAccess } from './http/access.ts';
import {
  createAdmit,
  createRequireStationRole,
  createVerifyAgentToken,
  createVerifyDeviceToken,
  createVerifyMetricsToken,
  createVerifyToken,
} from './http/caller.ts';
import { registerConditionsRoute } from './http/condition-routes.ts';
import { collectRoutes, type DescribedRoute, registerDocsRoutes } from './http/docs.ts';
import { registerHealthRoute } from './http/health.ts';
import { createMetrics, registerMetrics } from './http/metrics.ts';
import { queueHeavyReads } from './http/read-queue.ts';
import { requireHandlers } from './http/serve.ts';
import { closingSignal, type HttpServer } from './http/server.ts';
import { registerSnapshotRoute } from './http/snapshot.ts';
import { registerWebApp } from './http/adapters/web-app.ts';
import type { Mqtt } from './mqtt/mqtt.ts';
import type { Opened } from './platform/module.ts';
import { registerSocketRoute } from './socket/connection.ts';
import type { DeviceStore } from './store/device-store.ts';
import { createFindSight } from './store/member-limits.ts';

/** The broker link reconnects once a second. A shorter gap does not make the backend unhealthy. */
const linkGapMs = 2_000;

type Served = {
  config: BackendConfig;
  foundations: Foundations;
  mqtt: Pick<Mqtt, 'isReadyWithin'>;
  devices: Pick<DeviceStore, 'findByTokenHash'>;
  features: readonly Opened<unknown>[];
  /** Used by tests only. */
  extraRoutes: ((app: HttpServer) => Promise<void>) | undefined;
};

/** Registers the routes of all features, and those of none. @returns all of them, with their access rules. */
export async function registerRoutes(app: HttpServer, served: Served): Promise<readonly DescribedRoute[]> {
  const { config, foundations, mqtt, devices, features, extraRoutes } = served;
  const { platform, storage, replicas } = foundations;
  const { host, store, station, hub, tokens } = platform;
  const { clock, logger } = host;
  const { version } = config;
  const findSight = createFindSight(store.db);
  const routes = collectRoutes(app);
  const closing = closingSignal(app);
  queueHeavyReads(app);
  enforceAccess(app, {
    verifyToken: createVerifyToken(tokens),
    admit: createAdmit(findSight),
    requireStationRole: createRequireStationRole(station),
    verifyDeviceToken: createVerifyDeviceToken(devices.findByTokenHash),
    verifyAgentToken: createVerifyAgentToken(config.agentToken),
    verifyMetricsToken: createVerifyMetricsToken(config.metricsToken),
  });
  const metrics = createMetrics();
  metrics.gauge('station_socket_clients', 'Clients logged in at /ws.', () => hub.size());
  await registerMetrics(app, metrics);
  await registerHealthRoute(app, {
    version,
    checks: {
      database: storage.check,
      mqtt: async () => ((await mqtt.isReadyWithin(linkGapMs)) ? null : 'not connected'),
    },
    replica: () => replicas && { id: replicas.id, leader: replicas.leadership.isLeader() },
  });
  await registerConditionsRoute(app, platform);
  await registerSnapshotRoute(app);
  for (const feature of features) await feature.serve?.({ app, closing, metrics });
  const describe = async () => {
    const { station_id: id, name } = await station.read();
    return { version, station: { id, name } };
  };
  await registerSocketRoute(app, { hub, tokens, findSight, clock, logger, describe });
  await registerDocsRoutes(app, { routes, version });
  requireHandlers(app, routes);
  if (config.webDir !== null) await registerWebApp(app, { directory: config.webDir });
  await extraRoutes?.(app);
  return routes;
}
