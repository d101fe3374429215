import type { Conditions } from '../conditions.ts';
import { linkOf, probedLink, type Facts, type Memory } from './facts.ts';
import type { StartHotspotAnswer } from './ports.ts';

export type HotspotFailure = Extract<StartHotspotAnswer, { kind: 'failed' }>['reason'];

/** What stands in the way of Wi-Fi or of the hotspot, from the facts. */
export function tellConditions(
  conditions: Conditions,
  memory: Memory,
  facts: Facts,
  more: { country: string | null; isPortTaken: boolean; hotspotFailure: HotspotFailure | null },
): void {
  const { manager, radio } = facts.network;
  const { isEnabled } = memory;
  const isRunning = manager === 'running';
  const blocked = isRunning && radio ? radio.blocked : 'no';
  conditions.set('network_manager_absent', isEnabled && !isRunning);
  conditions.set('wifi_no_radio', isEnabled && isRunning && radio === null);
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
