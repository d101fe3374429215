import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isoTime, type Clock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { plainJson, plainText } from '@station/protocol/plain-text';
import {
  type BackupProgress,
  passphraseMaxLength,
  passphraseMinLength,
  type RestorePart,
  restoreParts,
} from '@station/protocol/backups';
import { fileBytes, isFolder } from './adapters/backup-files.ts';
import { readTexts } from '../core/adapters/sqlite.ts';
import { askSecret, readSecret } from './adapters/terminal.ts';
import { attemptJob, type RunJob } from './attempt-job.ts';
import type { BackupJob, BackupOutcome } from './backup-job.ts';
import { backupFileName, readBackupName } from './backup-name-decide.ts';
import { placesIn } from './backup-places.ts';
import { refusedFor } from './backup-refused.ts';

const commands = ['backup', 'restore', 'verify', 'backups'] as const;
export type BackupCommand = (typeof commands)[number];

export const isBackupCommand = (text: string | undefined): text is BackupCommand =>
  commands.some((command) => command === text);

export type CommandParts = {
  dataDir: string;
  /** False on PostgreSQL. */
  isSupported: boolean;
  version: string;
  readAgentPart: () => Promise<unknown>;
  run: RunJob;
  clock: Clock;
  /** Aborts when somebody interrupts the command. */
  signal: AbortSignal;
  output: {
    /** Results. */
    write(text: string): void;
    /** Progress and problems for people. */
    note(text: string): void;
    isTerminal: boolean;
  };
};

const exitRefused = 1;

/** @returns the exit code: 0 done, 1 refused in words. `usage`: the arguments are wrong. */
export async function runBackupCommand(
  command: BackupCommand,
  args: readonly string[],
  parts: CommandParts,
): Promise<number | 'usage'> {
  const given = readArguments(command, args);
  if (given === null) return 'usage';
  const isJson = given.isJson || !parts.output.isTerminal;
  if (command === 'backups') return listBackups(given.file, isJson, parts);
  const outcome = await doWork(command, given, isJson, parts);
  return report(command, outcome, isJson, parts);
}

type Arguments = { file: string; parts: RestorePart[] | null; secret: Secret; isJson: boolean };
type Secret = { file: string } | { descriptor: number } | null;

function readArguments(command: BackupCommand, args: readonly string[]): Arguments | null {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        to: { type: 'string' },
        part: { type: 'string', multiple: true },
        'passphrase-file': { type: 'string' },
        'passphrase-fd': { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    const files = command === 'backup' ? [values.to, ...positionals] : positionals;
    const chosen = (values.part ?? []).map((name) => restoreParts.find((part) => part === name));
    const [file] = files;
    if (file === undefined || files.length !== 1 || (command !== 'backup' && values.to !== undefined)) return null;
    if (chosen.includes(undefined) || (command !== 'restore' && chosen.length > 0)) return null;
    const secret = readSecretOption(values['passphrase-file'], values['passphrase-fd']);
    if (secret === undefined) return null;
    const known = chosen.filter((part) => part !== undefined);
    return { file, parts: known.length === 0 ? null : known, secret, isJson: values.json };
  } catch {
    // An unknown option.
    return null;
  }
}

/** Undefined: the options contradict each other. */
function readSecretOption(file: string | undefined, descriptor: string | undefined): Secret | undefined {
  if (file !== undefined) return descriptor === undefined ? { file } : undefined;
  if (descriptor === undefined) return null;
  return /^\d{1,4}$/.test(descriptor) ? { descriptor: Number(descriptor) } : undefined;
}

