import { type Static, type TSchema, Type } from 'typebox';
import { StationError } from '@station/kit/station-error';
import { BackupSettings, type BackupSettingsPut, BackupTrouble } from '@station/protocol/backup-api';
import { Nullable } from '@station/protocol/nullable';
import { readWebdavAddress, shownWebdavAddress } from './webdav-address-decide.ts';

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
  read: async () => asKeptNow((await settings.readSecret(settingsKey, KeptSettings)) ?? usual),
  write: (kept) => settings.writeSecret(settingsKey, kept),
  readState: () => settings.read(stateKey, NightState),
  writeState: (state) => settings.write(stateKey, state),
});

/** Earlier releases kept an address as it was typed. */
function asKeptNow(kept: KeptSettings): KeptSettings {
  const { webdav } = kept;
  const url = webdav === null ? undefined : readWebdavAddress(webdav.url)?.url;
  return webdav === null || url === undefined ? kept : { ...kept, webdav: { ...webdav, url } };
}

/** What people may see of it. */
export function shownSettings({ nightly, at, keep, folderMark, webdav, passphrase }: KeptSettings): BackupSettings {
  return {
    nightly,
    at,
    keep,
    folder: folderMark !== null,
    webdav: webdav && { url: shownWebdavAddress(webdav.url), username: webdav.username },
    hasPassphrase: passphrase !== null,
  };
}

/** An absent password stays as it was while the server stays the same. @throws StationError validation_failed. */
export function changedSettings(kept: KeptSettings, put: BackupSettingsPut, folderMark: string | null): KeptSettings {
  return {
    nightly: put.nightly,
    at: put.at,
    keep: put.keep,
    folderMark,
    webdav: put.webdav && changedServer(kept.webdav, put.webdav),
    passphrase: put.passphrase ?? kept.passphrase,
  };
}

function changedServer(
  kept: KeptSettings['webdav'],
  put: NonNullable<BackupSettingsPut['webdav']>,
): KeptSettings['webdav'] {
  const address = readWebdavAddress(put.url);
  if (address === null)
    throw new StationError('validation_failed', 'An address of a WebDAV folder begins with https:// or http://.', {
      details: {
        faults: [{ in: 'body', pointer: '/webdav/url', message: 'is no address that begins with https:// or http://' }],
      },
    });
  const { url } = address;
  const stays = kept !== null && kept.url === url ? kept.password : '';
  // A log-in that was typed into the address counts where its fields are empty; it is never shown as a part of it.
  if (put.username === '' && address.username !== null)
    return { url, username: address.username, password: put.password ?? address.password ?? stays };
  return { url, username: put.username, password: put.password ?? stays };
}
