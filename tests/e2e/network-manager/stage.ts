import { events } from '@station/protocol/events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Variant } from '@jellybrick/dbus-next';
import { systemClock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import type { HotspotSettings } from '@station/agent/wifi/wifi-ports';
import { type JoinRequest, ssidFromText } from '@station/agent/core/wifi-network';
import {
  createNetworkManager,
  type Limits,
  type NetworkManager,
} from '@station/agent/wifi/adapters/network-manager/network-manager';
import { startFakeNetworkManager, type FakeNetworkManager } from './fake-network-manager.ts';
import { waitFor } from '../../rig/program.ts';
import { startPrivateBus, type PrivateBus } from '../../rig/private-bus.ts';

export const home = ssidFromText('Home');
export const password = 'correct horse';
export const request: JoinRequest = { ssid: home, security: null, password, isHidden: false };
export const hotspot: HotspotSettings = {
  ssid: ssidFromText('Station-1234'),
  password: null,
  address: '192.0.2.1',
  prefixLength: 24,
};
export const forever = new AbortController().signal;
export const utf8 = (text: string): Uint8Array => Buffer.from(text);

/** The adapter, a private bus with the fake NetworkManager, and folders that replace those of the kernel. */
export type Stage = AsyncDisposable & {
  radio: NetworkManager;
  fake: FakeNetworkManager;
  bus: PrivateBus;
  folder: string;
  /** Log of the adapter. */
  lines: string[];
  /** Replaces the adapter with a new one. */
  renew(limits: Partial<Limits>, interfaceName?: string): Promise<void>;
  /** Starts a new NetworkManager after the old one has ended. */
  replaceManager(): Promise<void>;
  /** Waits until it is true. */
  until(isTrue: () => Promise<boolean>): Promise<void>;
};

export async function createStage(): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'station-nm-'));
  await mkdir(join(folder, 'proc/net'), { recursive: true });
  await mkdir(join(folder, 'proc/sys/net/ipv4/conf/wlan0'), { recursive: true });
  await writeFile(join(folder, 'proc/sys/net/ipv4/conf/wlan0/forwarding'), '1\n');
  await writeFile(join(folder, 'proc/sys/net/ipv4/ip_forward'), '1\n');
  const bus = await startPrivateBus();
  const lines: string[] = [];
  const connect = (limits: Partial<Limits>, interfaceName: string | null = null): NetworkManager =>
    createNetworkManager({
      busAddress: bus.address,
      interface: interfaceName,
      country: 'FI',
      dnsmasqFolder: join(folder, 'dnsmasq'),
      kernel: { sys: join(folder, 'sys'), proc: join(folder, 'proc') },
      clock: systemClock,
      limits,
      logger: createLogger({
        catalogue: events,
        clock: systemClock,
        write: (line) => void lines.push(line),
        level: 'debug',
        secrets: [],
      }),
    });
  const stage: Stage = {
    fake: await startFakeNetworkManager(bus.address),
    radio: connect({}),
    bus,
    folder,
    lines,
    renew: async (limits, interfaceName) => {
      await stage.radio[Symbol.asyncDispose]();
      stage.radio = connect(limits, interfaceName);
    },
    replaceManager: async () => {
      stage.fake = await startFakeNetworkManager(bus.address);
    },
    until: async (isTrue) => {
      await waitFor('what the adapter observes', isTrue);
    },
    [Symbol.asyncDispose]: async () => {
      await stage.radio[Symbol.asyncDispose]();
      await stage.fake[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
  await stage.radio.observe();
  return stage;
}

/** Settings of a Wi-Fi profile from another program; `mark` makes it a profile of the agent. */
export const profile = (
  ssid: string,
  keys: { autoconnect?: boolean; hidden?: boolean } = {},
  mark?: string,
): Record<string, Record<string, Variant>> => ({
  connection: {
    type: new Variant('s', '802-11-wireless'),
    uuid: new Variant('s', `00000000-0000-0000-0000-${ssid.padStart(12, '0')}`),
    autoconnect: new Variant('b', keys.autoconnect !== false),
  },
  '802-11-wireless': {
    ssid: new Variant('ay', Buffer.from(ssid)),
    hidden: new Variant('b', keys.hidden === true),
  },
  ...(mark === undefined ? {} : { user: { data: new Variant('a{ss}', { 'station.agent': mark }) } }),
});
