import type { AgentClient } from '../core/adapters/agent-client.ts';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { BackendConditions } from '../core/conditions.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { Host } from '../core/host.ts';
import type { Leadership } from '../core/leadership.ts';
import type { StationEvents } from '../core/station-events.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { Metrics } from '../http/metrics.ts';
import type { HttpServer } from '../http/server.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { Store } from '../store/database.ts';
import type { StationStore } from '../store/station-store.ts';

/** What every feature uses, and no word of any of them. */
export type Platform = {
  /** Its clock is the station's time; with several backends, that of the database. */
  host: Host;
  trustedTime: TrustedTime;
  store: Store;
  station: StationStore;
  stationId: string;
  tokens: AccessTokens;
  /** What devices report, and what is broadcast. */
  events: DeviceEvents;
  hub: SocketHub;
  conditions: BackendConditions;
  stationEvents: StationEvents;
  leadership: Leadership;
  /** Its calls fail with `agent_unreachable` when this backend has none. */
  agent: AgentClient;
};

/**
 * A feature: what it is made of stands in its folder, and `backend.ts` adds it with one line.
 * @typeParam Needs what it uses of other features, and its part of the configuration.
 * @typeParam Door what other features may call.
 */
export type Module<Needs, Door> = {
  open(platform: Platform, needs: Needs): Promise<Opened<Door>>;
};

export type Opened<Door> = AsyncDisposable & {
  door: Door;
  /** Registers its routes, with their access rules, and its gauges. */
  serve?(serving: Serving): Promise<void>;
  /** Resumes work, once every feature is open and before anybody is answered. */
  begin?(): Promise<void>;
  /** The station answers. */
  settle?(): Promise<void>;
  /** Deletes its own old rows. */
  prune?(): Promise<void>;
};

/** The server before it listens. */
export type Serving = {
  app: HttpServer;
  /** Aborted when the server begins to close. */
  closing: AbortSignal;
  metrics: Metrics;
};

/** @param ends what ends with it; null: nothing. */
export const opened = <Door>(
  ends: AsyncDisposable | Disposable | null,
  door: Door,
  more: Omit<Opened<Door>, 'door' | typeof Symbol.asyncDispose> = {},
): Opened<Door> => ({
  ...more,
  door,
  [Symbol.asyncDispose]: async () => {
    await using _ended = ends;
  },
});
