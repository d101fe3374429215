import { Type, type Static } from 'typebox';
import { BackupProgress, passphraseMaxLength, passphraseMinLength, RestorePart } from './backups.ts';
import { Nullable } from './nullable.ts';
import { Time } from './rest.ts';
import { timeOfDay } from './text-fields.ts';

/** Bodies of `/api/backup` and `/api/setup/backup` (contracts, section 9). */

const closed = { additionalProperties: false };

const backupPlaces = ['station', 'folder', 'webdav'] as const;
export const BackupPlace = Type.Enum([...backupPlaces], {
  description: 'station: the disk of the station itself. folder: BACKUP_DIR. webdav: off-site.',
});
export type BackupPlace = Static<typeof BackupPlace>;

/** Why a destination could not be used. */
const backupFaults = [
  /** BACKUP_DIR is not there, or not the disk that was chosen. */
  'not_mounted',
  'not_writable',
  'no_space',
  /** More than its file system takes in one file: 4 GiB on FAT32. */
  'too_large',
  /** Of WebDAV, from here on to `failed`. It was not reached in time, or not at all. */
  'unreachable',
  /** No address is known for its name. */
  'host_unknown',
  'login_refused',
  /** The log-in is right, but the account may not do this here. */
  'forbidden',
  /** The folder is not there, and cannot be made. */
  'not_found',
  /** It answers, but not as a WebDAV server. */
  'not_webdav',
  /** It names another origin, such as https in place of http. */
  'redirected',
  'certificate',
  /** HTTPS at a port that has none. */
  'no_tls',
  /** HTTPS that is too old or too weak. */
  'old_tls',
  'name_refused',
  /** Larger than the server, or a proxy in front of it, takes in one file. */
  'size_limit',
  'locked',
  /** Too many requests, or maintenance. */
  'server_busy',
  'server_failed',
  /** A proxy in front of the server does not reach it. */
  'proxy',
  /** What was read back is not what was written. */
  'altered',
  /** Neither its listing nor an answer to HEAD has the size of a file. */
  'no_sizes',
  'failed',
] as const;
export const BackupFault = Type.Enum([...backupFaults]);
export type BackupFault = Static<typeof BackupFault>;

/** `PLACE:FILE` of a stored backup. */
export const BackupId = Type.String({
  pattern: '^(station|folder|webdav):station-[a-z0-9-]{1,60}-[0-9]{8}T[0-9]{6}Z\\.age$',
  expected: 'the id of a backup, from the list of backups',
});

export const StoredBackupView = Type.Object({
  id: BackupId,
  place: BackupPlace,
  name: Type.String(),
  bytes: Type.Integer(),
  madeAt: Time,
  verifiedAt: Nullable(Time),
});
export type StoredBackupView = Static<typeof StoredBackupView>;

const KeepCount = Type.Integer({ minimum: 0, maximum: 365 });
export const BackupKeep = Type.Object({ daily: Type.Integer({ minimum: 1, maximum: 365 }), weekly: KeepCount }, closed);
const WebdavUrl = Type.String({
  minLength: 1,
  maxLength: 1000,
  description: 'Of a folder, as people type it: blanks and letters of any language need no escapes.',
});

export const BackupSettings = Type.Object({
  nightly: Type.Boolean(),
  at: Type.String({
    ...timeOfDay,
    description: 'Time of day in the time zone of the station.',
  }),
  keep: BackupKeep,
  folder: Type.Boolean({ description: 'Backups go to BACKUP_DIR.' }),
  webdav: Nullable(Type.Object({ url: Type.String(), username: Type.String() })),
  hasPassphrase: Type.Boolean({ description: 'The passphrase itself never leaves the station.' }),
});
export type BackupSettings = Static<typeof BackupSettings>;

const NewPassphrase = Type.String({ minLength: passphraseMinLength, maxLength: passphraseMaxLength });

export const WebdavServerPut = Type.Object(
  {
    url: WebdavUrl,
    username: Type.String({ maxLength: 200 }),
    password: Type.Optional(Type.String({ maxLength: 500 })),
  },
  closed,
);

/**
 * PUT /api/backup/settings. An absent passphrase or password stays as it is. What is off-site is tried: what is wrong is in `faults` of the
 * answer, and the settings are stored all the same.
 */
export const BackupSettingsPut = Type.Object(
  {
    nightly: Type.Boolean(),
    at: BackupSettings.properties.at,
    keep: BackupKeep,
    folder: Type.Boolean(),
    webdav: Nullable(WebdavServerPut),
    passphrase: Type.Optional(NewPassphrase),
  },
  closed,
);
export type BackupSettingsPut = Static<typeof BackupSettingsPut>;

