import type { PortalActions, PortalServer } from '@station/agent/core/hotspot-ports';
import type { NetworkActions } from '@station/agent/core/network-port';
import { ssidFromText } from '@station/agent/core/wifi-network';
import {
  change,
  loseProcess,
  advance,
  tryRouter,
  type Air,
  type Profile,
  type SimulatedRouter,
} from '@station/simulators/wifi/air';
import { survival } from './choice.ts';
import { cutDisk, emptyDisk, readNow, type DiskState } from './simulated-disk.ts';
import { pass, type WorldTime } from './virtual-clock.ts';

/** The surroundings of the agent's Wi-Fi duty: a home, a disk, a stack with its proxy, a backend. */
export type WifiWorld = {
  time: WorldTime;
  boot: number;
  /** Counts the processes of the agent. */
  process: number;
  disk: DiskState;
  isDiskFull: boolean;
  air: Air;
  isProxyRunning: boolean;
  /** The proxy's container engine answers. */
  hasEngine: boolean;
  backend: 'accepts' | 'offline' | 'refuses';
  hasRefused: boolean;
  forwarded: string[];
  /** The setup page of the current process. */
  portal: PortalActions | null;
  /** The web app of the current process. */
  network: NetworkActions | null;
  /** Time since which the page is open without a hotspot. */
  strayPortalMs: number | null;
  longestStrayPortalMs: number;
};

export const dataDir = '/data';
export const passwordOf = (name: string): string => `secret-of-${name}`;

export const router = (name: string, changes: Partial<SimulatedRouter> = {}): SimulatedRouter => ({
  ssid: ssidFromText(name),
  password: passwordOf(name),
  isOn: true,
  isHidden: false,
  givesAddresses: true,
  answers: true,
  internet: true,
  signal: 60,
  ...changes,
});

/** A profile created by a person: the agent never removes it. */
export const profile = (name: string, password: string | null = passwordOf(name), isAutomatic = true): Profile => ({
  id: `people-${name}`,
  ssid: ssidFromText(name),
  password,
  isSaved: true,
  isAutomatic,
  owner: null,
  settledBy: null,
  isFailed: false,
});

export function createWifiWorld(routers: SimulatedRouter[], profiles: Profile[]): WifiWorld {
  const disk = emptyDisk();
  disk.names.set(dataDir, disk.nextInode);
  disk.inodes.set(disk.nextInode, { kind: 'directory' });
  disk.nextInode += 1;
  return {
    time: { monotonicMs: 1_000_000, wallMs: Date.UTC(2026, 5, 1) },
    boot: 1,
    process: 0,
    disk,
    isDiskFull: false,
    air: {
      routers,
      profiles,
      manager: 'running',
      hasRadio: true,
      blocked: 'no',
      cable: null,
      hotspot: null,
      hasLeftovers: false,
      phones: 0,
      active: null,
      autoconnectMs: null,
      nextId: 0,
      version: 0,
    },
    isProxyRunning: true,
    hasEngine: true,
    backend: 'accepts',
    hasRefused: false,
    forwarded: [],
    portal: null,
    network: null,
    strayPortalMs: null,
    longestStrayPortalMs: 0,
  };
}

/** Ends the agent's process, with everything bound to it. */
export function endProcess(world: WifiWorld): void {
  loseProcess(world.air, world.process);
  world.portal = null;
  world.network = null;
  world.strayPortalMs = null;
}

/** Cuts the power: everything in memory is lost, and the engine does not start a stopped proxy. */
export function cutWifiPower(world: WifiWorld, variant: number): void {
  endProcess(world);
  cutDisk(world.disk, survival(variant));
  const { air } = world;
  const saved = air.profiles.filter(({ isSaved }) => isSaved).map((each) => ({ ...each, isFailed: false }));
  change(air, { profiles: saved, active: null, hotspot: null, phones: 0, manager: 'running' });
  world.boot += 1;
  pass(world.time, 20_000);
}

/** Restarts the machine's network manager: volatile connections end. */
export function loseManager(world: WifiWorld): void {
  change(world.air, { manager: 'absent' });
  advance(world.air, world.time.monotonicMs);
}

/** Removes or inserts a USB radio; its connections end immediately. */
export function takeRadio({ air, time }: WifiWorld, isOut: boolean): void {
  change(air, { hasRadio: !isOut });
  advance(air, time.monotonicMs);
}

/** A person activates a saved network in a terminal, which ends a hotspot. */
export function activate({ air, time }: WifiWorld, ssid: string): void {
  advance(air, time.monotonicMs);
  const chosen = air.profiles.find((each) => each.isSaved && each.ssid === ssid);
  if (
    air.manager === 'absent' ||
    !air.hasRadio ||
    air.blocked !== 'no' ||
    !chosen ||
    tryRouter(air, chosen).failure !== null
  )
    return;
  change(air, { active: chosen.id, hotspot: null, phones: 0 });
}

/** The setup page: it listens only while no proxy does. */
export function openSimulatedPortal(world: WifiWorld, actions: PortalActions, onClose: () => unknown): PortalServer {
  world.portal = actions;
  return {
    address: () => (world.isProxyRunning ? null : '192.0.2.1:80'),
    isPortTaken: () => world.isProxyRunning,
    [Symbol.asyncDispose]: async () => {
      onClose();
      world.portal = null;
    },
  };
}

/** Records how long the page is open outside the hotspot. */
export function watchPortal(world: WifiWorld): void {
  const nowMs = world.time.monotonicMs;
  if (!world.portal || world.air.hotspot) {
    world.strayPortalMs = null;
    return;
  }
  world.strayPortalMs ??= nowMs;
  world.longestStrayPortalMs = Math.max(world.longestStrayPortalMs, nowMs - world.strayPortalMs);
}

export function readJson(world: WifiWorld, name: string): Record<string, unknown> | null {
  const content = readNow(world.disk, `${dataDir}/${name}`);
  return content && (JSON.parse(Buffer.from(content).toString()) as Record<string, unknown>);
}
