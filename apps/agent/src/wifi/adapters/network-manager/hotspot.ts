import { randomUUID } from 'node:crypto';
import type { HotspotSettings, RadioFacts, StartHotspotAnswer } from '../../wifi-ports.ts';
import { watchActivation } from './activation.ts';
import type { Bus } from '@station/kit/message-bus';
import { describeEvidence } from './classify.ts';
import type { Client } from './client.ts';
import { activeProfileOf } from './facts.ts';
import { type DnsAnswers, type Forwarding, isDnsPortTaken } from './host.ts';
import { deviceState, noObject, number, text, wifiDeviceOf } from './objects.ts';
import { hotspotSettings, isUnsettled, whileWeLive } from './profiles.ts';
import type { Supplicant } from './supplicant.ts';

export type HotspotParts = {
  bus: Bus;
  client: Client;
  supplicant: Supplicant;
  interfaceName: string | null;
  country: string | null;
  proc: string;
  dns: DnsAnswers;
  forwarding: Forwarding;
  startMs: number;
  stopMs: number;
  /** Non-fatal problems, for the log. */
  warn: (error: unknown) => void;
};

type Failed = Extract<StartHotspotAnswer, { kind: 'failed' }>;
const failed = (reason: Failed['reason'], detail: string): Failed => ({ kind: 'failed', reason, detail });

/** `Radio.startHotspot`. After a failure it removes everything that it created. */
export async function startHotspot(
  parts: HotspotParts,
  facts: RadioFacts,
  settings: HotspotSettings,
  signal: AbortSignal,
): Promise<StartHotspotAnswer> {
  const obstacle = await obstacleOf(parts, facts);
  if (obstacle) return obstacle;
  try {
    const answer = await raise(parts, settings, signal);
    if (answer.kind === 'started') return answer;
    await stopHotspot(parts);
    // Check the port only now: another program may have taken it during the start.
    return (await isDnsPortTaken(parts.proc)) ? { ...answer, reason: 'dns_port_taken' } : answer;
  } catch (error) {
    await stopHotspot(parts);
    return failed('failed', error instanceof Error ? error.message : 'unexpected');
  }
}

async function obstacleOf({ proc }: HotspotParts, { radio }: RadioFacts): Promise<Failed | null> {
  if (!radio) return failed('failed', 'no Wi-Fi device');
  if (radio.blocked !== 'no') return failed('blocked', radio.blocked);
  if (!radio.isManaged) return failed('unsupported', 'NetworkManager does not manage the device');
  if (!radio.canBeAccessPoint) return failed('unsupported', 'the device cannot be an access point');
  // Our own hotspot's resolver uses a single address and does not conflict.
  if (await isDnsPortTaken(proc)) return failed('dns_port_taken', 'port 53 is taken on every address');
  return null;
}

async function raise(parts: HotspotParts, settings: HotspotSettings, signal: AbortSignal): Promise<StartHotspotAnswer> {
  const { bus, client } = parts;
  const tree = await client.readTree();
  const wifi = wifiDeviceOf(tree, parts.interfaceName);
  if (!wifi) return failed('failed', 'no Wi-Fi device');
  const interfaceName = text(wifi.device['Interface']);
  // Write it before the activation: dnsmasq reads it once, at its start.
  await parts.dns.write(settings.address, interfaceName);
  await removeLeftovers(parts);
  await parts.supplicant.stopScan(interfaceName);
  // As an access point we get no country rules from another one, so set them.
  if (parts.country !== null) await parts.supplicant.setCountry(interfaceName, parts.country);
  const context = { security: 'open' as const, wasSeen: true };
  using watch = watchActivation(bus, { devicePath: wifi.path, supplicantPath: null, context, handshakeMs: 0 });
  const connection = hotspotSettings({ ...settings, uuid: randomUUID(), interfaceName });
  await client.addAndActivate(connection, wifi.path, noObject, whileWeLive());
  const verdict = await watch.ended(AbortSignal.any([signal, AbortSignal.timeout(parts.startMs)]));
  const detail = describeEvidence(watch.evidence());
  if (verdict?.kind !== 'activated') return failed('failed', verdict ? detail : `time is over: ${detail}`);
  // A scan that began before the access point would keep it off its channel, so that phones could not join.
  await parts.supplicant.stopScan(interfaceName);
  // After the activation: shared mode turns forwarding on for the whole machine.
  await parts.forwarding.close(interfaceName).catch(parts.warn);
  return { kind: 'started' };
}

/** `Radio.stopHotspot`. Never throws; undoes the changes on this machine even when NetworkManager is down. */
export async function stopHotspot(parts: HotspotParts): Promise<void> {
  await removeLeftovers(parts).catch(parts.warn);
  await undoOnMachine(parts);
}

/** Undoes the changes of a hotspot on this machine outside NetworkManager. Never throws. */
export async function undoOnMachine({
  dns,
  forwarding,
  warn,
}: Pick<HotspotParts, 'dns' | 'forwarding' | 'warn'>): Promise<void> {
  try {
    const interfaceName = await dns.interfaceName();
    if (interfaceName === null) return;
    await forwarding.restore(interfaceName);
    await dns.remove();
  } catch (error) {
    warn(error);
  }
}

/**
 * Ends our access points and removes their profiles, and unconfirmed candidates that are not in use; waits until the
 * device is free.
 */
async function removeLeftovers({ bus, client, interfaceName, stopMs }: HotspotParts): Promise<void> {
  const tree = await client.readTree();
  const wifi = wifiDeviceOf(tree, interfaceName);
  const profiles = await client.readProfiles(tree);
  const active = wifi ? activeProfileOf(tree, profiles, wifi.device) : null;
  const isOn = wifi !== null && active?.profile?.mark === 'hotspot';
  const idle = new AbortController();
  using _listening = bus.listen(({ path, member, body }) => {
    const state = number(body[0]);
    if (path === wifi?.path && member === 'StateChanged' && state <= deviceState.disconnected) idle.abort();
  });
  if (isOn) await client.deactivate(active.activePath).catch(() => undefined);
  for (const profile of profiles) {
    const isLeftOver = profile.mark === 'hotspot' || (isUnsettled(profile) && profile.path !== active?.profile?.path);
    // A volatile profile disappears with its activation.
    if (isLeftOver) await client.remove(profile.path).catch(() => undefined);
  }
  if (isOn) await until(AbortSignal.any([idle.signal, AbortSignal.timeout(stopMs)]));
}

const until = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
};
