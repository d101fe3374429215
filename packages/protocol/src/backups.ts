import { Type, type Static } from 'typebox';

/**
 * A backup is one file, `station-<name>-<time>.age`: a tar archive, compressed by Zstandard, encrypted by age with a passphrase. So
 * `age -d FILE | zstd -d | tar x` opens it on any computer. Its first entry is `manifest.json`, its last `SHA256SUMS` (ADR 35).
 */

/** A release reads backups up to this format. It changes when older releases could not read them. */
export const backupFormat = 1;
export const backupManifestName = 'manifest.json';
/** As `sha256sum -c` reads it: all files but the manifest, in their order. */
export const backupSumsName = 'SHA256SUMS';
/** The shortest passphrase that a new backup may have. */
export const passphraseMinLength = 12;
export const passphraseMaxLength = 256;

const BackupFile = Type.Object({
  name: Type.String({ description: 'Path inside the archive.', maxLength: 300 }),
  bytes: Type.Integer({ minimum: 0, maximum: 2 ** 44 }),
});
export type BackupFile = Static<typeof BackupFile>;

const MigrationName = Type.String({ pattern: '^[0-9a-z-]{1,100}$' });

/** Further keys of a newer release are ignored. */
export const BackupManifest = Type.Object(
  {
    format: Type.Integer({ minimum: 1 }),
    stationId: Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
    stationName: Type.String({ maxLength: 200 }),
    createdAt: Type.String({
      description: 'ISO 8601, UTC.',
      pattern: '^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?Z$',
    }),
    version: Type.String({ description: 'Release that made the backup.', pattern: '^[0-9A-Za-z.+_-]{1,128}$' }),
    migrations: Type.Array(MigrationName, { description: 'Migrations of the database.', maxItems: 1_000 }),
    knownMigrations: Type.Array(MigrationName, {
      description: 'Migrations that the release knew that made the backup.',
      maxItems: 1_000,
    }),
    rows: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), { description: 'Rows of each table.' }),
    files: Type.Array(BackupFile, { maxItems: 2_000 }),
    missing: Type.Array(Type.String({ maxLength: 300 }), {
      maxItems: 10_000,
      description: 'What could not be included: `agent`, or the name of a file whose name is too long.',
    }),
  },
  { additionalProperties: true },
);
export type BackupManifest = Static<typeof BackupManifest>;

/** What can be restored alone; each replaces what the station has of it. */
export const restoreParts = ['automations', 'people', 'history', 'device_types'] as const;
export const RestorePart = Type.Enum([...restoreParts]);
export type RestorePart = Static<typeof RestorePart>;

/** What is being done with a backup. */
export const BackupProgress = Type.Object({
  work: Type.Enum(['make', 'verify', 'restore', 'inspect']),
  phase: Type.Enum(['checking', 'packing', 'unpacking']),
  doneBytes: Type.Integer({ minimum: 0 }),
  totalBytes: Type.Integer({ minimum: 0, description: 'Of this phase; 0: not known yet.' }),
});
export type BackupProgress = Static<typeof BackupProgress>;

/** Why something was not done with a backup, and what helps. A page has its own texts by these names. */
export const backupRefusals = {
  passphrase_wrong: 'The passphrase is wrong, or the beginning of the file was altered.',
  passphrase_short: `The passphrase needs ${passphraseMinLength} to ${passphraseMaxLength} characters.`,
  not_recognised: 'This is not a backup of a station. Choose a file whose name ends in .age.',
  incomplete: 'The end of the backup is missing or was altered. Copy the file again from where it came.',
  damaged: 'The backup was altered or damaged. Use another copy of it, or another backup.',
  foreign_schema:
    'The database of this backup has parts that no release of a station makes. Nothing of it was used. Use another backup.',
  not_accepted:
    'The backup has an id, a key or a file that a station does not accept. Nothing of it was used. Use another backup.',
  unconfirmed:
    'The backup is of another station, or of another time than its name says. Confirm that, or use another backup.',
  too_slow: 'It took too long and was ended. Nothing was changed. Try again, or use another backup.',
  too_new: 'A newer release made this backup. Update this station, then restore it.',
  database_damaged: 'The database of this station is damaged. Restart the station: the start repairs it.',
  no_space: 'There is not enough free space. Free some and try again.',
  too_large: 'The disk cannot hold a file of this size: FAT32 ends at 4 GB. Format it as exFAT or ext4.',
  running: 'Another backup is being made, checked or restored. Wait until it has ended.',
  cancelled: 'It was cancelled. Nothing was changed.',
  not_supported: 'A station on PostgreSQL is backed up with pg_dump, not here.',
  not_readable: 'The file cannot be read. Check that it exists and that the station may read it.',
  not_writable: 'The file cannot be written. Check that the folder exists and that the station may write to it.',
  failed: 'It failed for an unexpected reason. The log of the station has it.',
} as const;
export type BackupRefusal = keyof typeof backupRefusals;
