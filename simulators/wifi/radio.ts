import type { Clock } from '@station/kit/clock';
import { change, clientOf, routerOf, advance, tryRouter, type Air, type Profile } from './air.ts';

/** Called before every call: may crash the process or inject a fault. */
export type Gate = (call: string) => 'ok' | 'fault';

const pollMs = 1000;
const scanMs = 6000;
const hotspotMs = 5000;

type Failure = { kind: 'failed'; failure: 'not_found' | 'wrong_password' | 'no_address' | 'failed'; detail: string };
const failed = (failure: Failure['failure']): Failure => ({ kind: 'failed', failure, detail: 'simulated' });

type RadioState = {
  air: Air;
  clock: Clock;
  /** Number of the agent's process. */
  owner: number;
  gate: Gate;
  networks: readonly Seen[];
  /** Id of the last used profile that this process has seen; known even if it does not connect automatically. */
  lastUsed: string | null;
};

/** The radio of one process of the agent, as its watchdog sees it; the shape is that of the agent's port. */
export function createSimulatedRadio(options: { air: Air; clock: Clock; owner: number; gate: Gate }) {
  const radio: RadioState = { ...options, networks: [], lastUsed: null };
  const { air, gate } = radio;
  return {
    observe: () => observe(radio),
    changed: (signal: AbortSignal) => waitForChange(radio, signal),
    scan: async (scanOptions: { hidden?: readonly string[] }, signal: AbortSignal) => {
      if (gate('radio.scan') === 'fault') return radio.networks;
      await pass(radio, scanMs, signal);
      if (isReady(air)) radio.networks = scan(radio, scanOptions.hidden ?? []);
      return radio.networks;
    },
    networks: () => radio.networks,
    joinKnown: (knownOptions: { timeoutMs: number; silent: readonly string[] }, signal: AbortSignal) =>
      joinKnown(radio, knownOptions, signal),
    join: (request: { ssid: string; password: string | null }, signal: AbortSignal) => join(radio, request, signal),
    credentialsOf: async (candidateId: string) => {
      if (gate('radio.credentialsOf') === 'fault') return null;
      const candidate = findProfile(air, candidateId);
      if (!candidate || air.manager === 'absent') return null;
      return { ssid: candidate.ssid, password: candidate.password, security: null };
    },
    keepCandidate: (candidateId: string) => keepCandidate(radio, candidateId),
    dropCandidate: async (candidateId: string): Promise<void> => {
      gate('radio.dropCandidate');
      if (findProfile(air, candidateId)?.isSaved !== true) removeProfile(air, candidateId);
    },
    startHotspot: (settings: { ssid: string; address: string }, signal: AbortSignal) =>
      startHotspot(radio, settings, signal),
    stopHotspot: () => stopHotspot(radio),
  };
}

async function observe(radio: RadioState) {
  const { air, clock, owner, gate } = radio;
  if (gate('radio.observe') === 'fault') throw new Error('the bus disconnected');
  advance(air, clock.monotonic());
  const used = air.profiles.find(({ id }) => id === air.active);
  if (used && (used.isSaved || used.settledBy === owner)) radio.lastUsed = used.id;
  const known = air.manager === 'running' ? air.profiles.filter((profile) => isKnown(radio, profile)) : [];
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
}

async function waitForChange({ air, clock }: RadioState, signal: AbortSignal): Promise<void> {
  const state = (): string => JSON.stringify([air.version, air.autoconnectMs === null]);
  const before = state();
  while (!signal.aborted) {
    await clock.sleep(pollMs, signal).catch(() => undefined);
    advance(air, clock.monotonic());
    if (state() !== before) return;
  }
}

async function joinKnown(
  radio: RadioState,
  { timeoutMs, silent }: { timeoutMs: number; silent: readonly string[] },
  signal: AbortSignal,
) {
  const { air, clock, gate } = radio;
  if (gate('radio.joinKnown') === 'fault') return failed('failed');
  if (!isReady(air)) return failed('failed');
  const until = clock.monotonic() + timeoutMs;
  const current = clientOf(air);
  if (current && !silent.includes(current.ssid)) return { kind: 'joined', ssid: current.ssid } as const;
  const every = air.profiles.map(({ ssid }) => ssid);
  radio.networks = scan(radio, every);
  const inReach = air.profiles.filter((each) => isKnown(radio, each) && routerOf(air, each.ssid));
  const answersHere = ({ ssid }: Profile): boolean => !silent.includes(ssid);
  if (current && !inReach.some(answersHere)) return { kind: 'joined', ssid: current.ssid } as const;
  for (const profile of [...inReach.filter(answersHere), ...inReach.filter((each) => !answersHere(each))]) {
    if (clock.monotonic() + tryRouter(air, profile).afterMs > until) break;
    const answer = await activate(radio, profile, signal);
    if (answer.kind === 'joined') return { kind: 'joined', ssid: profile.ssid } as const;
  }
  return failed('not_found');
}

