import type { BackendConfig } from './config.ts';
import type { DeviceEvents } from './core/device-events.ts';
import type { Host } from './core/host.ts';
import { registerAllRoutes } from './all-routes.ts';
import { closeInTime } from './http/closing.ts';
import type { DescribedRoute } from './http/docs.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import { openRooms, type RoomHooks } from './rooms.ts';
import type { Database } from './store/schema.ts';

export type BackendHooks = RoomHooks & { extraRoutes?: (app: HttpServer) => Promise<void> };

export type Backend = AsyncDisposable & {
  /** Where it listens, e.g. `http://127.0.0.1:3000`. */
  url: string;
  /** Of the embedded broker, e.g. `mqtt://127.0.0.1:1883`; null with another one. */
  mqttAddress: string | null;
  http: HttpServer;
  deviceEvents: DeviceEvents;
  /** Everything that is registered, with its access rule. */
  routes: readonly DescribedRoute[];
  db: Database;
};

/**
 * Builds the whole backend and starts listening. Disposing it stops in reverse order: no new connections, requests under way
 * are finished, then the links and the database are closed.
 */
export async function startBackend(config: BackendConfig, host: Host, hooks: BackendHooks): Promise<Backend> {
  await using starting = new AsyncDisposableStack();
  const rooms = await openRooms(starting, config, host, hooks);
  const app = createHttpServer({ logger: host.logger });
  // Even when the start fails half way.
  starting.defer(() => closeInTime(app));
  const routes = await registerAllRoutes(app, rooms, () => hooks.onRestart(), hooks.extraRoutes);
  await rooms.begin();
  const url = await app.listen({ port: config.port, host: config.host });
  const running = starting.move();
  return {
    url,
    mqttAddress: rooms.mqtt.address,
    http: app,
    deviceEvents: rooms.events,
    routes,
    db: rooms.store.db,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
