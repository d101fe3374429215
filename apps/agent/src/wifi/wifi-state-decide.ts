import {
  isDue,
  isHotspotUsed,
  isPhoneAwaited,
  isUsable,
  linkOf,
  mostSilentProbes,
  probedLink,
  timing,
  wasSeenLately,
  type Facts,
  type Memory,
  type WatchdogState,
} from './wifi-facts.ts';

export type NextState = {
  state: WatchdogState;
  /** For the log. */
  reason: string;
};

const to = (state: WatchdogState, reason: string): NextState => ({ state, reason });

/** The state that follows from the facts and the memory. Pure; every transition is here. */
export function nextState(memory: Memory, facts: Facts): NextState {
  if (!memory.isReconciled) return to('INIT', 'start');
  if (memory.attempt) return to('JOINING', memory.attempt.kind === 'known' ? 'known_network_back' : 'asked_for');
  if (!memory.isEnabled) return to('CHECK', facts.network.manager === 'absent' ? 'no_network_manager' : 'no_radio');
  const link = linkOf(facts.network);
  if (link?.kind === 'ethernet') return withCable(memory, facts);
  if (!link) return withoutLink(memory, facts);
  const probed = probedLink(memory, link);
  if (!probed) return to(memory.state === 'RETRYING' ? 'RETRYING' : 'CHECK', 'new_link');
  if (probed.connectivity !== 'none') return to('CONNECTED', 'online');
  if (memory.state === 'CONNECTED' && probed.failures < mostSilentProbes) return to('CONNECTED', 'silent');
  return withDeadLink(memory, facts);
}

/** No hotspot starts while a cable works. One in use stays, and comes back after a failed join, as its page promised. */
function withCable(memory: Memory, facts: Facts): NextState {
  const { state, lastJoin } = memory;
  const isHotspot = state === 'HOTSPOT_ACTIVE';
  if (isHotspot && isHotspotUsed(memory, facts)) return to('HOTSPOT_ACTIVE', 'in_use');
  const isAwaited = lastJoin !== null && (isHotspot ? isPhoneAwaited(memory, facts) : wasSeenLately(facts));
  const stays = (isHotspot || state === 'JOINING') && isAwaited && isUsable(facts.network);
  return stays ? to('HOTSPOT_ACTIVE', 'phone_awaited') : to('CONNECTED', 'ethernet');
}

/** There is an address but nothing answers. The network manager sees no fault, so waiting for it does not help. */
function withDeadLink(memory: Memory, facts: Facts): NextState {
  if (memory.state === 'HOTSPOT_ACTIVE' || memory.state === 'JOINING') return hotspotOrRetry(memory, facts);
  if (memory.state === 'RETRYING' && areRetriesUsedUp(memory, facts)) return hotspotOrRetry(memory, facts);
  return to('RETRYING', 'gateway_silent');
}

/** Without a network to try (the one in use is not saved) the wait lasts as long as the attempts would. */
function areRetriesUsedUp({ attempts, retryLimits, sinceMs }: Memory, { nowMs, network }: Facts): boolean {
  if (network.known.length > 0) return attempts >= retryLimits.attempts;
  return nowMs - sinceMs >= retryLimits.attempts * timing.betweenAttempts;
}

function withoutLink(memory: Memory, facts: Facts): NextState {
  const { state } = memory;
  const { nowMs, network } = facts;
  if (!isUsable(network)) {
    const isNew = state !== 'RETRYING' && (state !== 'CHECK' || nowMs - memory.sinceMs < memory.retryLimits.checkMs);
    return to(isNew ? 'CHECK' : 'RETRYING', 'radio_not_usable');
  }
  const usableSinceMs = memory.usableSinceMs ?? nowMs;
  if (state === 'HOTSPOT_ACTIVE' || state === 'JOINING') return hotspotOrRetry(memory, facts);
  if (state === 'RETRYING') {
    if (usableSinceMs > memory.sinceMs) return to('CHECK', 'radio_back');
    if (network.known.length > 0 && memory.attempts < memory.retryLimits.attempts) return to('RETRYING', 'no_network');
    return hotspotOrRetry(memory, facts);
  }
  if (state !== 'CHECK') return to('CHECK', state === 'INIT' ? 'start' : 'link_lost');
  const checkEndsMs = Math.max(memory.sinceMs, usableSinceMs) + memory.retryLimits.checkMs;
  if (network.known.length === 0 && !memory.wasConnected) {
    const hasLooked = facts.scan.endedMs !== null && facts.scan.endedMs >= usableSinceMs;
    if (!hasLooked && nowMs < checkEndsMs) return to('CHECK', 'looking_around');
    return hotspotOrRetry(memory, facts);
  }
  if (nowMs < checkEndsMs) return to('CHECK', 'waiting_for_network_manager');
  return network.known.length === 0 ? hotspotOrRetry(memory, facts) : to('RETRYING', 'no_network');
}

/** A join of the web app left a network that worked, so that one is tried before the hotspot. */
const hasLeftForApp = ({ state, appJoin, sinceMs }: Memory): boolean =>
  state === 'JOINING' && appJoin !== null && appJoin.endedMs >= sinceMs;

/** The hotspot, unless it has just failed: until its next try known networks are tried. */
function hotspotOrRetry(memory: Memory, { nowMs, network }: Facts): NextState {
  const { radio } = network;
  if (hasLeftForApp(memory)) return to('RETRYING', 'join_failed');
  if (!isUsable(network) || !radio?.canBeAccessPoint) return to('RETRYING', 'no_hotspot_possible');
  if (!radio.hotspot && !isDue(memory, nowMs, 'start_hotspot')) return to('RETRYING', 'hotspot_failed');
  return to('HOTSPOT_ACTIVE', network.known.length === 0 ? 'no_known_network' : 'no_network');
}
