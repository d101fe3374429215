import type { AgentConditions } from '@station/kit/conditions';
import { linkOf, probedLink, type Facts, type Memory } from './wifi-facts.ts';
import type { StartHotspotAnswer } from './wifi-ports.ts';

export type HotspotFailure = Extract<StartHotspotAnswer, { kind: 'failed' }>['reason'];

/** What stands in the way of Wi-Fi or of the hotspot, from the facts. */
export function tellConditions(
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

/** Where no Wi-Fi was seen nothing is done, but a station without any network is told of, once a cable had its time to get an address. */
function isCutOff({ sinceMs, patience }: Memory, { nowMs, network }: Facts): boolean {
  return !network.hasRoute && network.ethernet === null && nowMs - sinceMs >= patience.checkMs;
}
