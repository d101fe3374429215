/**
 * A home as the Wi-Fi watchdog sees it: routers, a cable, NetworkManager and a radio. The data outlives the agent's
 * process. All automatic changes depend only on the given time. Network names are hex.
 */
export type Air = {
  routers: SimulatedRouter[];
  profiles: Profile[];
  manager: 'running' | 'absent';
  hasRadio: boolean;
  blocked: 'no' | 'soft' | 'hard';
  cable: { ip: string; gateway: string } | null;
  /** The hotspot ends with its process, as a D-Bus client's does. */
  hotspot: { ssid: string; ip: string; owner: number } | null;
  /** The hotspot's changes to the machine are active. They outlive the hotspot, the manager and the process. */
  hasLeftovers: boolean;
  /** Phones in the hotspot. */
  phones: number;
  /** The profile in use, by its id. */
  active: string | null;
  /** When the manager connects automatically; null: it does not. */
  autoconnectMs: number | null;
  nextId: number;
  /** Increases with each change. */
  version: number;
};

export type SimulatedRouter = {
  ssid: string;
  /** Null: an open network. */
  password: string | null;
  isOn: boolean;
  isHidden: boolean;
  givesAddresses: boolean;
  answers: boolean;
  internet: boolean;
  signal: number;
};

/**
 * `isFailed`: the manager does not retry it, for example after a wrong password.
 * `settledBy`: the process that verified it but could not write it to disk.
 */
export type Profile = {
  id: string;
  ssid: string;
  password: string | null;
  isSaved: boolean;
  /** Whether the manager joins it automatically. */
  isAutomatic: boolean;
  owner: number | null;
  settledBy: number | null;
  isFailed: boolean;
};

const autoconnectDelayMs = 6000;

export const routerOf = (air: Air, ssid: string): SimulatedRouter | undefined =>
  air.routers.find((router) => router.ssid === ssid && router.isOn);

/** Result of a join attempt, and when it ends. */
export function tryRouter(
  air: Air,
  { ssid, password }: { ssid: string; password: string | null },
): { failure: 'not_found' | 'wrong_password' | 'no_address' | null; afterMs: number } {
  const router = routerOf(air, ssid);
  if (!router) return { failure: 'not_found', afterMs: 12_000 };
  if (router.password !== password) return { failure: 'wrong_password', afterMs: 8000 };
  if (!router.givesAddresses) return { failure: 'no_address', afterMs: 20_000 };
  return { failure: null, afterMs: 4000 };
}

const addressOf = (air: Air, ssid: string): { ip: string; gateway: string } => {
  const net = 1 + air.routers.findIndex((router) => router.ssid === ssid);
  return { ip: `10.0.${net}.2`, gateway: `10.0.${net}.1` };
};

/** The connection as a client; null: none. */
export function clientOf(air: Air) {
  const profile = air.profiles.find(({ id }) => id === air.active);
  if (!profile || !isUsable(air)) return null;
  const { ssid } = profile;
  const signal = routerOf(air, ssid)?.signal ?? 0;
  return { ssid, ...addressOf(air, ssid), signal, candidateId: profile.isSaved ? null : profile.id };
}

const isUsable = (air: Air): boolean => air.manager === 'running' && air.hasRadio && air.blocked === 'no';

/** Advances the world to `nowMs`: lost routers, blocks, restarts of the manager, automatic connections. */
export function advance(air: Air, nowMs: number): void {
  if (!isUsable(air)) {
    if (air.hotspot || air.active !== null) change(air, { hotspot: null, phones: 0, active: null });
    air.autoconnectMs = null;
    return;
  }
  const active = air.profiles.find(({ id }) => id === air.active);
  if (air.active !== null && (!active || !routerOf(air, active.ssid))) change(air, { active: null });
  const next = air.hotspot || air.active !== null ? undefined : joinable(air);
  if (!next) {
    air.autoconnectMs = null;
    return;
  }
  air.autoconnectMs ??= nowMs + autoconnectDelayMs;
  if (nowMs < air.autoconnectMs) return;
  air.autoconnectMs = null;
  if (tryRouter(air, next).failure === null) change(air, { active: next.id });
  else next.isFailed = true;
}

const joinable = (air: Air): Profile | undefined =>
  air.profiles.find(
    (profile) =>
      profile.isAutomatic &&
      (profile.isSaved || profile.settledBy !== null) &&
      !profile.isFailed &&
      routerOf(air, profile.ssid),
  );

export function change(air: Air, changes: Partial<Air>): void {
  Object.assign(air, changes, { version: air.version + 1 });
}

/** Ends everything that belongs to a D-Bus client whose process has ended. */
export function loseProcess(air: Air, owner: number): void {
  if (air.hotspot?.owner === owner) change(air, { hotspot: null, phones: 0 });
}

/** Gateways that answer: the router at the cable always, the others as configured. */
export function reach(air: Air, gateway: string | null): 'none' | 'local' | 'full' {
  if (gateway !== null && air.cable?.gateway === gateway) return 'full';
  const client = clientOf(air);
  const router = client && client.gateway === gateway ? routerOf(air, client.ssid) : undefined;
  if (!router?.answers) return 'none';
  return router.internet ? 'full' : 'local';
}
