import { Variant } from '@jellybrick/dbus-next';
import type { HotspotSettings, Security } from '../../wifi/wifi-ports.ts';
import { describeSsid, ssidToBytes, type SsidHex } from '../../core/ssid.ts';
import type { ConnectionSettings } from './client.ts';
import { markKey, type Mark } from './profiles.ts';

const string = (value: string): Variant => new Variant('s', value);
const strings = (...values: string[]): Variant => new Variant('as', values);
const boolean = (value: boolean): Variant => new Variant('b', value);
const integer = (value: number): Variant => new Variant('i', value);
const octets = (value: Uint8Array): Variant => new Variant('ay', Buffer.from(value));
const marked = (mark: Mark): ConnectionSettings[string] => ({ data: new Variant('a{ss}', { [markKey]: mark }) });

/** NMSettingWirelessSecurityPmf. */
const pmfDisable = 1;
/** A router that has just started answers late; NetworkManager's own 45 s would outlast a join. */
const dhcpTimeoutSeconds = 25;

export type NetworkSettings = {
  uuid: string;
  ssid: SsidHex;
  security: Exclude<Security, 'wep' | 'enterprise'>;
  password: string | null;
  isHidden: boolean;
  /** Without SAE, for radios that fail with it where the older way would work. */
  isPskOnly: boolean;
};

/**
 * A profile that joins a network and gets its address by DHCP (nm-settings-dbus(5)). It holds the password, which goes to
 * NetworkManager over the bus only. An IPv4 address is required: without one nothing in the house finds the station.
 */
export function networkSettings(options: NetworkSettings): ConnectionSettings {
  const key = keyOf(options);
  return {
    connection: {
      id: string(`Station: ${describeSsid(options.ssid)}`),
      uuid: string(options.uuid),
      type: string('802-11-wireless'),
      autoconnect: boolean(true),
    },
    '802-11-wireless': {
      ssid: octets(ssidToBytes(options.ssid)),
      mode: string('infrastructure'),
      hidden: boolean(options.isHidden),
    },
    ...(key ? { '802-11-wireless-security': key } : {}),
    ipv4: { method: string('auto'), 'may-fail': boolean(false), 'dhcp-timeout': integer(dhcpTimeoutSeconds) },
    ipv6: { method: string('auto'), 'may-fail': boolean(true) },
    user: marked('network'),
  };
}

/**
 * Key management. `wpa-psk` lets the supplicant use SAE by itself where access point and radio both can; a network that only does
 * SAE must be asked for it by name.
 */
function keyOf({ security, password, isPskOnly }: NetworkSettings): ConnectionSettings[string] | null {
  switch (security) {
    case 'open':
      return null;
    case 'owe':
      return { 'key-mgmt': string('owe') };
    case 'wpa3':
      return { 'key-mgmt': string('sae'), psk: string(password ?? '') };
    case 'wpa2':
    case 'wpa2-wpa3': {
      const key = { 'key-mgmt': string('wpa-psk'), psk: string(password ?? '') };
      return isPskOnly ? { ...key, pmf: integer(pmfDisable) } : key;
    }
  }
}

/**
 * Our access point: 2.4 GHz, which every device has; addresses and names by NetworkManager's shared mode. With a password plain
 * WPA2-CCMP without protected management frames, because `wpa-psk` alone would add SAE, which many chips cannot do as access point.
 */
export function hotspotSettings(
  options: HotspotSettings & { uuid: string; interfaceName: string },
): ConnectionSettings {
  return {
    connection: {
      id: string('Station: hotspot'),
      uuid: string(options.uuid),
      type: string('802-11-wireless'),
      'interface-name': string(options.interfaceName),
      autoconnect: boolean(false),
    },
    '802-11-wireless': {
      ssid: octets(ssidToBytes(options.ssid)),
      mode: string('ap'),
      band: string('bg'),
    },
    ...(options.password === null
      ? {}
      : {
          '802-11-wireless-security': {
            'key-mgmt': string('wpa-psk'),
            psk: string(options.password),
            proto: strings('rsn'),
            pairwise: strings('ccmp'),
            group: strings('ccmp'),
            pmf: integer(pmfDisable),
          },
        }),
    ipv4: {
      method: string('shared'),
      'address-data': new Variant('aa{sv}', [
        { address: string(options.address), prefix: new Variant('u', options.prefixLength) },
      ]),
    },
    ipv6: { method: string('disabled') },
    user: marked('hotspot'),
  };
}

/** Options of AddAndActivateConnection2: in memory until it is saved. */
export const inMemory = (): Record<string, Variant> => ({ persist: string('memory') });
/** Gone when it ends, and ended by the bus when this process does. */
export const whileWeLive = (): Record<string, Variant> => ({
  persist: string('volatile'),
  'bind-activation': string('dbus-client'),
});