async function join(
  radio: RadioState,
  { ssid, password }: { ssid: string; password: string | null },
  signal: AbortSignal,
) {
  const { air, owner, gate } = radio;
  if (gate('radio.join') === 'fault' || !isReady(air)) return failed('failed');
  const id = `candidate-${(air.nextId += 1)}`;
  const states = { isSaved: false, isAutomatic: true, owner, settledBy: null, isFailed: false };
  const profile: Profile = { id, ssid, password, ...states };
  change(air, { profiles: [...air.profiles, profile] });
  const answer = await activate(radio, profile, signal).catch((error: unknown) => {
    removeProfile(air, id);
    throw error;
  });
  if (answer.kind === 'joined') return { ...answer, candidateId: id };
  removeProfile(air, id);
  return answer;
}

async function activate(
  { air, clock }: RadioState,
  profile: Profile,
  signal: AbortSignal,
): Promise<Failure | { kind: 'joined'; ip: string }> {
  change(air, { active: null, hotspot: null, phones: 0 });
  await pass({ air, clock }, tryRouter(air, profile).afterMs, signal);
  if (!isReady(air)) return failed('failed');
  const { failure } = tryRouter(air, profile);
  profile.isFailed = failure !== null;
  if (failure) return failed(failure);
  change(air, { active: profile.id });
  return { kind: 'joined', ip: clientOf(air)?.ip ?? '' };
}

async function keepCandidate({ air, owner, gate }: RadioState, candidateId: string): Promise<boolean> {
  const isFaulty = gate('radio.keepCandidate') === 'fault';
  const candidate = findProfile(air, candidateId);
  if (!candidate || air.manager === 'absent') return false;
  if (!candidate.isSaved) candidate.settledBy = owner;
  if (isFaulty) return false;
  candidate.isSaved = true;
  const { ssid } = candidate;
  // Removes older profiles of the agent for this network; profiles of people stay.
  const kept = air.profiles.filter((each) => each.id === candidateId || each.ssid !== ssid || each.owner === null);
  change(air, { profiles: kept });
  return true;
}

async function startHotspot(
  { air, clock, owner, gate }: RadioState,
  { ssid, address }: { ssid: string; address: string },
  signal: AbortSignal,
) {
  const refused = { kind: 'failed', reason: 'failed', detail: 'simulated' } as const;
  if (gate('radio.startHotspot') === 'fault') return refused;
  if (air.blocked !== 'no') return { ...refused, reason: 'blocked' } as const;
  if (!isReady(air)) return refused;
  change(air, { active: null, hasLeftovers: true });
  await clock.sleep(hotspotMs, signal);
  if (!isReady(air)) {
    change(air, { hasLeftovers: false });
    return refused;
  }
  change(air, { active: null, hotspot: { ssid, ip: address, owner } });
  return { kind: 'started' } as const;
}

async function stopHotspot(radio: RadioState): Promise<void> {
  const { air, gate } = radio;
  gate('radio.stopHotspot');
  if (air.hasLeftovers) change(air, { hasLeftovers: false });
  if (air.manager === 'absent') return;
  const isLasting = (each: Profile): boolean => isKnown(radio, each) || each.id === air.active || each.owner === null;
  const left = air.profiles.filter(isLasting);
  if (left.length < air.profiles.length) change(air, { profiles: left });
  if (air.hotspot) change(air, { hotspot: null, phones: 0 });
  // The manager joins known networks automatically again.
  for (const profile of air.profiles) profile.isFailed = false;
}

/** Waits while the simulated time advances, so that a lost connection is noticed. */
async function pass({ air, clock }: Pick<RadioState, 'air' | 'clock'>, ms: number, signal: AbortSignal): Promise<void> {
  advance(air, clock.monotonic());
  await clock.sleep(ms, signal);
  advance(air, clock.monotonic());
}

const isReady = (air: Air): boolean => air.manager === 'running' && air.hasRadio && air.blocked === 'no';

const isKnown = ({ owner, lastUsed }: RadioState, { id, isSaved, isAutomatic, settledBy }: Profile): boolean =>
  (isSaved && (isAutomatic || id === lastUsed)) || settledBy === owner;

const findProfile = (air: Air, id: string): Profile | undefined => air.profiles.find((profile) => profile.id === id);

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

function scan(radio: RadioState, hidden: readonly string[]): Seen[] {
  return radio.air.routers
    .filter(({ isOn, isHidden, ssid }) => isOn && (!isHidden || hidden.includes(ssid)))
    .map(({ ssid, password, signal }) => ({
      ssid,
      security: password === null ? ('open' as const) : ('wpa2' as const),
      signal,
      isKnown: radio.air.profiles.some((profile) => isKnown(radio, profile) && profile.ssid === ssid),
    }))
    .sort((a, b) => b.signal - a.signal);
}
