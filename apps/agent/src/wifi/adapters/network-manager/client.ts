import type { ConnectionSettings } from './profiles.ts';
import { Variant } from '@jellybrick/dbus-next';
import type { Bus, BusCall, BusSignal } from '@station/kit/message-bus';
import {
  interfaces,
  managerName,
  managerPath,
  record,
  settingsPath,
  supplicantName,
  text,
  treeOf,
  type ObjectTree,
} from './objects.ts';
import { profileOf, usedProfile, type Profile } from './profiles.ts';

/**
 * The match rules of everything the adapter listens to: NetworkManager's own signals, its start and stop, and wpa_supplicant's
 * signals about associations and hotspot clients.
 */
export const matchRules: readonly string[] = [
  `type='signal',sender='${managerName}',path_namespace='${managerPath}'`,
  `type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='${managerName}'`,
  `type='signal',sender='${supplicantName}',interface='${interfaces.properties}',member='PropertiesChanged',arg0='${interfaces.supplicantInterface}'`,
  `type='signal',sender='${supplicantName}',interface='${interfaces.supplicantInterface}',member='StationAdded'`,
  `type='signal',sender='${supplicantName}',interface='${interfaces.supplicantInterface}',member='StationRemoved'`,
];

const securitySetting = '802-11-wireless-security';

/** NM_SETTINGS_UPDATE2_FLAG_TO_DISK, and NM_SETTINGS_ADD_CONNECTION2_FLAG_TO_DISK. */
const toDisk = 0x1;

/** The calls of NetworkManager that are used. All throw BusError. */
export type Client = {
  readTree(): Promise<ObjectTree>;
  /** Wi-Fi profiles of the tree; their settings are read once, and again when they change. */
  readProfiles(tree: ObjectTree): Promise<Profile[]>;
  requestScan(devicePath: string, ssids: readonly Uint8Array[]): Promise<void>;
  /** @returns path of the new profile. `options`: `persist`, `bind-activation` (AddAndActivateConnection2). */
  addAndActivate(
    settings: ConnectionSettings,
    devicePath: string,
    accessPoint: string,
    options: Record<string, unknown>,
  ): Promise<string>;
  /** Adds a profile on disk and activates nothing. */
  add(settings: ConnectionSettings): Promise<void>;
  activate(profilePath: string, devicePath: string, accessPoint: string): Promise<void>;
  deactivate(activePath: string): Promise<void>;
  /** A profile's network key (`psk`), which NetworkManager gives only to root; null: it has none. */
  passwordOf(profilePath: string): Promise<string | null>;
  remove(profilePath: string): Promise<void>;
  /** Marks the profile as `isSettled`. */
  noteSettled(uuid: string): void;
  /** Writes a profile as it is to disk. */
  save(profilePath: string): Promise<void>;
  setWirelessEnabled(isEnabled: boolean): Promise<void>;
};

export function createClient(bus: Bus): Client & Disposable {
  const cache: ProfileCache = { settings: new Map(), settled: new Set(), lastUsed: null };
  const listening = bus.listen((signal: BusSignal) => {
    if (signal.interface === interfaces.profile) cache.settings.delete(signal.path);
    // A restarted NetworkManager renumbers its profiles.
    else if (signal.member === 'NameOwnerChanged' || signal.member === 'ConnectionChanged') cache.settings.clear();
  });
  const call = (path: string, name: string, member: string, rest: Partial<BusCall> = {}) =>
    callManager(bus, { path, interface: name, member, ...rest });

  return {
    readTree: async () => {
      const [objects] = await call('/org/freedesktop', 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects');
      return treeOf(objects);
    },
    readProfiles: (tree) => readProfiles(bus, cache, tree),
    requestScan: async (devicePath, ssids) => {
      const names = ssids.map((ssid) => Buffer.from(ssid));
      const options = names.length > 0 ? { ssids: new Variant('aay', names) } : {};
      await call(devicePath, interfaces.wireless, 'RequestScan', { signature: 'a{sv}', body: [options] });
    },
    addAndActivate: async (connection, devicePath, accessPoint, options) => {
      const [path] = await call(managerPath, interfaces.manager, 'AddAndActivateConnection2', {
        signature: 'a{sa{sv}}ooa{sv}',
        body: [connection, devicePath, accessPoint, options],
      });
      return text(path);
    },
    add: async (connection) => {
      await call(settingsPath, interfaces.settings, 'AddConnection2', {
        signature: 'a{sa{sv}}ua{sv}',
        body: [connection, toDisk, {}],
      });
    },
    activate: async (profilePath, devicePath, accessPoint) => {
      const body = [profilePath, devicePath, accessPoint];
      await call(managerPath, interfaces.manager, 'ActivateConnection', { signature: 'ooo', body });
    },
    deactivate: async (activePath) => {
      await call(managerPath, interfaces.manager, 'DeactivateConnection', { signature: 'o', body: [activePath] });
    },
    passwordOf: async (profilePath) => {
      const body = [securitySetting];
      const [secrets] = await call(profilePath, interfaces.profile, 'GetSecrets', { signature: 's', body });
      return passwordIn(secrets);
    },
    remove: async (profilePath) => {
      await call(profilePath, interfaces.profile, 'Delete');
    },
    noteSettled: (uuid) => void cache.settled.add(uuid),
    save: async (profilePath) => {
      await call(profilePath, interfaces.profile, 'Update2', { signature: 'a{sa{sv}}ua{sv}', body: [{}, toDisk, {}] });
    },
    setWirelessEnabled: async (isEnabled) => {
      const body = [interfaces.manager, 'WirelessEnabled', new Variant('b', isEnabled)];
      await call(managerPath, interfaces.properties, 'Set', { signature: 'ssv', body });
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}

function passwordIn(secrets: unknown): string | null {
  const psk = record(record(secrets)[securitySetting])['psk'];
  return typeof psk === 'string' ? psk : null;
}

const callManager = (bus: Bus, call: Omit<BusCall, 'destination'>): Promise<readonly unknown[]> =>
  bus.call({ ...call, destination: managerName });

type ProfileCache = {
  /** Settings by the path of their profile. */
  settings: Map<string, unknown>;
  /** UUIDs of settled profiles. */
  settled: Set<string>;
  /** UUID of the profile that was in use last. */
  lastUsed: string | null;
};

async function readProfiles(bus: Bus, cache: ProfileCache, tree: ObjectTree): Promise<Profile[]> {
  const profiles: Profile[] = [];
  for (const [path, all] of tree) {
    const properties = all[interfaces.profile];
    if (!properties) continue;
    // The profile was removed in the meantime.
    const found = await readSettings(bus, cache, path).catch(() => null);
    const profile = profileOf(path, found, properties, cache);
    if (profile) profiles.push(profile);
  }
  for (const path of cache.settings.keys()) if (!tree.has(path)) cache.settings.delete(path);
  const used = usedProfile(tree, profiles)?.uuid ?? cache.lastUsed;
  if (used === cache.lastUsed) return profiles;
  cache.lastUsed = used;
  return profiles.map((profile) => ({ ...profile, isLastUsed: profile.uuid === used }));
}

async function readSettings(bus: Bus, { settings }: ProfileCache, path: string): Promise<unknown> {
  const kept = settings.get(path);
  if (kept !== undefined) return kept;
  const [fresh] = await callManager(bus, { path, interface: interfaces.profile, member: 'GetSettings' });
  settings.set(path, fresh);
  return fresh;
}
