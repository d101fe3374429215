import { Variant } from '@jellybrick/dbus-next';
import { aborted, type Bus } from './bus.ts';
import { interfaces, record, supplicantName, text } from './objects.ts';

/** What NetworkManager does not tell or do, of wpa_supplicant itself (its `doc/dbus.doxygen`). Nothing here throws. */
export type Supplicant = {
  /** Its object of an interface; null when it does not know it. */
  pathOf(interfaceName: string): Promise<string | null>;
  /** Stations on our access point; null when it does not say. */
  countStations(interfaceName: string): Promise<number | null>;
  /**
   * Ends a scan that is under way: NetworkManager begins one of every channel whenever the radio has nothing to do, and what is asked
   * for next would wait for it.
   */
  stopScan(interfaceName: string): Promise<void>;
  /** Tells the kernel whose rules the radios keep to, as `country=` in its configuration does. */
  setCountry(interfaceName: string, country: string): Promise<void>;
  /** Looks for one network on the channels (MHz) where it was met before: a fraction of a second, and then it is joined at once. */
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
