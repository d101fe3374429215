import type { JoinFailure } from '@station/protocol/agent-network';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import type { SsidHex, JoinRequest, Network } from '../core/wifi-network.ts';
import type { Connectivity, RadioFacts } from './wifi-ports.ts';
import type { LastJoin } from '../core/hotspot-ports.ts';

/** Contracts, section 4. JOINING: the hotspot is off while a network is tried, from the portal or because a known one is back. */
export type WatchdogState = 'INIT' | 'CHECK' | 'CONNECTED' | 'RETRYING' | 'JOINING' | 'HOTSPOT_ACTIVE';

/** All that the watchdog observes before it decides. Times are monotonic milliseconds. */
export type Facts = {
  nowMs: number;
  network: RadioFacts;
  /** Of the last scan, strongest first. */
  networks: readonly Network[];
  scan: { isRunning: boolean; endedMs: number | null };
  portal: { isOpen: boolean; isListening: boolean };
  /** When the portal's page was last viewed. */
  seenMs: number | null;
};

/** What `wifi.json` records about the proxy; `unknown`: the file is missing or cannot be trusted. */
export type Intent = 'clear' | 'proxy_stopped' | 'unknown';

/** Whether the station was ever in a network. `unwritten`: it was, and a later process would not know it yet. */
export type EverJoined = 'unknown' | 'never' | 'unwritten' | 'written';

type RetryLimits = { checkMs: number; attempts: number };

/** A network that is tried: a person asked for it on the setup page (`portal`) or in the web app (`app`), or a known one is back. */
type Attempt =
  | { kind: 'portal' | 'app'; request: JoinRequest; acceptedMs: number; candidate: { id: string; ip: string } | null }
  | { kind: 'known'; acceptedMs: number };

/** How the last join of the web app ended. */
type AppJoin = { ssid: SsidHex; failure: JoinFailure | null; endedMs: number; /** For people. */ endedAt: string };

/** A failed step and the time of its next try. */
type Retry = { failures: number; dueMs: number };

/** The state kept from one observation to the next. Replaced, never changed. */
export type Memory = {
  state: WatchdogState;
  sinceMs: number;
  /** With `WIFI_WATCHDOG=auto` false until a Wi-Fi device was seen. */
  isEnabled: boolean;
  /** The leftovers of an earlier process are cleaned up. */
  isReconciled: boolean;
  intent: Intent;
  /**
   * How long the network manager is left alone, and how often known networks are tried, before the hotspot. Less after a restart
   * of the agent alone: the networks had their time before it, and people may be waiting for the hotspot.
   */
  retryLimits: RetryLimits;
  proxy: 'running' | 'stopped' | 'unknown';
  /** Since when the radio can be used; null while it cannot. */
  usableSinceMs: number | null;
  wasConnected: boolean;
  everJoined: EverJoined;
  /** Attempts to join known networks in RETRYING, and when the last one began. */
  attempts: number;
  attemptedMs: number | null;
  lastFailure: JoinFailure | null;
  attempt: Attempt | null;
  /** How the last join of the portal ended, if it failed. */
  lastJoin: LastJoin | null;
  appJoin: AppJoin | null;
  /** Result of the probes of the current link; `failures` in a row without an answer. */
  link: { key: string; connectivity: Connectivity; failures: number; probedMs: number } | null;
  /** Known networks that failed: when each may be tried again from the hotspot. */
  returns: Readonly<Record<SsidHex, { delayMs: number; dueMs: number; missedScans: number }>>;
  retries: Readonly<Record<string, Retry>>;
};

export const usualRetryLimits: RetryLimits = { checkMs: 30_000, attempts: 3 };

/** The shorter limits after a restart of the agent alone, with and without a hotspot before. */
export const restartRetryLimits = (wasHotspot: boolean): RetryLimits => ({
  checkMs: 10_000,
  attempts: wasHotspot ? 0 : 1,
});

export const initialMemory = (nowMs: number, isEnabled: boolean): Memory => ({
  state: 'INIT',
  sinceMs: nowMs,
  isEnabled,
  isReconciled: false,
  intent: 'unknown',
  retryLimits: usualRetryLimits,
  proxy: 'unknown',
  usableSinceMs: null,
  wasConnected: false,
  everJoined: 'unknown',
  attempts: 0,
  attemptedMs: null,
  lastFailure: null,
  attempt: null,
  lastJoin: null,
  appJoin: null,
  link: null,
  returns: {},
  retries: {},
});

/** All in milliseconds. */
export const timing = {
  betweenAttempts: 30_000,
  /** When three attempts failed and there can be no hotspot. */
  betweenLaterAttempts: 60_000,
  attempt: 25_000,
  /** After this time no further known network is tried in the same attempt. */
  attempts: 50_000,
  scanEvery: 20_000,
  /** A person who viewed the page this recently may be typing. */
  use: 5 * 60_000,
  /** Nobody needs longer; a stranger in an open hotspot could keep the station in it for ever by viewing its page. */
  longestUse: 30 * 60_000,
  phoneBack: 60_000,
  /** Time for the last page to reach the phone before the hotspot ends. */
  lastPage: 2000,
  /** A whole join; one that takes longer is stuck. */
  longestJoin: 120_000,
  firstReturn: 60_000,
  longestReturn: 15 * 60_000,
  probeWhenSilent: 10_000,
  probeWhenLocal: 30_000,
  probeWhenOnline: 60_000,
  portalLook: 1000,
  longestWait: 60_000,
} as const;

/** After so many probes in a row without an answer a link counts as lost. */
export const mostSilentProbes = 3;
/** A known network that was absent from so many scans loses its failures. */
const forgottenAfterScans = 3;