export const BackupTrouble = Type.Object({
  at: Time,
  place: Nullable(BackupPlace),
  reason: Type.String({ description: 'A `BackupFault` where `place` is given, else a `BackupRefusal`.' }),
});
export type BackupTrouble = Static<typeof BackupTrouble>;

export const BackupView = Type.Object({
  settings: BackupSettings,
  backups: Type.Array(StoredBackupView, { description: 'Newest first.' }),
  faults: Type.Array(Type.Object({ place: BackupPlace, reason: BackupFault }), {
    description: 'Destinations whose files cannot be listed now, or where no backup could be kept when that was tried.',
  }),
  folder: Type.Enum(['unset', 'ready', 'not_mounted', 'not_writable'], { description: 'What BACKUP_DIR is now.' }),
  isWorking: Type.Boolean({ description: 'A backup is being made, checked and sent.' }),
  progress: Nullable(BackupProgress),
  /** Where a finished backup is being copied to. */
  sending: Nullable(BackupPlace),
  trouble: Nullable(BackupTrouble),
  nextAt: Nullable(Time),
  isSupported: Type.Boolean({ description: 'False on PostgreSQL.' }),
});
export type BackupView = Static<typeof BackupView>;

/** POST /api/backup. Without a passphrase the stored one is used. */
export const BackupMake = Type.Object({ passphrase: Type.Optional(NewPassphrase) }, closed);
/** POST /api/backup/:id/link. The address works once, for a minute. */
export const BackupLink = Type.Object({ path: Type.String(), expiresAt: Time });
export type BackupLink = Static<typeof BackupLink>;

const FileName = Type.String({
  maxLength: 300,
  description: 'Of the file; the time in it is compared with that of the backup.',
});
export const UploadStart = Type.Object(
  { bytes: Type.Integer({ minimum: 1, maximum: 2 ** 44 }), name: Type.Optional(FileName) },
  closed,
);
export const SetupUploadStart = Type.Object(
  {
    bytes: UploadStart.properties.bytes,
    name: UploadStart.properties.name,
    code: Type.String({ minLength: 1, maxLength: 64 }),
  },
  closed,
);
/** POST /api/setup/backup/found → UploadStarted: takes the backup that GET /api/auth/setup names as an upload that is complete. */
export const SetupFound = Type.Object({ code: Type.String({ minLength: 1, maxLength: 64 }) }, closed);
export const UploadId = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', expected: 'the id of an upload' });
export const UploadStarted = Type.Object({ id: UploadId });
export type UploadStarted = Static<typeof UploadStarted>;
export const UploadState = Type.Object({ received: Type.Integer({ description: 'Bytes.' }) });

const Passphrase = Type.String({ minLength: 1, maxLength: passphraseMaxLength });
/** What must be confirmed before a restore, because the file is not what its name or its place says. */
export const RestoreDoubt = Type.Enum(['other_station', 'older_than_name', 'newer_than_name'], {
  description:
    'other_station: it was made by another station. older_than_name, newer_than_name: it was made at another time than the name of its file says.',
});
export type RestoreDoubt = Static<typeof RestoreDoubt>;
const AcceptedDoubts = Type.Array(RestoreDoubt, {
  maxItems: 10,
  description: 'Doubts that the person knows of. Others refuse the restore with the reason `unconfirmed`.',
});

/** POST /api/backup/inspect: reads who made a backup, and when; nothing is restored. */
export const InspectRequest = Type.Object(
  { upload: Type.Optional(UploadId), backup: Type.Optional(BackupId), passphrase: Passphrase },
  closed,
);
export const SetupInspectRequest = Type.Object({ upload: UploadId, passphrase: Passphrase }, closed);
export const BackupInspection = Type.Object({
  stationId: Type.String(),
  stationName: Type.String(),
  createdAt: Time,
  version: Type.String({ description: 'Release that made it.' }),
  doubts: Type.Array(RestoreDoubt),
});
export type BackupInspection = Static<typeof BackupInspection>;

/** POST /api/backup/restore: an upload, or a stored backup. */
export const RestoreRequest = Type.Object(
  {
    upload: Type.Optional(UploadId),
    backup: Type.Optional(BackupId),
    passphrase: Passphrase,
    parts: Type.Optional(Type.Array(RestorePart, { minItems: 1, maxItems: 10, uniqueItems: true })),
    accept: Type.Optional(AcceptedDoubts),
  },
  closed,
);
export type RestoreRequest = Static<typeof RestoreRequest>;
export const SetupRestoreRequest = Type.Object(
  { upload: UploadId, passphrase: Passphrase, accept: Type.Optional(AcceptedDoubts) },
  closed,
);

/** The backup was checked completely; the station starts again with it. */
export const RestoreAnswer = Type.Object({
  stationId: Type.String(),
  stationName: Type.String(),
  createdAt: Time,
  missing: Type.Array(Type.String()),
});
export type RestoreAnswer = Static<typeof RestoreAnswer>;
