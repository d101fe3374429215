import { isoTime, type Clock } from '@station/kit/clock';
import type { WifiStatus } from '@station/protocol/agent-api';
import { attemptDueMs } from './wifi-decide.ts';
import { linkOf, probedLink, type Facts, type Memory } from './wifi-facts.ts';
import { describeSsid } from '../core/ssid.ts';

/** Body of GET /wifi/status (contracts, section 4). Before the first look everything is unknown. */
export function wifiStatusOf(memory: Memory, facts: Facts | null, clock: Clock): WifiStatus {
  const wallOf = (monotonicMs: number): string => isoTime(clock.now() + (monotonicMs - clock.monotonic()));
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
      since: wallOf(memory.sinceMs),
      attempts: memory.attempts,
      nextRetryAt: dueMs === null ? null : wallOf(dueMs),
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
