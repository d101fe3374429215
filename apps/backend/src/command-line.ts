import { systemClock } from '@station/kit/clock';
import { exitCodeOf, renderReport } from '@station/kit/doctor-decide';
import { nodeDisk } from '@station/kit/durable-files';
import type { Environment } from '@station/kit/env-config';
import { plainJson } from '@station/protocol/plain-text';
import { createAgentClient } from './core/adapters/agent-client.ts';
import { lowerPriority } from './core/adapters/job-process.ts';
import { readAgentPart } from './backup/agent-part.ts';
import { type BackupCommand, isBackupCommand, runBackupCommand } from './backup/backup-command.ts';
import { runBackupProcess } from './backup/run-backup-process.ts';
import { envToConfig, versionOf } from './config.ts';

/** EX_CONFIG of sysexits.h. */
const exitConfigInvalid = 78;

/** Exit code of wrong arguments (sysexits.h, EX_USAGE). */
const exitUsage = 64;

const help = `Usage: station-backend [COMMAND]

Without a command the backend runs. Its configuration is its environment.

Commands:
  backup --to FILE    makes a backup; also while the backend runs. FILE may be a folder
  restore FILE        checks a backup and prepares its data; the next start of the backend takes it
    --part PART       only automations, people, history or device_types; may be repeated
  verify FILE         restores a backup into a scratch folder and removes it
  backups FOLDER      lists the backups in a folder
    --passphrase-file FILE, --passphrase-fd NUMBER   where the passphrase is; without them it is asked for
    --json            progress and result as JSON, one object a line; also without a terminal
  reset-owner         makes a new password for the owner, prints it, ends their sessions and passkeys; also while the backend runs
  doctor              checks this station and changes nothing; exit code 0: all is well, 1: warnings, 2: faults
    --json            the report as one JSON object
    --quick           does not read large databases as a whole
  --help              prints this text
`;

/**
 * Runs what the arguments ask for.
 * @returns the exit code of the process.
 */
export async function runCommandLine(args: readonly string[], env: Environment): Promise<number> {
  const [command, ...options] = args;
  if (command === '--help' && options.length === 0) return print(help, 0);
  if (command === 'doctor' && options.every((option) => option === '--json' || option === '--quick')) {
    return examine(env, { isJson: options.includes('--json'), isQuick: options.includes('--quick') });
  }
  if (command === 'reset-owner' && options.length === 0) return resetOwnersPassword(env);
  if (isBackupCommand(command)) {
    const ended = await handleBackup(command, options, env);
    if (ended !== 'usage') return ended;
  }
  process.stderr.write(`station-backend: unknown arguments: ${args.join(' ')}\n\n${help}`);
  return exitUsage;
}

async function resetOwnersPassword(env: Environment): Promise<number> {
  const reading = envToConfig(env);
  if (!reading.ok) return refuseConfig(reading.problems);
  const { resetOwner } = await import('./people/reset-owner.ts');
  const result = await resetOwner(reading.config.database);
  if (result.kind === 'made') {
    const { email, password } = result;
    const next =
      'Restart the backend, so that nobody stays logged in as the owner; then log in and choose another password.';
    return print(`Address:  ${email}\nPassword: ${password}\n\n${next}\n`, 0);
  }
  process.stderr.write('station-backend: this station has no owner yet. Open the web app and enter the set-up code.\n');
  return 1;
}

function refuseConfig(problems: readonly string[]): number {
  process.stderr.write(`station-backend: ${problems.join('; ')}\n`);
  return exitConfigInvalid;
}

async function handleBackup(command: BackupCommand, options: string[], env: Environment): Promise<number | 'usage'> {
  const reading = envToConfig(env);
  if (!reading.ok) return refuseConfig(reading.problems);
  const { dataDir, database, version, agent, agentToken } = reading.config;
  lowerPriority();
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort(new Error(name)));
  return runBackupCommand(command, options, {
    dataDir,
    isSupported: database.kind === 'sqlite',
    version,
    readAgentPart: () => readAgentPart(createAgentClient(agent, agentToken)),
    run: runBackupProcess,
    clock: systemClock,
    signal: interrupted.signal,
    output: {
      write: (text) => void process.stdout.write(text),
      note: (text) => void process.stderr.write(text),
      isTerminal: process.stderr.isTTY,
    },
  });
}

async function examine(env: Environment, { isJson, isQuick }: { isJson: boolean; isQuick: boolean }): Promise<number> {
  const { examineBackend, reportInvalid } = await import('./doctor/doctor.ts');
  const { quickBytes } = await import('./doctor/doctor-job.ts');
  lowerPriority();
  const clock = systemClock;
  const reading = envToConfig(env);
  const mostBytes = isQuick ? quickBytes : Infinity;
  const report = reading.ok
    ? await examineBackend({ config: reading.config, clock, disk: nodeDisk, mostBytes })
    : await reportInvalid(reading.problems, versionOf(env), clock);
  return print(isJson ? `${plainJson(JSON.stringify(report))}\n` : renderReport(report), exitCodeOf([report.status]));
}

function print(text: string, exitCode: number): number {
  process.stdout.write(text);
  return exitCode;
}
