import { ownValue } from '@station/protocol/own-value';
import {
  isDue,
  isHotspotUsed,
  isPhoneAwaited,
  isUsable,
  joined,
  linkOf,
  probedLink,
  timing,
  usualRetryLimits,
  type Facts,
  type Link,
  type Memory,
  type WatchdogState,
} from './wifi-facts.ts';
import type { JoinRequest } from '../core/wifi-network.ts';
import { nextState, type NextState } from './wifi-state-decide.ts';

/** The next step. Each one is small and decided again from new facts, so a crash may interrupt it anywhere. */
export type Step =
  /** Ends the hotspot of an earlier process and reads what it had to undo. */
  | { kind: 'reconcile' }
  | { kind: 'write_intent' }
  | { kind: 'clear_intent' }
  /** Records that the station was in a network: then an open hotspot asks for the code of the station. */
  | { kind: 'write_joined' }
  | { kind: 'start_hotspot' }
  | { kind: 'stop_hotspot' }
  | { kind: 'stop_proxy' }
  | { kind: 'start_proxy' }
  | { kind: 'open_portal' }
  | { kind: 'close_portal' }
  /** Runs in parallel to the next steps. */
  | { kind: 'start_scan' }
  | { kind: 'probe'; link: Link }
  | { kind: 'try_known' }
  /** A known network is in range and the hotspot is unused: stops the hotspot to join it. */
  | { kind: 'begin_return' }
  | { kind: 'join'; request: JoinRequest }
  /** Joined: probes the network, then keeps or drops it. */
  | { kind: 'settle_join'; request: JoinRequest; candidate: { id: string; ip: string } }
  | { kind: 'abandon_join' }
  | { kind: 'keep_candidate'; candidateId: string }
  | { kind: 'wait'; untilMs: number };

export type Decision = NextState & { step: Step };

/** The state that follows from the facts, and its next step. Pure. */
export function decide(memory: Memory, facts: Facts): Decision {
  const next = nextState(memory, facts);
  // The timers of a state start when it is entered.
  const entered = next.state === memory.state ? memory : enter(memory, next.state, facts.nowMs);
  const step = writeJoined(entered, facts) ?? stepIn[next.state](entered, facts) ?? wait(entered, facts);
  return { ...next, step };
}

/** The memory after a state is entered. */
export function enter(memory: Memory, state: WatchdogState, nowMs: number): Memory {
  const entered = { ...memory, state, sinceMs: nowMs };
  if (state === 'CONNECTED') {
    const { start_hotspot: _, ...retries } = memory.retries;
    return {
      ...entered,
      retryLimits: usualRetryLimits,
      wasConnected: true,
      everJoined: joined(memory.everJoined),
      lastJoin: null,
      attempts: 0,
      attemptedMs: null,
      returns: {},
      retries,
    };
  }
  // After a loss the attempts count from zero again.
  if (state === 'HOTSPOT_ACTIVE' || memory.state === 'CONNECTED') return { ...entered, attempts: 0, attemptedMs: null };
  return entered;
}

type InState = (memory: Memory, facts: Facts) => Step | null;

const stepIn: Record<WatchdogState, InState> = {
  INIT: (memory, { nowMs }) => (isDue(memory, nowMs, 'reconcile') ? { kind: 'reconcile' } : null),
  CHECK: (memory, facts) => undo(memory, facts) ?? (memory.isEnabled ? look(memory, facts) : null),
  CONNECTED: (memory, facts) => undo(memory, facts) ?? probe(memory, facts) ?? keep(memory, facts),
  RETRYING: (memory, facts) => undo(memory, facts) ?? probe(memory, facts) ?? tryKnown(memory, facts),
  JOINING: joiningStep,
  HOTSPOT_ACTIVE: hotspotStep,
};

const due = (memory: Memory, { nowMs }: Facts, step: Step): Step | null =>
  isDue(memory, nowMs, step.kind) ? step : null;

const writeJoined = (memory: Memory, facts: Facts): Step | null =>
  memory.everJoined === 'unwritten' ? due(memory, facts, { kind: 'write_joined' }) : null;

/** Outside the hotspot: it is cleaned up, and the proxy runs. */
function undo(memory: Memory, facts: Facts): Step | null {
  const leaving = leaveHotspot(memory, facts);
  if (leaving) return leaving;
  if (memory.proxy !== 'running') return due(memory, facts, { kind: 'start_proxy' });
  return memory.intent === 'clear' ? null : due(memory, facts, { kind: 'clear_intent' });
}

function leaveHotspot(memory: Memory, facts: Facts): Step | null {
  if (facts.portal.isOpen) return due(memory, facts, { kind: 'close_portal' });
  const { radio, hasLeftovers } = facts.network;
  // A hotspot that ended unexpectedly (another network was activated, the manager restarted) still blocks Docker's ports.
  return radio?.hotspot || hasLeftovers ? due(memory, facts, { kind: 'stop_hotspot' }) : null;
}

/** Probes the link, or scans. With a known network the manager scans automatically. */
function look(memory: Memory, facts: Facts): Step | null {
  const isAlone = isUsable(facts.network) && facts.network.known.length === 0 && !linkOf(facts.network);
  return probe(memory, facts) ?? (isAlone ? scanWhenOlder(memory, facts) : null);
}

function probe(memory: Memory, facts: Facts): Step | null {
  const link = linkOf(facts.network);
  if (!link || facts.nowMs < probeDueMs(memory, link)) return null;
  return due(memory, facts, { kind: 'probe', link });
}

function probeDueMs(memory: Memory, link: Link): number {
  const probed = probedLink(memory, link);
  if (!probed) return -Infinity;
  if (probed.connectivity === 'none') return probed.probedMs + timing.probeWhenSilent;
  return probed.probedMs + (probed.connectivity === 'full' ? timing.probeWhenOnline : timing.probeWhenLocal);
}

