import { type Static, type TSchema, Type } from 'typebox';
import { BackupSettings, type BackupSettingsPut, BackupTrouble } from '@station/protocol/backup-api';
import { Nullable } from '@station/protocol/nullable';

/** What is kept of the settings, encrypted: it holds the passphrase and the log-in of the destination. */
const KeptSettings = Type.Object({
  nightly: Type.Boolean(),
  at: BackupSettings.properties.at,
  keep: BackupSettings.properties.keep,
  /** Mark of the folder (`markFolder`); null: the folder is not used. */
  folderMark: Nullable(Type.String()),
  webdav: Nullable(Type.Object({ url: Type.String(), username: Type.String(), password: Type.String() })),
  passphrase: Nullable(Type.String()),
});
export type KeptSettings = Static<typeof KeptSettings>;

/** Times in epoch milliseconds. */
const NightState = Type.Object({
  /** Start of the last night's work that reached every destination, or when the settings were made. */
  doneAt: Type.Number(),
  triedAt: Type.Number(),
  trouble: Nullable(BackupTrouble),
});
export type NightState = Static<typeof NightState>;

const usual: KeptSettings = {
  nightly: false,
  at: '03:00',
  keep: { daily: 7, weekly: 4 },
  folderMark: null,
  webdav: null,
  passphrase: null,
};

/** The settings of the station, as the composition root hands them in. */
export type SettingsPort = {
  read<T extends TSchema>(key: string, schema: T): Promise<Static<T> | null>;
  write(key: string, value: unknown): Promise<void>;
  readSecret<T extends TSchema>(key: string, schema: T): Promise<Static<T> | null>;
  writeSecret(key: string, value: unknown): Promise<void>;
};

const settingsKey = 'backup';
const stateKey = 'backup_state';

export type BackupSettingsStore = {
  read(): Promise<KeptSettings>;
  write(settings: KeptSettings): Promise<void>;
  readState(): Promise<NightState | null>;
  writeState(state: NightState): Promise<void>;
};

export const createBackupSettings = (settings: SettingsPort): BackupSettingsStore => ({
  read: async () => (await settings.readSecret(settingsKey, KeptSettings)) ?? usual,
  write: (kept) => settings.writeSecret(settingsKey, kept),
  readState: () => settings.read(stateKey, NightState),
  writeState: (state) => settings.write(stateKey, state),
});

/** What people may see of it. */
export function shownSettings({ nightly, at, keep, folderMark, webdav, passphrase }: KeptSettings): BackupSettings {
  return {
    ...{ nightly, at, keep, folder: folderMark !== null },
    webdav: webdav && { url: webdav.url, username: webdav.username },
    hasPassphrase: passphrase !== null,
  };
}

/** An absent password stays as it was while the server stays the same. */
export function changedSettings(kept: KeptSettings, put: BackupSettingsPut, folderMark: string | null): KeptSettings {
  const { nightly, at, keep, webdav } = put;
  const isSameServer = kept.webdav !== null && kept.webdav.url === webdav?.url;
  const password = webdav?.password ?? (isSameServer ? (kept.webdav?.password ?? '') : '');
  return {
    ...{ nightly, at, keep, folderMark },
    webdav: webdav && { url: webdav.url, username: webdav.username, password },
    passphrase: put.passphrase ?? kept.passphrase,
  };
}
