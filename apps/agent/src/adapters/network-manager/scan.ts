import type { Clock } from '@station/kit/clock';
import { ssidToBytes, type SsidHex } from '../../core/ssid.ts';
import type { Bus } from './bus.ts';
import type { Client } from './client.ts';
import { interfaces, record, text, wifiDeviceOf } from './objects.ts';
import type { Supplicant } from './supplicant.ts';

/**
 * Has the radio look around, and waits until it has (`LastScan` changes), at most `limitMs`. A radio that is busy refuses and is
 * asked again; names of hidden networks are asked for one by one, which is the only way to meet those.
 * @returns whether there was a fresh scan.
 */
export async function scanNow(
  parts: {
    bus: Bus;
    client: Client;
    supplicant: Supplicant;
    clock: Clock;
    interfaceName: string | null;
    limitMs: number;
  },
  hidden: readonly SsidHex[],
  signal: AbortSignal,
): Promise<boolean> {
  const { bus, client, clock } = parts;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(parts.limitMs)]);
  const name = text(wifiDeviceOf(await client.readTree(), parts.interfaceName)?.device['Interface']);
  // The end of one that began before would be taken for the end of ours.
  await parts.supplicant.stopScan(name);
  const wifi = wifiDeviceOf(await client.readTree(), parts.interfaceName);
  if (!wifi) return false;
  const before = wifi.wireless['LastScan'];
  const done = new AbortController();
  using _listening = bus.listen(({ path, member, body }) => {
    if (path !== wifi.path || member !== 'PropertiesChanged' || body[0] !== interfaces.wireless) return;
    const lastScan = record(body[1])['LastScan'];
    if (lastScan !== undefined && lastScan !== before) done.abort();
  });
  const either = AbortSignal.any([limit, done.signal]);
  while (!either.aborted) {
    try {
      // Eight names at most: what drivers take in one scan.
      await client.requestScan(wifi.path, hidden.slice(0, maxNames).map(ssidToBytes));
      await sleep(clock, parts.limitMs, either);
    } catch {
      await sleep(clock, refusedPauseMs, either);
    }
  }
  return done.signal.aborted;
}

const maxNames = 8;
const refusedPauseMs = 1000;

/** Resolves early, and without complaint, when the signal aborts. */
export const sleep = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  clock.sleep(ms, signal).catch(() => undefined);
