import { ssidFromBytes, type SsidHex } from '../../core/ssid.ts';
import {
  bytes,
  devicesOf,
  deviceState,
  deviceType,
  interfaces,
  number,
  propertiesOf,
  record,
  text,
  type ObjectTree,
  type Properties,
} from './objects.ts';

/** NMSettingsConnectionFlags: not (or not as it now is) on disk. */
const unsavedFlag = 0x1;

/**
 * Whose profile it is. Ours carry `station.agent` in their `user` setting, which NetworkManager keeps and does not look at
 * (nm-settings(5), "user"). A profile without it was made by people and is never removed.
 */
export const markKey = 'station.agent';
export type Mark = 'network' | 'hotspot';

export type Profile = {
  path: string;
  uuid: string;
  ssid: SsidHex;
  mode: 'infrastructure' | 'ap' | 'other';
  /** Joins by itself. */
  isAutomatic: boolean;
  isHidden: boolean;
  /** It has a setting for security, and with it maybe a password. */
  hasKey: boolean;
  /** Null: any. */
  interfaceName: string | null;
  /** When it last worked, seconds since the epoch; 0: never. */
  lastUsed: number;
  mark: Mark | null;
  /** In memory only. */
  isUnsaved: boolean;
  /** A candidate of this process that was found good, whether it could be written or not. */
  isSettled: boolean;
  /** The one that was in use last, as far as this process has seen. */
  isLastUsed: boolean;
};

/** What a process remembers of profiles, by their UUID. */
export type Remembered = { settled: ReadonlySet<string>; lastUsed: string | null };

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
    hasKey: '802-11-wireless-security' in all,
    interfaceName: text(connection['interface-name']) || null,
    lastUsed: number(connection['timestamp']),
    mark: mark === 'network' || mark === 'hotspot' ? mark : null,
    isUnsaved: (number(properties['Flags']) & unsavedFlag) !== 0 || properties['Unsaved'] === true,
    isSettled: settled.has(uuid),
    isLastUsed: uuid === lastUsed,
  };
}

export const isCandidate = (profile: Profile): boolean => profile.mark === 'network' && profile.isUnsaved;
/** Joined, and not on disk yet. */
export const isUnkept = (profile: Profile): boolean => isCandidate(profile) && profile.isSettled;
/** Nobody knows whether it works. */
export const isUnsettled = (profile: Profile): boolean => isCandidate(profile) && !profile.isSettled;

/** The profile of the network that the station is in; a candidate is none yet. */
export function usedProfile(tree: ObjectTree, profiles: readonly Profile[]): Profile | undefined {
  const used = devicesOf(tree, deviceType.wifi)
    .filter(({ device }) => device['State'] === deviceState.activated)
    .map(({ device }) => text(propertiesOf(tree, device['ActiveConnection'], interfaces.active)?.['Connection']));
  return profiles.find(
    (profile) => profile.mode === 'infrastructure' && !isUnsettled(profile) && used.includes(profile.path),
  );
}

/**
 * Networks that were saved, or found good, and that the manager would join by itself on this interface. The one that was in use last is
 * known even when people have to join it: it is left for the hotspot when its router falls silent, and nobody else would come back to it.
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
