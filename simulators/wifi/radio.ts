import type { Clock } from '@station/kit/clock';
import { change, clientOf, routerOf, advance, tryRouter, type Air, type Profile } from './air.ts';

/** Called before every call: may crash the process or inject a fault. */
export type Gate = (call: string) => 'ok' | 'fault';

const lookMs = 1000;
const scanMs = 6000;
const hotspotMs = 5000;

type Failure = { kind: 'failed'; failure: 'not_found' | 'wrong_password' | 'no_address' | 'failed'; detail: string };
const failed = (failure: Failure['failure']): Failure => ({ kind: 'failed', failure, detail: 'simulated' });

/** The radio of one process of the agent, as its watchdog sees it; the shape is that of the agent's port. */
export function createSimulatedRadio(options: { air: Air; clock: Clock; owner: number; gate: Gate }) {
  const { air, clock, owner, gate } = options;
  let networks: readonly Seen[] = [];
  /** Waits while the simulated time advances, so that a lost connection is noticed. */
  const pass = async (ms: number, signal?: AbortSignal): Promise<void> => {
    advance(air, clock.monotonic());
    await clock.sleep(ms, signal);
    advance(air, clock.monotonic());
  };
  const isReady = (): boolean => air.manager === 'running' && air.hasRadio && air.blocked === 'no';
  /** The last used network that this process has seen; known even if it does not connect automatically. */
  let lastUsed: string | null = null;
  const isKnown = ({ id, isSaved, isAutomatic, settledBy }: Profile): boolean =>
    (isSaved && (isAutomatic || id === lastUsed)) || settledBy === owner;
  const cause = (): string => JSON.stringify([air.version, air.autoconnectMs === null]);

  const activate = async (profile: Profile, signal: AbortSignal): Promise<Failure | { kind: 'joined'; ip: string }> => {
    change(air, { active: null, hotspot: null, phones: 0 });
    const answer = tryRouter(air, profile);
    await pass(answer.afterMs, signal);
    if (!isReady()) return failed('failed');
    const now = tryRouter(air, profile);
    profile.isFailed = now.failure !== null;
    if (now.failure) return failed(now.failure);
    change(air, { active: profile.id });
    return { kind: 'joined', ip: clientOf(air)?.ip ?? '' };
  };

  return {
    observe: async () => {
      if (gate('radio.observe') === 'fault') throw new Error('the bus disconnected');
      advance(air, clock.monotonic());
      const used = air.profiles.find(({ id }) => id === air.active);
      if (used && (used.isSaved || used.settledBy === owner)) lastUsed = used.id;
      const known = air.manager === 'running' ? air.profiles.filter(isKnown) : [];
      return {
        manager: air.manager,
        radio: air.manager === 'running' && air.hasRadio ? radioFacts(air) : null,
        ethernet: air.manager === 'running' && air.cable ? { interface: 'eth0', ...air.cable } : null,
        known: known.map(({ ssid }) => ssid),
        hidden: known.map(({ ssid }) => ssid).filter((ssid) => routerOf(air, ssid)?.isHidden === true),
        hasRoute: air.cable !== null || clientOf(air) !== null,
        unkept: known.filter(({ isSaved }) => !isSaved).map(({ ssid }) => ssid),
        hasLeftovers: air.hasLeftovers,
      };
    },
    changed: async (signal: AbortSignal): Promise<void> => {
      const before = cause();
      while (!signal.aborted) {
        await clock.sleep(lookMs, signal).catch(() => undefined);
        advance(air, clock.monotonic());
        if (cause() !== before) return;
      }
    },
    scan: async (scanOptions: { hidden?: readonly string[] }, signal: AbortSignal) => {
      if (gate('radio.scan') === 'fault') return networks;
      await pass(scanMs, signal);
      if (isReady()) networks = scan(air, scanOptions.hidden ?? [], isKnown);
      return networks;
    },
    networks: () => networks,
    joinKnown: async (knownOptions: { timeoutMs: number; silent: readonly string[] }, signal: AbortSignal) => {
      if (gate('radio.joinKnown') === 'fault') return failed('failed');
      if (!isReady()) return failed('failed');
      const { timeoutMs, silent } = knownOptions;
      const until = clock.monotonic() + timeoutMs;
      const now = clientOf(air);
      if (now && !silent.includes(now.ssid)) return { kind: 'joined', ssid: now.ssid } as const;
      networks = scan(
        air,
        air.profiles.map(({ ssid }) => ssid),
        isKnown,
      );
      const inReach = air.profiles.filter((each) => isKnown(each) && routerOf(air, each.ssid));
      const isLoud = ({ ssid }: Profile): boolean => !silent.includes(ssid);
      if (now && !inReach.some(isLoud)) return { kind: 'joined', ssid: now.ssid } as const;
      for (const profile of [...inReach.filter(isLoud), ...inReach.filter((each) => !isLoud(each))]) {
        if (clock.monotonic() + tryRouter(air, profile).afterMs > until) break;
        const answer = await activate(profile, signal);
        if (answer.kind === 'joined') return { kind: 'joined', ssid: profile.ssid } as const;
      }
      return failed('not_found');
    },
    join: async (request: { ssid: string; password: string | null }, signal: AbortSignal) => {
      if (gate('radio.join') === 'fault' || !isReady()) return failed('failed');
      const { ssid, password } = request;
      const id = `candidate-${(air.nextId += 1)}`;
      const profile: Profile = {
        id,
        ssid,
        password,
        isSaved: false,
        isAutomatic: true,
        owner,
        settledBy: null,
        isFailed: false,
      };
      change(air, { profiles: [...air.profiles, profile] });
      const answer = await activate(profile, signal).catch((error: unknown) => {
        removeProfile(air, id);
        throw error;
      });
      if (answer.kind === 'joined') return { ...answer, candidateId: id };
      removeProfile(air, id);
      return answer;
    },
    credentialsOf: async (candidateId: string) => {
      if (gate('radio.credentialsOf') === 'fault') return null;
      const candidate = air.profiles.find(({ id }) => id === candidateId);
      if (!candidate || air.manager === 'absent') return null;
      return { ssid: candidate.ssid, password: candidate.password, security: null };
    },
    keepCandidate: async (candidateId: string): Promise<boolean> => {
      const isFaulty = gate('radio.keepCandidate') === 'fault';
      const candidate = air.profiles.find(({ id }) => id === candidateId);
      if (!candidate || air.manager === 'absent') return false;
      if (!candidate.isSaved) candidate.settledBy = owner;
      if (isFaulty) return false;
      candidate.isSaved = true;
      const { ssid } = candidate;
      // Removes older profiles of the agent for this network; profiles of people stay.
      const kept = air.profiles.filter((each) => each.id === candidateId || each.ssid !== ssid || each.owner === null);
      change(air, { profiles: kept });
      return true;
    },
    dropCandidate: async (candidateId: string): Promise<void> => {
      gate('radio.dropCandidate');
      if (!air.profiles.some(({ id, isSaved }) => id === candidateId && isSaved)) removeProfile(air, candidateId);
    },
    startHotspot: async (settings: { ssid: string; address: string }, signal: AbortSignal) => {
      const refused = { kind: 'failed', reason: 'failed', detail: 'simulated' } as const;
      if (gate('radio.startHotspot') === 'fault') return refused;
      if (air.blocked !== 'no') return { ...refused, reason: 'blocked' } as const;
      if (!isReady()) return refused;
      change(air, { active: null, hasLeftovers: true });
      await clock.sleep(hotspotMs, signal);
      if (!isReady()) {
        change(air, { hasLeftovers: false });
        return refused;
      }
      change(air, { active: null, hotspot: { ssid: settings.ssid, ip: settings.address, owner } });
      return { kind: 'started' } as const;
    },
    stopHotspot: async (): Promise<void> => {
      gate('radio.stopHotspot');
      if (air.hasLeftovers) change(air, { hasLeftovers: false });
      if (air.manager === 'absent') return;
      const left = air.profiles.filter((each) => isKnown(each) || each.id === air.active || each.owner === null);
      if (left.length < air.profiles.length) change(air, { profiles: left });
      if (air.hotspot) change(air, { hotspot: null, phones: 0 });
      // The manager joins known networks automatically again.
      for (const profile of air.profiles) profile.isFailed = false;
    },
  };
}

