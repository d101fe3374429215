import { type Clock, wallTimeOf } from '@station/kit/clock';
import type { AgentConditions } from '@station/kit/conditions';
import type { WifiStatus } from '@station/protocol/agent-api';
import { describeSsid } from '../core/wifi-network.ts';
import { attemptDueMs } from './wifi-decide.ts';
import { type Facts, linkOf, type Memory, probedLink } from './wifi-facts.ts';
import type { StartHotspotAnswer } from './wifi-ports.ts';

/** Body of GET /wifi/status (contracts, section 4). Before the first observation everything is unknown. */
export function wifiStatusOf(memory: Memory, facts: Facts | null, clock: Clock): WifiStatus {
  const radio = facts?.network.radio ?? null;
  const hotspot = radio?.hotspot ?? null;
  const client = radio?.client ?? null;
  const link = facts && linkOf(facts.network);
  const dueMs = nextRetryMs(memory, facts);
  return {
    mode: modeOf(memory, facts),
    ssid: client && describeSsid(client.ssid),
    ip: link?.ip ?? null,
    signal: client?.signal ?? null,
    connectivity: link ? (probedLink(memory, link)?.connectivity ?? null) : facts && 'none',
    hotspot: {
      active: hotspot !== null,
      ssid: hotspot && describeSsid(hotspot.ssid),
      ip: hotspot?.ip ?? null,
      clients: hotspot?.clients ?? 0,
    },
    watchdog: {
      state: memory.isEnabled ? memory.state : 'DISABLED',
      since: wallTimeOf(clock, memory.sinceMs),
      attempts: memory.attempts,
      nextRetryAt: dueMs === null ? null : wallTimeOf(clock, dueMs),
      lastFailure: memory.lastFailure,
    },
  };
}

function modeOf({ isEnabled }: Memory, facts: Facts | null): WifiStatus['mode'] {
  if (!isEnabled) return 'disabled';
  if (facts?.network.radio?.hotspot) return 'hotspot';
  const link = facts && linkOf(facts.network);
  if (!link) return 'offline';
  return link.kind === 'ethernet' ? 'ethernet' : 'client';
}

/** When a known network is tried next; null: nothing is planned. */
function nextRetryMs(memory: Memory, facts: Facts | null): number | null {
  if (!facts || facts.network.known.length === 0) return null;
  if (memory.state === 'RETRYING') return Math.max(attemptDueMs(memory), facts.nowMs);
  if (memory.state !== 'HOTSPOT_ACTIVE') return null;
  const dues = Object.values(memory.returns).map(({ dueMs }) => dueMs);
  return dues.length === 0 ? null : Math.max(Math.min(...dues), facts.nowMs);
}

export type HotspotFailure = Extract<StartHotspotAnswer, { kind: 'failed' }>['reason'];

/** What blocks Wi-Fi or the hotspot, from the facts. */
export function setConditions(
  conditions: AgentConditions,
  memory: Memory,
  facts: Facts,
  more: { country: string | null; isPortTaken: boolean; hotspotFailure: HotspotFailure | null },
): void {
  const { manager, radio } = facts.network;
  const { isEnabled } = memory;
  const isRunning = manager === 'running';
  const blocked = isRunning && radio ? radio.blocked : 'no';
  const isMissed = isEnabled || isCutOff(memory, facts);
  conditions.set('network_manager_absent', isMissed && !isRunning);
  conditions.set('wifi_no_radio', isMissed && isRunning && radio === null);
  conditions.set('wifi_unmanaged', isRunning && radio?.isManaged === false);
  conditions.set('wifi_blocked_hard', blocked === 'hard');
  conditions.set('wifi_blocked_soft', blocked === 'soft');
  conditions.set('wifi_country_unset', blocked === 'soft' && more.country === null);
  conditions.set('wifi_not_kept', facts.network.unkept.length > 0);
  conditions.set('portal_port_taken', more.isPortTaken);
  const failure = radio?.hotspot || memory.state === 'CONNECTED' ? null : more.hotspotFailure;
  conditions.set('hotspot_dns_port_taken', failure === 'dns_port_taken');
  conditions.set('hotspot_failed', failure === 'failed' || failure === 'unsupported');
  const link = linkOf(facts.network);
  const connectivity = link && memory.state === 'CONNECTED' ? probedLink(memory, link)?.connectivity : undefined;
  conditions.set('internet_unreachable', isEnabled && connectivity !== undefined && connectivity !== 'full');
}

/** Without Wi-Fi the watchdog does nothing, but it reports a station without any network once a cable had time to get an address. */
function isCutOff({ sinceMs, retryLimits }: Memory, { nowMs, network }: Facts): boolean {
  return !network.hasRoute && network.ethernet === null && nowMs - sinceMs >= retryLimits.checkMs;
}
