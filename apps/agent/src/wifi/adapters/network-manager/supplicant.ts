import { Variant } from '@jellybrick/dbus-next';
import { aborted, type Bus, type BusCall } from '@station/kit/message-bus';
import { interfaces, record, supplicantName, text } from './objects.ts';

/** Functions of wpa_supplicant that NetworkManager does not offer (`doc/dbus.doxygen`). Nothing here throws. */
export type Supplicant = {
  /** Its object of an interface; null when it does not know it. */
  pathOf(interfaceName: string): Promise<string | null>;
  /** Stations on our access point; null when unknown. */
  countStations(interfaceName: string): Promise<number | null>;
  /**
   * Ends a running scan: NetworkManager scans every channel whenever the radio is idle, and the next request
   * would wait for that.
   */
  stopScan(interfaceName: string): Promise<void>;
  /** Sets the country whose radio rules the kernel applies, like `country=` in its configuration. */
  setCountry(interfaceName: string, country: string): Promise<void>;
  /** Scans for one network on the channels (MHz) where it was seen before: this is fast, and the join then starts at once. */
  scanFor(interfaceName: string, ssid: Uint8Array, frequencies: readonly number[]): Promise<void>;
};

const scanEndMs = 7000;
const channelWidthMegahertz = 20;

export function createSupplicant(bus: Bus): Supplicant {
  return {
    pathOf: (name) => pathOf(bus, name),
    countStations: async (name) => {
      const path = await pathOf(bus, name);
      const stations = path === null ? null : await get(bus, path, 'Stations');
      return Array.isArray(stations) ? stations.length : null;
    },
    stopScan: async (name) => {
      const path = await pathOf(bus, name);
      if (path !== null) await stopScan(bus, path);
    },
    setCountry: async (name, country) => {
      const path = await pathOf(bus, name);
      if (path === null) return;
      const body = [interfaces.supplicantInterface, 'Country', new Variant('s', country)];
      await call(bus, { path, interface: interfaces.properties, member: 'Set', signature: 'ssv', body });
    },
    scanFor: async (name, ssid, frequencies) => {
      const path = await pathOf(bus, name);
      if (path === null) return;
      await stopScan(bus, path);
      await untilScanned(bus, path, () => scan(bus, path, ssid, frequencies));
    },
  };
}

/** The first value of the reply, true when it has none; null when the call failed. */
async function call(bus: Bus, parts: Omit<BusCall, 'destination'>): Promise<unknown> {
  try {
    const [answer = true] = await bus.call({ ...parts, destination: supplicantName });
    return answer;
  } catch {
    return null;
  }
}

async function pathOf(bus: Bus, interfaceName: string): Promise<string | null> {
  const path = await call(bus, {
    path: '/fi/w1/wpa_supplicant1',
    interface: supplicantName,
    member: 'GetInterface',
    signature: 's',
    body: [interfaceName],
  });
  return text(path) || null;
}

function get(bus: Bus, path: string, property: string): Promise<unknown> {
  const body = [interfaces.supplicantInterface, property];
  return call(bus, { path, interface: interfaces.properties, member: 'Get', signature: 'ss', body });
}

async function stopScan(bus: Bus, path: string): Promise<void> {
  if ((await get(bus, path, 'Scanning')) !== true) return;
  const abort = { path, interface: interfaces.supplicantInterface, member: 'AbortScan' };
  await untilScanned(bus, path, () => call(bus, abort));
}

function scan(bus: Bus, path: string, ssid: Uint8Array, frequencies: readonly number[]): Promise<unknown> {
  const channels = frequencies.map((frequency) => [frequency, channelWidthMegahertz]);
  const options = {
    Type: new Variant('s', 'active'),
    SSIDs: new Variant('aay', [Buffer.from(ssid)]),
    Channels: new Variant('a(uu)', channels),
  };
  const body = [options];
  return call(bus, { path, interface: interfaces.supplicantInterface, member: 'Scan', signature: 'a{sv}', body });
}

/** Does something that ends with `Scanning` false, and waits for that. */
async function untilScanned(bus: Bus, path: string, act: () => Promise<unknown>): Promise<void> {
  const done = new AbortController();
  using _listening = bus.listen((signal) => {
    if (signal.path === path && signal.member === 'PropertiesChanged' && record(signal.body[1])['Scanning'] === false)
      done.abort();
  });
  if ((await act()) !== null) await aborted(AbortSignal.any([done.signal, AbortSignal.timeout(scanEndMs)]));
}