function removeProfile(air: Air, id: string): void {
  change(air, { profiles: air.profiles.filter((each) => each.id !== id) });
}

function radioFacts(air: Air) {
  const client = clientOf(air);
  const state = air.blocked !== 'no' ? 'unavailable' : air.hotspot ? 'hotspot' : client ? 'connected' : 'disconnected';
  return {
    interface: 'wlan0',
    isManaged: true,
    blocked: air.blocked,
    canBeAccessPoint: true,
    state,
    client,
    hotspot: air.hotspot && { ssid: air.hotspot.ssid, ip: air.hotspot.ip, clients: air.phones },
  } as const;
}

type Seen = { ssid: string; security: 'open' | 'wpa2'; signal: number; isKnown: boolean };

function scan(air: Air, hidden: readonly string[], isKnown: (profile: Profile) => boolean): Seen[] {
  return air.routers
    .filter(({ isOn, isHidden, ssid }) => isOn && (!isHidden || hidden.includes(ssid)))
    .map(({ ssid, password, signal }) => ({
      ssid,
      security: password === null ? ('open' as const) : ('wpa2' as const),
      signal,
      isKnown: air.profiles.some((profile) => isKnown(profile) && profile.ssid === ssid),
    }))
    .sort((a, b) => b.signal - a.signal);
}
