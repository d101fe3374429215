import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import type { SavedNetworks } from '../../../core/backup-ports.ts';
import type { SsidHex, Network } from '../../../core/wifi-network.ts';
import type { Radio, RadioFacts } from '../../wifi-ports.ts';
import { aborted, type Bus, BusError, type BusSignal, createBus, systemBusAddress } from '@station/kit/message-bus';
import { kernelPaths, type KernelPaths } from '../../../core/adapters/kernel-files.ts';
import { createClient, matchRules } from './client.ts';
import { absentFacts, factsOf, type HostFacts } from './facts.ts';
import {
  countNeighbours,
  createDnsAnswers,
  createForwarding,
  type DnsAnswers,
  hasDefaultRoute,
  readBlocked,
  readForeignAddress,
  sharedDnsmasqFolder,
} from './host.ts';
import { type HotspotParts, startHotspot, stopHotspot, undoOnMachine } from './hotspot.ts';
import { joinKnown } from './join-known.ts';
import { credentialsOf, join, type JoinParts, keepCandidate, removeCandidates } from './join.ts';
import { compoundTypes, devicesOf, deviceState, deviceType, interfaces, record, text } from './objects.ts';
import { createSavedNetworks } from './saved-networks.ts';
import { readNetworks, scanNow } from './scan.ts';
import { createSupplicant, type Supplicant } from './supplicant.ts';

export type NetworkManagerParts = {
  /** D-Bus server address; the system bus when not given. */
  busAddress?: string;
  /** Name of the Wi-Fi device; null: the first one. */
  interface: string | null;
  /** ISO 3166-1, two capital letters: the country whose radio rules apply; null: unchanged. */
  country: string | null;
  /** Folder of the configuration of the hotspot's dnsmasq. */
  dnsmasqFolder?: string;
  kernel?: KernelPaths;
  clock: Clock;
  logger: AgentLogger;
  /** Longest waits, milliseconds; others in tests. */
  limits?: Partial<Limits>;
};

export type Limits = {
  callMs: number;
  scanMs: number;
  findMs: number;
  joinMs: number;
  handshakeMs: number;
  unblockMs: number;
  hotspotStartMs: number;
  hotspotStopMs: number;
};

/** A join leaves time, within its 45 s, for the clean-up after it. */
const defaultLimits: Limits = {
  callMs: 10_000,
  scanMs: 15_000,
  findMs: 14_000,
  joinMs: 42_000,
  handshakeMs: 6_000,
  unblockMs: 10_000,
  hotspotStartMs: 40_000,
  hotspotStopMs: 10_000,
};

export type NetworkManager = Radio &
  AsyncDisposable & {
    /** What a backup holds. */
    saved: SavedNetworks;
    /** For tests that check for leaks. */
    listenerCount(): number;
  };

/**
 * The machine's Wi-Fi through NetworkManager 1.42 on the system bus; both may be missing, now or later.
 * Passwords are sent only in the settings of a call. Source of names and numbers: NetworkManager D-Bus API reference;
 * wpa_supplicant's `doc/dbus.doxygen`.
 *
 * Permissions: root on the system bus for both, write access to `/etc/NetworkManager/dnsmasq-shared.d` and
 * `/proc/sys/net/ipv4/conf`, read access to `/sys/class/rfkill` and `/proc/net`.
 */
