import { Variant } from '@jellybrick/dbus-next';
import { aborted, type Bus } from './bus.ts';
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
  const call = async (
    path: string,
    name: string,
    member: string,
    signature = '',
    body: unknown[] = [],
  ): Promise<unknown> => {
    try {
      const rest = signature === '' ? {} : { signature, body };
      const [answer = true] = await bus.call({ destination: supplicantName, path, interface: name, member, ...rest });
      return answer;
    } catch {
      return null;
    }
  };
  const pathOf = async (name: string): Promise<string | null> =>
    text(await call('/fi/w1/wpa_supplicant1', supplicantName, 'GetInterface', 's', [name])) || null;
  const get = (path: string, property: string): Promise<unknown> =>
    call(path, interfaces.properties, 'Get', 'ss', [interfaces.supplicantInterface, property]);
  /** Does something that ends with `Scanning` false, and waits for that. */
  const untilScanned = async (path: string, act: () => Promise<unknown>): Promise<void> => {
    const done = new AbortController();
    using _listening = bus.listen((signal) => {
      if (signal.path === path && signal.member === 'PropertiesChanged' && record(signal.body[1])['Scanning'] === false)
        done.abort();
    });
    if ((await act()) !== null) await aborted(AbortSignal.any([done.signal, AbortSignal.timeout(scanEndMs)]));
  };
  const stopScan = async (path: string): Promise<void> => {
    if ((await get(path, 'Scanning')) === true)
      await untilScanned(path, () => call(path, interfaces.supplicantInterface, 'AbortScan'));
  };
  return {
    pathOf,
    countStations: async (name) => {
      const path = await pathOf(name);
      const stations = path === null ? null : await get(path, 'Stations');
      return Array.isArray(stations) ? stations.length : null;
    },
    stopScan: async (name) => {
      const path = await pathOf(name);
      if (path !== null) await stopScan(path);
    },
    setCountry: async (name, country) => {
      const path = await pathOf(name);
      if (path === null) return;
      const value = [interfaces.supplicantInterface, 'Country', new Variant('s', country)];
      await call(path, interfaces.properties, 'Set', 'ssv', value);
    },
    scanFor: async (name, ssid, frequencies) => {
      const path = await pathOf(name);
      if (path === null) return;
      await stopScan(path);
      const options = {
        Type: new Variant('s', 'active'),
        SSIDs: new Variant('aay', [Buffer.from(ssid)]),
        Channels: new Variant(
          'a(uu)',
          frequencies.map((frequency) => [frequency, channelWidthMegahertz]),
        ),
      };
      await untilScanned(path, () => call(path, interfaces.supplicantInterface, 'Scan', 'a{sv}', [options]));
    },
  };
}