async function doWork(
  command: Exclude<BackupCommand, 'backups'>,
  given: Arguments,
  isJson: boolean,
  { dataDir, isSupported, version, readAgentPart, run, clock, signal, output }: CommandParts,
): Promise<BackupOutcome> {
  if (!isSupported) return refusedFor('not_supported');
  const passphrase = await readPassphrase(command, given.secret);
  if (passphrase === null) return refusedFor('passphrase_short');
  const at = clock.now();
  const { file, parts } = given;
  const jobs: Record<typeof command, () => Promise<BackupJob>> = {
    backup: async () => {
      const to = (await isFolder(file)) ? join(file, nameFor(dataDir, isoTime(at))) : file;
      return { work: 'make', dataDir, to, passphrase, version, at, agent: await readAgentPart() };
    },
    verify: async () => ({ work: 'verify', dataDir, file, passphrase }),
    restore: async () => ({ work: 'restore', dataDir, file, passphrase, at, parts }),
  };
  if (command !== 'backup') await nodeDisk.makeDirectory(dataDir, 0o700);
  else if ((await fileBytes(placesIn(dataDir).database)) === null) return refusedFor('not_readable');
  const onProgress = (progress: BackupProgress): void =>
    isJson ? output.write(`${JSON.stringify({ progress })}\n`) : output.note(`\r\x1b[K${barOf(progress)}`);
  const outcome = await attemptJob(run, await jobs[command](), { onProgress, signal });
  if (!isJson) output.note('\r\x1b[K');
  return outcome;
}

function nameFor(dataDir: string, at: string): string {
  const [station] = readTexts(placesIn(dataDir).database, 'select name from station');
  return backupFileName(station?.['name'] ?? '', at);
}

/** Null: there is none, or it is not long enough for a new backup. */
async function readPassphrase(command: BackupCommand, from: Secret): Promise<string | null> {
  const isNew = command === 'backup';
  const limits = `${passphraseMinLength} to ${passphraseMaxLength} characters`;
  const question = isNew ? `New passphrase of the backup (${limits}): ` : 'Passphrase of the backup: ';
  const given = from === null ? await askSecret(question) : await readSecret(from);
  if (given === null || given === '' || given.length > passphraseMaxLength) return null;
  if (!isNew) return given;
  if (given.length < passphraseMinLength) return null;
  return from !== null || (await askSecret('The same again: ')) === given ? given : null;
}

const barWidth = 30;

function barOf({ phase, doneBytes, totalBytes }: BackupProgress): string {
  if (totalBytes === 0) return phase;
  const share = Math.min(1, doneBytes / totalBytes);
  const full = Math.round(share * barWidth);
  return `${phase.padEnd(9)} [${'#'.repeat(full)}${' '.repeat(barWidth - full)}] ${Math.floor(100 * share)} %`;
}

function report(command: BackupCommand, outcome: BackupOutcome, isJson: boolean, { output }: CommandParts): number {
  if (isJson) output.write(`${plainJson(JSON.stringify({ outcome }))}\n`);
  else output.write(`${plainText(inWords(command, outcome))}\n`);
  return outcome.kind === 'done' ? 0 : exitRefused;
}

function inWords(command: BackupCommand, outcome: BackupOutcome): string {
  if (outcome.kind === 'refused')
    return outcome.cause === null ? outcome.message : `${outcome.message} (${outcome.cause})`;
  const { manifest, bytes } = outcome;
  const what = `${manifest.stationName}, ${manifest.createdAt}, release ${manifest.version}, ${megabytes(bytes)} MB`;
  const missing = manifest.missing.length === 0 ? '' : ` Not included: ${manifest.missing.join(', ')}.`;
  if (command === 'backup') return `The backup is complete (${what}).${missing}`;
  if (command === 'verify') return `The backup can be restored (${what}).${missing}`;
  return `The backup is ready (${what}).${missing} Start the backend, or restart it: it then takes the data. Everybody logs in again.`;
}

const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);

async function listBackups(folder: string, isJson: boolean, { output }: CommandParts): Promise<number> {
  const names = (await nodeDisk.list(folder)).sort();
  for (const name of names) {
    const read = readBackupName(name);
    if (read === null) continue;
    const bytes = await fileBytes(join(folder, name));
    if (isJson) output.write(`${JSON.stringify({ name, madeAt: read.madeAt, bytes })}\n`);
    else output.write(`${read.madeAt}  ${megabytes(bytes ?? 0).padStart(9)} MB  ${name}\n`);
  }
  return 0;
}