export function createNetworkManager(parts: NetworkManagerParts): NetworkManager {
  const radio = openRadio(parts);
  const { bus, client, changes, dns, limits, warn } = radio;
  const joinParts = joinPartsOf(radio, parts);
  const hotspotParts = hotspotPartsOf(radio, parts);
  return {
    observe: () => observe(radio),
    changed: changes.next,
    networks: () => radio.networks,
    scan: async ({ hidden = [] }, signal) => {
      try {
        await scanNow({ ...joinParts, limitMs: limits.scanMs }, hidden, signal);
        await noteNetworks(radio);
      } catch (error) {
        if (!(error instanceof BusError)) throw error;
      }
      return radio.networks;
    },
    joinKnown: async (options, signal) => {
      const outcome = await joinKnown(joinParts, options, signal);
      // The join has also scanned.
      await noteNetworks(radio).catch(warn);
      return outcome;
    },
    join: (request, signal) => join(joinParts, request, signal),
    credentialsOf: (candidateId) => credentialsOf(joinParts, candidateId),
    keepCandidate: (candidateId) => keepCandidate(client, candidateId),
    dropCandidate: (candidateId) => removeCandidates(client, ({ uuid }) => uuid === candidateId),
    startHotspot: async (settings, signal) => {
      const facts = await unblock(radio, signal);
      const isThere = facts.radio?.hotspot?.ssid === settings.ssid && facts.radio.hotspot.ip === settings.address;
      return isThere ? { kind: 'started' } : startHotspot(hotspotParts, facts, settings, signal);
    },
    stopHotspot: () => stopHotspot(hotspotParts),
    saved: createSavedNetworks(client),
    listenerCount: bus.listenerCount,
    [Symbol.asyncDispose]: async () => {
      // The hotspot itself ends with this connection, but its changes on the machine would stay.
      if ((await dns.interfaceName()) !== null) await stopHotspot(hotspotParts);
      changes[Symbol.dispose]();
      client[Symbol.dispose]();
      await bus[Symbol.asyncDispose]();
    },
  };
}

function joinPartsOf(radio: OpenRadio, { clock }: NetworkManagerParts): JoinParts {
  const { bus, client, supplicant, interfaceName, limits } = radio;
  const frequenciesOf = (ssid: SsidHex): readonly number[] => radio.frequencies.get(ssid) ?? [];
  return { bus, client, supplicant, interfaceName, frequenciesOf, ...limits, clock };
}

function hotspotPartsOf(radio: OpenRadio, { country }: NetworkManagerParts): HotspotParts {
  const { bus, client, supplicant, interfaceName, dns, warn, kernel, limits } = radio;
  return {
    bus,
    client,
    supplicant,
    interfaceName,
    dns,
    warn,
    country,
    proc: kernel.proc,
    forwarding: createForwarding(kernel.proc),
    startMs: limits.hotspotStartMs,
    stopMs: limits.hotspotStopMs,
  };
}

type OpenRadio = {
  bus: Bus;
  client: ReturnType<typeof createClient>;
  supplicant: Supplicant;
  changes: ReturnType<typeof createChanges>;
  dns: DnsAnswers;
  kernel: KernelPaths;
  interfaceName: string | null;
  limits: Limits;
  warn: (error: unknown) => void;
  /** What the last scan found. */
  networks: readonly Network[];
  /** Channels (MHz) on which the last scan found each network. */
  frequencies: Map<SsidHex, number[]>;
};

function openRadio(parts: NetworkManagerParts): OpenRadio {
  const limits = { ...defaultLimits, ...parts.limits };
  const address = parts.busAddress ?? systemBusAddress;
  const bus = createBus({ address, rules: matchRules, clock: parts.clock, callMs: limits.callMs });
  return {
    bus,
    client: createClient(bus),
    supplicant: createSupplicant(bus),
    changes: createChanges(bus),
    dns: createDnsAnswers(parts.dnsmasqFolder ?? sharedDnsmasqFolder),
    kernel: parts.kernel ?? kernelPaths,
    interfaceName: parts.interface,
    limits,
    warn: warnWith(parts.logger),
    networks: [],
    frequencies: new Map(),
  };
}

/**
 * Undoes the changes of a hotspot on this machine outside NetworkManager, when the adapter itself does not run. Never throws.
 * Paths as for `createNetworkManager`.
 */
export async function undoHotspot(
  parts: Pick<NetworkManagerParts, 'dnsmasqFolder' | 'kernel' | 'logger'>,
): Promise<void> {
  const kernel = parts.kernel ?? kernelPaths;
  await undoOnMachine({
    dns: createDnsAnswers(parts.dnsmasqFolder ?? sharedDnsmasqFolder),
    forwarding: createForwarding(kernel.proc),
    warn: warnWith(parts.logger),
  });
}

const warnWith =
  (logger: AgentLogger) =>
  (error: unknown): void => {
    // A machine without message bus or NetworkManager is expected: `observe` reports it.
    if (error instanceof BusError && error.isNobodyThere) return;
    logger.failed('network-manager', error);
  };

