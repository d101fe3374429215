import { Variant } from '@jellybrick/dbus-next';
import type { Security } from '@station/protocol/wifi-password';
import { describeSsid, ssidFromBytes, type SsidHex, ssidToBytes } from '../../../core/wifi-network.ts';
import type { HotspotSettings } from '../../wifi-ports.ts';
import {
  bytes,
  devicesOf,
  deviceState,
  deviceType,
  interfaces,
  number,
  type ObjectTree,
  type Properties,
  propertiesOf,
  record,
  text,
} from './objects.ts';

/** Settings of a connection as NetworkManager takes them (`a{sa{sv}}`): setting → key → `Variant`. May hold a password. */
export type ConnectionSettings = Record<string, Record<string, unknown>>;

/** NMSettingsConnectionFlags: not (or not as it now is) on disk. */
const unsavedFlag = 0x1;

/**
 * The owner of a profile. Ours have `station.agent` in their `user` setting, which NetworkManager stores and ignores
 * (nm-settings(5), "user"). A profile without it was made by people and is never removed.
 */
const markKey = 'station.agent';
type Mark = 'network' | 'hotspot';

export type Profile = {
  path: string;
  uuid: string;
  ssid: SsidHex;
  mode: 'infrastructure' | 'ap' | 'other';
  /** Joins automatically. */
  isAutomatic: boolean;
  isHidden: boolean;
  /** `key-mgmt` of its security setting, which may have a password; null: it has no such setting. */
  keyManagement: string | null;
  /** Null: any. */
  interfaceName: string | null;
  /** When it last worked, seconds since the epoch; 0: never. */
  lastUsed: number;
  mark: Mark | null;
  /** In memory only. */
  isUnsaved: boolean;
  /** A candidate of this process that works, on disk or not. */
  isSettled: boolean;
  /** The last one in use that this process has seen. */
  isLastUsed: boolean;
};

/** What a process remembers of profiles, by their UUID. */
type Remembered = { settled: ReadonlySet<string>; lastUsed: string | null };

/**
 * A Wi-Fi profile from its settings (`Settings.Connection.GetSettings`, without secrets) and its properties.
 * @returns null when it is of another kind.
 */
export function profileOf(
  path: string,
  settings: unknown,
  properties: Properties,
  { settled, lastUsed }: Remembered,
): Profile | null {
  const all = record(settings);
  const connection = record(all['connection']);
  const wireless = record(all['802-11-wireless']);
  if (connection['type'] !== '802-11-wireless') return null;
  const mark = text(record(record(all['user'])['data'])[markKey]);
  const mode = text(wireless['mode']) || 'infrastructure';
  const uuid = text(connection['uuid']);
  return {
    path,
    uuid,
    ssid: ssidFromBytes(bytes(wireless['ssid'])),
    mode: mode === 'infrastructure' || mode === 'ap' ? mode : 'other',
    isAutomatic: connection['autoconnect'] !== false,
    isHidden: wireless['hidden'] === true,
    keyManagement: '802-11-wireless-security' in all ? text(record(all['802-11-wireless-security'])['key-mgmt']) : null,
    interfaceName: text(connection['interface-name']) || null,
    lastUsed: number(connection['timestamp']),
    mark: mark === 'network' || mark === 'hotspot' ? mark : null,
    isUnsaved: (number(properties['Flags']) & unsavedFlag) !== 0 || properties['Unsaved'] === true,
    isSettled: settled.has(uuid),
    isLastUsed: uuid === lastUsed,
  };
}

export const isCandidate = (profile: Profile): boolean => profile.mark === 'network' && profile.isUnsaved;
/** Joined but not on disk yet. */
export const isUnkept = (profile: Profile): boolean => isCandidate(profile) && profile.isSettled;
/** Not known to work. */
export const isUnsettled = (profile: Profile): boolean => isCandidate(profile) && !profile.isSettled;

/** The profile of the network in use; a candidate does not count yet. */
export function usedProfile(tree: ObjectTree, profiles: readonly Profile[]): Profile | undefined {
  const used = devicesOf(tree, deviceType.wifi)
    .filter(({ device }) => device['State'] === deviceState.activated)
    .map(({ device }) => text(propertiesOf(tree, device['ActiveConnection'], interfaces.active)?.['Connection']));
  return profiles.find(
    (profile) => profile.mode === 'infrastructure' && !isUnsettled(profile) && used.includes(profile.path),
  );
}

/**
 * Networks that are saved or known to work and that the manager joins automatically on this interface. The last one in use is
 * included even if it only joins manually: the station leaves it for the hotspot when its router stops answering, and must return.
 */
export function knownProfiles(profiles: readonly Profile[], interfaceName: string): Profile[] {
  return profiles.filter(
    (profile) =>
      profile.mode === 'infrastructure' &&
      (profile.isAutomatic || profile.isLastUsed) &&
      !isUnsettled(profile) &&
      (profile.interfaceName === null || profile.interfaceName === interfaceName),
  );
}

const string = (value: string): Variant => new Variant('s', value);
const strings = (...values: string[]): Variant => new Variant('as', values);
const boolean = (value: boolean): Variant => new Variant('b', value);
const integer = (value: number): Variant => new Variant('i', value);
const octets = (value: Uint8Array): Variant => new Variant('ay', Buffer.from(value));
const marked = (mark: Mark): ConnectionSettings[string] => ({ data: new Variant('a{ss}', { [markKey]: mark }) });

/** NMSettingWirelessSecurityPmf. */
const pmfDisable = 1;
/** A router that has just started answers late, but NetworkManager's own 45 s is longer than a join may take. */
const dhcpTimeoutSeconds = 25;

export type NetworkSettings = {
  uuid: string;
  ssid: SsidHex;
  security: Exclude<Security, 'wep' | 'enterprise'>;
  password: string | null;
  isHidden: boolean;
  /** Without SAE, for radios that fail with SAE but work with WPA2. */
  isPskOnly: boolean;
};

/**
 * A profile that joins a network and gets its address by DHCP (nm-settings-dbus(5)). It holds the password, which goes to
 * NetworkManager over the bus only. An IPv4 address is required: without one no device in the house finds the station.
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
 * Key management. With `wpa-psk` the supplicant uses SAE automatically if access point and radio support it; a network with only
 * SAE needs `sae`.
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

/** Options of AddAndActivateConnection2: the profile stays in memory until it is saved. */
export const inMemory = (): Record<string, Variant> => ({ persist: string('memory') });
/** The profile disappears with its activation, which ends with this process. */
export const whileWeLive = (): Record<string, Variant> => ({
  persist: string('volatile'),
  'bind-activation': string('dbus-client'),
});
