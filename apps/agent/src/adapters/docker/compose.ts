import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { runCommand, type CommandOptions, type CommandResult } from '@station/kit/command';
import { exists, readText, writeDurable, type Disk } from '@station/kit/files';
import { StationError } from '@station/kit/station-error';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

export type ComposeParts = {
  disk: Disk;
  /** The `docker` program; Compose v2 is its plugin. */
  program: string;
  projectPath: string;
  /** COMPOSE_FILE of the agent's configuration: the stack's own file. */
  composeFile: string;
  /** The override that pins the installed release. */
  overridePath: string;
  /** Environment of the child: PATH, HOME, DOCKER_HOST. */
  env: Record<string, string>;
};

export type Project = { name: string; services: string[] };

/** Compose v2 of one project, called without a shell and without secrets in its arguments. */
export type Compose = {
  /**
   * Makes a bare `docker compose` in the project folder read the agent's override, by COMPOSE_FILE in the project's own
   * environment file. False when that file cannot be written.
   */
  link(): Promise<boolean>;
  /** Changes when a file of the project does (its own files; not what they include). */
  version(): Promise<string>;
  /** Name and services as Compose itself resolves them. @throws StationError `unavailable` when the project is not valid. */
  describe(signal: AbortSignal): Promise<Project>;
  up(signal: AbortSignal): Promise<CommandResult>;
};

/** A slow SD card starts containers slowly; a Compose that hangs must still come to an end. */
const upTimeoutMs = 10 * 60_000;
const describeTimeoutMs = 60_000;

const ConfigOutput = Type.Object({ name: Type.String(), services: Type.Record(Type.String(), Type.Unknown()) });

export function createCompose(parts: ComposeParts): Compose {
  const run = async (args: readonly string[], signal: AbortSignal, timeoutMs: number): Promise<CommandResult> => {
    // Before the first settled state there is no override yet, and Compose takes a missing file as an error.
    const present = await exists(parts.overridePath);
    const files = (await composeFiles(parts)).filter((file) => present || file !== parts.overridePath);
    return runDocker(parts.program, ['compose', ...args], {
      cwd: parts.projectPath,
      keptBytes: 4 * 1024 * 1024,
      env: { ...parts.env, COMPOSE_FILE: files.join(':'), COMPOSE_PATH_SEPARATOR: ':' },
      abort: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
  };
  return {
    link: async () => {
      const path = join(parts.projectPath, '.env');
      const text = (await readText(parts.disk, path)) ?? '';
      const wanted = withComposeFiles(text, await composeFiles(parts));
      if (wanted === text) return true;
      try {
        // The file is the operator's: it keeps its owner and mode.
        const found = (await exists(path)) ? await stat(path) : null;
        const owner = found ?? (await stat(parts.projectPath));
        await writeDurable(parts.disk, path, wanted, found ? found.mode & 0o777 : 0o600, {
          uid: owner.uid,
          gid: owner.gid,
        });
        return true;
      } catch {
        return false;
      }
    },
    version: async () => {
      const named = (await composeFiles(parts)).filter((file) => file !== parts.overridePath);
      const files = ['.env', ...named].map((file) => resolve(parts.projectPath, file));
      const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
      return files
        .map((file, index) => `${file} ${stats[index]?.mtimeMs ?? 'absent'} ${stats[index]?.size ?? 0}`)
        .join('\n');
    },
    describe: async (signal) => {
      const result = await run(['config', '--format', 'json'], signal, describeTimeoutMs);
      const parsed = result.exitCode === 0 ? parseJson(result.stdout) : null;
      if (!Value.Check(ConfigOutput, parsed)) {
        const cause = new Error(result.stderr.trim().slice(-500));
        throw new StationError('unavailable', 'the compose project of the stack cannot be read', { cause });
      }
      return { name: parsed.name, services: Object.keys(parsed.services) };
    },
    // Images that the override pins are never pulled; a service of the stack's own file may still be missing its image.
    up: async (signal) => run(['up', '--detach', '--no-build', '--quiet-pull'], signal, upTimeoutMs),
  };
}

async function runDocker(program: string, args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  try {
    return await runCommand(program, args, options);
  } catch (error) {
    options.abort?.throwIfAborted();
    throw new StationError('unavailable', 'the docker program cannot be started', { cause: error });
  }
}

/** The files of the project in order: what the operator named (or Compose's default), and the agent's override last. */
async function composeFiles({ disk, projectPath, composeFile, overridePath }: ComposeParts): Promise<string[]> {
  const text = (await readText(disk, join(projectPath, '.env'))) ?? '';
  const named = readComposeFiles(text);
  const files = named ?? [composeFile, ...(await defaultOverride(projectPath, composeFile))];
  return files.includes(overridePath) ? files : [...files, overridePath];
}

/** The override file that Compose would read by itself beside a file of this name. */
async function defaultOverride(projectPath: string, composeFile: string): Promise<string[]> {
  const match = /^(docker-compose|compose)\.ya?ml$/.exec(composeFile);
  if (!match) return [];
  for (const ending of ['yml', 'yaml']) {
    const name = `${match[1] as string}.override.${ending}`;
    if (await exists(join(projectPath, name))) return [name];
  }
  return [];
}

const composeFileLine = /^[ \t]*(?:export[ \t]+)?COMPOSE_FILE[ \t]*=[ \t]*(.*)$/gm;
const separatorLine = /^[ \t]*(?:export[ \t]+)?COMPOSE_PATH_SEPARATOR[ \t]*=[ \t]*["']?(.)["']?[ \t]*$/m;

/** Compose files that an environment file names; null when it names none. */
export function readComposeFiles(text: string): string[] | null {
  const last = [...text.matchAll(composeFileLine)].at(-1);
  const value = last?.[1]?.trim().replace(/^(["'])(.*)\1$/, '$2');
  if (value === undefined || value === '') return null;
  return value.split(separatorLine.exec(text)?.[1] ?? ':').filter((file) => file !== '');
}

/** The environment file with the compose files set; every other line stays as it is. */
export function withComposeFiles(text: string, files: readonly string[]): string {
  const found = readComposeFiles(text);
  if (found && found.join('\0') === files.join('\0')) return text;
  const line = `COMPOSE_FILE=${files.join(separatorLine.exec(text)?.[1] ?? ':')}`;
  const rest = text.replaceAll(composeFileLine, '').replace(/\n+$/, '\n');
  return `${rest}${rest === '' || rest.endsWith('\n') ? '' : '\n'}${line}\n`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