async function observe(radio: OpenRadio): Promise<RadioFacts> {
  radio.changes.seen();
  // An unreadable file must not stop the watchdog's observation.
  const hasLeftovers = (await radio.dns.interfaceName().catch(() => null)) !== null;
  const host = { hasLeftovers, hasRoute: await hasDefaultRoute(radio.kernel.proc) };
  try {
    return await observeNow(radio, host);
  } catch (error) {
    if (error instanceof BusError) return absentFacts(host);
    throw error;
  }
}

async function observeNow(radio: OpenRadio, host: HostFacts): Promise<RadioFacts> {
  const { client, supplicant, kernel, interfaceName } = radio;
  const tree = await client.readTree();
  const profiles = await client.readProfiles(tree);
  const blocked = await readBlocked(kernel.sys);
  const observed = { tree, profiles, blocked, clients: 0, foreign: new Map(), ...host };
  const wired = devicesOf(tree, deviceType.ethernet);
  const unmanaged = wired.filter(({ device }) => device['State'] === deviceState.unmanaged);
  for (const { device } of [...unmanaged, ...compoundTypes.flatMap((type) => devicesOf(tree, type))]) {
    const name = text(device['Interface']);
    const address = await readForeignAddress(kernel.proc, name);
    if (address) observed.foreign.set(name, address);
  }
  const facts = factsOf(observed, interfaceName);
  if (!facts.radio?.hotspot) return facts;
  const name = facts.radio.interface;
  const clients = (await supplicant.countStations(name)) ?? (await countNeighbours(kernel.proc, name));
  return { ...facts, radio: { ...facts.radio, hotspot: { ...facts.radio.hotspot, clients } } };
}

/** The hotspot is the last resort: a software block of the radio is removed for it. */
async function unblock(radio: OpenRadio, signal: AbortSignal): Promise<RadioFacts> {
  const facts = await observe(radio);
  if (facts.radio?.blocked !== 'soft') return facts;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(radio.limits.unblockMs)]);
  try {
    await radio.client.setWirelessEnabled(true);
  } catch (error) {
    if (error instanceof BusError) return facts;
    throw error;
  }
  for (;;) {
    const now = await observe(radio);
    // The radio needs a moment after it is unblocked.
    if ((now.radio?.blocked === 'no' && now.radio.state !== 'unavailable') || limit.aborted) return now;
    await radio.changes.next(limit);
  }
}

/** Records what the last scan found. */
async function noteNetworks(radio: OpenRadio): Promise<void> {
  const { networks, points } = await readNetworks(radio.client, radio.interfaceName);
  radio.networks = networks;
  radio.frequencies.clear();
  for (const { ssid, frequency } of points) {
    const others = radio.frequencies.get(ssid) ?? [];
    if (frequency > 0) radio.frequencies.set(ssid, [...new Set([...others, frequency])]);
  }
}

/** Properties that change with every scan or byte and that the watchdog does not use. */
const idleProperties: readonly string[] = [
  'AccessPoints',
  'LastScan',
  'Bitrate',
  'Strength',
  'LastSeen',
  'RxBytes',
  'TxBytes',
];

function isOfInterest({ interface: name, member, body }: BusSignal): boolean {
  // Access points appear and disappear all the time.
  if (name === interfaces.wireless) return false;
  if (member !== 'PropertiesChanged') return true;
  const changed = Object.keys(record(body[1]));
  return name === interfaces.properties && changed.some((property) => !idleProperties.includes(property));
}

/** Counts changes, so that a change between an observation and the next wait is not lost. */
function createChanges(bus: Bus): Disposable & { seen(): void; next: Radio['changed'] } {
  let isNew = false;
  let waiting = new AbortController();
  const listening = bus.listen((signal) => {
    if (!isOfInterest(signal)) return;
    isNew = true;
    waiting.abort();
    waiting = new AbortController();
  });
  return {
    seen: () => {
      isNew = false;
    },
    next: async (signal) => {
      if (!isNew) await aborted(AbortSignal.any([signal, waiting.signal]));
      isNew = false;
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
