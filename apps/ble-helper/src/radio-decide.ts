import type { RadioState } from '@station/protocol/ble-frames';
import { interfaces, text, texts, type ObjectTree } from './bluez-objects.ts';

export type AdapterFacts = { path: string; isPowered: boolean; isBlocked: boolean; isCentral: boolean };

/** @param blocked adapters that refused to be powered on because the radio is blocked (rfkill). */
export function adaptersOf(tree: ObjectTree, blocked: ReadonlySet<string>): AdapterFacts[] {
  return [...tree]
    .flatMap(([path, all]): AdapterFacts[] => {
      const adapter = all[interfaces.adapter];
      if (adapter === undefined) return [];
      const isPowered = adapter['Powered'] === true;
      return [
        {
          path,
          isPowered,
          // Older versions of BlueZ have no PowerState.
          isBlocked: !isPowered && (text(adapter['PowerState']) === 'off-blocked' || blocked.has(path)),
          isCentral: adapter['Roles'] === undefined || texts(adapter['Roles']).includes('central'),
        },
      ];
    })
    .sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
}

/**
 * The adapter to use: the one with the wanted name (`hci0`); without a name, the first powered one that can connect to peripherals, else the
 * first that can, else the first.
 */
export function chooseAdapter(adapters: readonly AdapterFacts[], wanted: string | null): AdapterFacts | null {
  if (wanted !== null) return adapters.find(({ path }) => path.endsWith(`/${wanted}`)) ?? null;
  const central = adapters.filter(({ isCentral }) => isCentral);
  return central.find(({ isPowered }) => isPowered) ?? central[0] ?? adapters[0] ?? null;
}

export function radioStateOf(isRunning: boolean, adapter: AdapterFacts | null): RadioState {
  if (!isRunning) return 'bluetooth_stopped';
  if (adapter === null) return 'adapter_missing';
  if (adapter.isPowered) return 'ready';
  return adapter.isBlocked ? 'adapter_blocked' : 'adapter_off';
}

/**
 * A device that is connected although this program has connected to none: its link outlived a crash, and it does not advertise while it
 * lasts. One that a person has paired or trusts is left alone.
 */
export function findLeftover(tree: ObjectTree, adapter: string, uuids: readonly string[]): string | null {
  for (const [path, all] of tree) {
    const device = all[interfaces.device];
    if (!path.startsWith(`${adapter}/`) || device?.['Connected'] !== true) continue;
    const isOfPerson = device['Paired'] === true || device['Trusted'] === true;
    if (!isOfPerson && texts(device['UUIDs']).some((uuid) => uuids.includes(uuid))) return path;
  }
  return null;
}

export type ScanFacts = {
  nowMs: number;
  state: RadioState;
  adapter: AdapterFacts | null;
  /** Service UUIDs to look for; null: nothing. */
  wanted: readonly string[] | null;
  /** Discovery of this program that runs. */
  session: { adapter: string; uuids: readonly string[]; lastEventMs: number } | null;
  /** This adapter was powered on for the current scan request. A person may have switched it off since. */
  hasTriedPower: boolean;
  /** A device that is still connected from an earlier run of this program (see `findLeftover`); null: none. */
  leftover: string | null;
  /** Without any event for so long, discovery is started again. */
  stallMs: number;
};

export type ScanStep =
  | { kind: 'start'; adapter: string; uuids: readonly string[] }
  | { kind: 'stop'; adapter: string }
  | { kind: 'power_on'; adapter: string }
  | { kind: 'disconnect'; adapter: string; device: string }
  | { kind: 'wait'; ms: number };

/** The next step of the scan. */
export function decideScan(facts: ScanFacts): ScanStep {
  const { session, wanted, adapter } = facts;
  if (session !== null) {
    const isWanted = wanted !== null && adapter?.path === session.adapter && wanted.join() === session.uuids.join();
    const restMs = session.lastEventMs + facts.stallMs - facts.nowMs;
    if (!isWanted || restMs <= 0) return { kind: 'stop', adapter: session.adapter };
    return { kind: 'wait', ms: restMs };
  }
  if (wanted === null || adapter === null) return { kind: 'wait', ms: Infinity };
  if (facts.leftover !== null) return { kind: 'disconnect', adapter: adapter.path, device: facts.leftover };
  if (facts.state === 'ready') return { kind: 'start', adapter: adapter.path, uuids: wanted };
  if (facts.state === 'adapter_off' && !facts.hasTriedPower) return { kind: 'power_on', adapter: adapter.path };
  return { kind: 'wait', ms: Infinity };
}