export type Link = { kind: 'ethernet' | 'wifi'; key: string; ip: string; gateway: string | null };

/** The link to the house's network: the wired one first; null without an address. */
export function linkOf({ ethernet, radio }: RadioFacts): Link | null {
  if (ethernet) {
    const { ip, gateway } = ethernet;
    return { kind: 'ethernet', key: `ethernet ${ethernet.interface} ${ip} ${gateway}`, ip, gateway };
  }
  const client = radio?.client;
  if (!client || client.ip === null) return null;
  const { ssid, ip, gateway } = client;
  return { kind: 'wifi', key: `wifi ${ssid} ${ip} ${gateway}`, ip, gateway };
}

/** Whether the radio can be used. A software block can be removed. */
export function isUsable({ manager, radio }: RadioFacts): boolean {
  if (manager === 'absent' || !radio || !radio.isManaged || radio.blocked === 'hard') return false;
  return radio.state !== 'unavailable' || radio.blocked === 'soft';
}

/** The page was viewed recently. */
export const wasSeenLately = ({ nowMs, seenMs }: Facts): boolean => seenMs !== null && nowMs - seenMs < timing.use;

/** A phone is in the hotspot and the page was viewed recently. Half an hour at most: then another way into the network comes first. */
export const isHotspotUsed = (memory: Memory, facts: Facts): boolean =>
  (facts.network.radio?.hotspot?.clients ?? 0) > 0 &&
  wasSeenLately(facts) &&
  facts.nowMs - memory.sinceMs < timing.longestUse;

/** In the hotspot: the phone of a join that has just failed is about to come back. */
export const isPhoneAwaited = (memory: Memory, facts: Facts): boolean =>
  wasSeenLately(facts) && facts.nowMs - memory.sinceMs < timing.phoneBack;

export const isDue = (memory: Memory, nowMs: number, step: string): boolean =>
  nowMs >= (ownValue(memory.retries, step)?.dueMs ?? -Infinity);

/** Probe of `key`; null when the current link was not probed. */
export const probedLink = (memory: Memory, link: Link): Memory['link'] =>
  memory.link?.key === link.key ? memory.link : null;

/** The memory, updated from the new observation. */
export function noteFacts(memory: Memory, facts: Facts): Memory {
  const { network } = facts;
  const usable = isUsable(network);
  // The watchdog is not enabled before it has seen a radio; a cable counts also then.
  const isSomebodys = network.known.length > 0 || network.ethernet !== null;
  return {
    ...memory,
    isEnabled: memory.isEnabled || network.radio !== null,
    usableSinceMs: usable ? (memory.usableSinceMs ?? facts.nowMs) : null,
    everJoined: isSomebodys ? joined(memory.everJoined) : memory.everJoined,
  };
}

/** After the station is in a network, or has a saved one. What an earlier process has recorded is not known before it is read. */
export const joined = (before: EverJoined): EverJoined => (before === 'never' ? 'unwritten' : before);

/** The memory after a scan: known networks that stay out of range lose their failures. */
export function noteScan(memory: Memory, networks: readonly Network[]): Memory {
  const seen = new Set(networks.map(({ ssid }) => ssid));
  const kept = Object.entries(memory.returns)
    .map(([ssid, each]) => [ssid, { ...each, missedScans: seen.has(ssid) ? 0 : each.missedScans + 1 }] as const)
    .filter(([, { missedScans }]) => missedScans < forgottenAfterScans);
  return { ...memory, returns: Object.fromEntries(kept) };
}

/** The memory after known networks failed: each of those in range waits longer than before. */
export function noteFailedReturn(memory: Memory, networks: readonly Network[], nowMs: number): Memory {
  const returns = { ...memory.returns };
  for (const { ssid } of networks.filter(({ isKnown }) => isKnown)) {
    const before = ownValue(memory.returns, ssid)?.delayMs ?? timing.firstReturn / 2;
    const delayMs = Math.min(2 * before, timing.longestReturn);
    setOwnValue(returns, ssid, { delayMs, dueMs: nowMs + delayMs, missedScans: 0 });
  }
  return { ...memory, returns };
}

/** First and longest pause after a failed step, in milliseconds. */
const pauses: Record<string, readonly [number, number]> = {
  reconcile: [1000, 30_000],
  write_intent: [30_000, 300_000],
  clear_intent: [30_000, 300_000],
  write_joined: [30_000, 300_000],
  start_hotspot: [5000, 60_000],
  stop_hotspot: [2000, 30_000],
  stop_proxy: [10_000, 60_000],
  start_proxy: [5000, 300_000],
  open_portal: [2000, 30_000],
  close_portal: [2000, 30_000],
  keep_candidate: [10_000, 300_000],
};
const usual = [5000, 60_000] as const;

const pauseMs = (step: string, failures: number): number => {
  const [first, longest] = ownValue(pauses, step) ?? usual;
  return Math.min(first * 2 ** (failures - 1), longest);
};

/** The memory after a failed step: it waits, longer each time, and blocks no other step. */
export function noteFailure(memory: Memory, step: string, nowMs: number): Memory {
  const failures = (ownValue(memory.retries, step)?.failures ?? 0) + 1;
  return { ...memory, retries: { ...memory.retries, [step]: { failures, dueMs: nowMs + pauseMs(step, failures) } } };
}

export function noteSuccess(memory: Memory, step: string): Memory {
  if (!(step in memory.retries)) return memory;
  return { ...memory, retries: Object.fromEntries(Object.entries(memory.retries).filter(([kind]) => kind !== step)) };
}