/** A joined network whose profile is not on disk yet. It works, so a power cut must not lose it. */
function keep(memory: Memory, facts: Facts): Step | null {
  const candidateId = facts.network.radio?.client?.candidateId ?? null;
  return candidateId === null ? null : due(memory, facts, { kind: 'keep_candidate', candidateId });
}

function tryKnown(memory: Memory, facts: Facts): Step | null {
  if (!canTryKnown(facts) || facts.nowMs < attemptDueMs(memory)) return null;
  return due(memory, facts, { kind: 'try_known' });
}

const canTryKnown = ({ network }: Facts): boolean => isUsable(network) && network.known.length > 0;

/** Monotonic time of the next attempt in RETRYING. */
export function attemptDueMs({ attempts, attemptedMs, retryLimits }: Memory): number {
  if (attemptedMs === null) return -Infinity;
  return attemptedMs + (attempts < retryLimits.attempts ? timing.betweenAttempts : timing.betweenLaterAttempts);
}

function hotspotStep(memory: Memory, facts: Facts): Step | null {
  const isUp = (facts.network.radio?.hotspot ?? null) !== null;
  // The portal's port must not be open in another network.
  if (!isUp && facts.portal.isOpen) return due(memory, facts, { kind: 'close_portal' });
  if (memory.intent !== 'proxy_stopped') {
    const write = due(memory, facts, { kind: 'write_intent' });
    if (write) return write;
  }
  if (!isUp) return due(memory, facts, { kind: 'start_hotspot' });
  const { portal } = facts;
  // The portal and the proxy use the same port.
  if (memory.proxy !== 'stopped' && !portal.isListening) {
    const stop = due(memory, facts, { kind: 'stop_proxy' });
    if (stop) return stop;
  }
  if (!portal.isOpen) {
    const open = due(memory, facts, { kind: 'open_portal' });
    if (open) return open;
  }
  if (isReturnDue(memory, facts)) return { kind: 'begin_return' };
  return scanWhenOlder(memory, facts, timing.scanEvery);
}

function isReturnDue(memory: Memory, facts: Facts): boolean {
  const { scan } = facts;
  if (isHotspotUsed(memory, facts) || scan.endedMs === null || scan.endedMs < memory.sinceMs) return false;
  if (isPhoneAwaited(memory, facts)) return false;
  return facts.networks.some(
    ({ ssid, isKnown }) => isKnown && facts.nowMs >= (ownValue(memory.returns, ssid)?.dueMs ?? -Infinity),
  );
}

/** A scan if the last one is older than `ageMs`, or older than the radio's last start. */
function scanWhenOlder(memory: Memory, facts: Facts, ageMs = Infinity): Step | null {
  const { isRunning, endedMs } = facts.scan;
  if (isRunning) return null;
  const isFresh = endedMs !== null && endedMs >= (memory.usableSinceMs ?? 0) && facts.nowMs < endedMs + ageMs;
  return isFresh ? null : due(memory, facts, { kind: 'start_scan' });
}

function joiningStep(memory: Memory, facts: Facts): Step | null {
  const { attempt } = memory;
  if (!attempt) return null;
  if (facts.nowMs - attempt.acceptedMs > timing.longestJoin) return { kind: 'abandon_join' };
  if (attempt.kind !== 'known' && attempt.candidate) {
    return { kind: 'settle_join', request: attempt.request, candidate: attempt.candidate };
  }
  if (attempt.kind !== 'known' && facts.nowMs < attempt.acceptedMs + timing.lastPage) return null;
  const isAway = !facts.portal.isOpen && !facts.network.radio?.hotspot;
  if (!isAway) return leaveHotspot(memory, facts);
  return attempt.kind === 'known' ? { kind: 'try_known' } : { kind: 'join', request: attempt.request };
}

/** Waits until the next timer is due; a change of the network ends the wait earlier. */
function wait(memory: Memory, facts: Facts): Step {
  const { nowMs } = facts;
  const times = [nowMs + timing.longestWait, ...Object.values(memory.retries).map(({ dueMs }) => dueMs)];
  times.push(...stateTimes(memory, facts));
  const future = times.filter((time) => time > nowMs);
  return { kind: 'wait', untilMs: Math.min(...future) };
}

function stateTimes(memory: Memory, facts: Facts): number[] {
  const link = linkOf(facts.network);
  const probes = link && memory.state !== 'HOTSPOT_ACTIVE' ? [probeDueMs(memory, link)] : [];
  switch (memory.state) {
    case 'INIT':
    case 'CONNECTED':
      return probes;
    case 'CHECK':
      return [...probes, Math.max(memory.sinceMs, memory.usableSinceMs ?? 0) + memory.retryLimits.checkMs];
    case 'RETRYING':
      return [...probes, attemptDueMs(memory)];
    case 'JOINING':
      return memory.attempt
        ? [memory.attempt.acceptedMs + timing.lastPage, memory.attempt.acceptedMs + timing.longestJoin + 1]
        : [];
    case 'HOTSPOT_ACTIVE':
      return hotspotTimes(memory, facts);
  }
}

function hotspotTimes(memory: Memory, { nowMs, scan, portal, seenMs }: Facts): number[] {
  const times = Object.values(memory.returns).map(({ dueMs }) => dueMs);
  if (scan.endedMs !== null) times.push(scan.endedMs + timing.scanEvery);
  if (!portal.isListening) times.push(nowMs + timing.portalLook);
  if (seenMs !== null)
    times.push(seenMs + timing.use, memory.sinceMs + timing.phoneBack, memory.sinceMs + timing.longestUse);
  return times;
}
