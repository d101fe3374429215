import { realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type CommandOptions, type CommandResult, runCommand } from '@station/kit/command';
import { type Disk, exists, writeDurable } from '@station/kit/durable-files';
import { parseJson } from '@station/kit/json';
import { StationError } from '@station/kit/station-error';
import { ownValue } from '@station/protocol/own-value';
import { readOperatorFiles, valuesOf, withComposeFiles } from './compose-env.ts';

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

type Project = {
  name: string;
  /** Its services, without those in profiles that are off and those without replicas. */
  running: string[];
  declared: string[];
  /** Of its services, each once. */
  images: string[];
};

/** Compose v2 of one project, called without a shell and without secrets in its arguments. */
export type Compose = {
  /**
   * Makes a bare `docker compose` in the project folder read the agent's override, by COMPOSE_FILE in the project's own
   * environment file. False when that file cannot be written.
   */
  link(): Promise<boolean>;
  /** Changes when a file of the project changes (its own files, not included ones). */
  version(): Promise<string>;
  /**
   * Name, services and their images as Compose itself resolves them.
   * @throws StationError `compose_project_unreadable`, with Compose's reason in its message, when they are not valid or there is no
   * Compose; `unavailable` when Compose does not answer.
   */
  describe(signal: AbortSignal): Promise<Project>;
  up(signal: AbortSignal): Promise<CommandResult>;
};

/** Long enough for a slow SD card; a Compose process that hangs is killed after it. */
const upTimeoutMs = 10 * 60_000;
const describeTimeoutMs = 60_000;

const ConfigOutput = Type.Object({
  name: Type.String(),
  services: Type.Record(
    Type.String(),
    Type.Object({
      image: Type.Optional(Type.String()),
      scale: Type.Optional(Type.Number()),
      deploy: Type.Optional(Type.Object({ replicas: Type.Optional(Type.Number()) })),
    }),
  ),
});

export function createCompose(parts: ComposeParts): Compose {
  const run: RunCompose = async (args, signal) => {
    // Before the first settled state the override does not exist, and Compose fails for a missing file.
    const present = await exists(parts.overridePath);
    const files = (await composeFiles(parts)).files.filter((file) => present || file !== parts.overridePath);
    return runDocker(parts.program, ['compose', ...args], {
      cwd: parts.projectPath,
      keptBytes: 4 * 1024 * 1024,
      env: { ...parts.env, COMPOSE_FILE: files.join(':'), COMPOSE_PATH_SEPARATOR: ':' },
      abort: signal,
    });
  };
  return {
    link: () => link(parts),
    version: () => filesVersion(parts),
    describe: (signal) => describeProject(parts, run, signal),
    // Compose never pulls pinned images, but a service without a pin may lack its image.
    up: async (signal) =>
      run(
        ['up', '--detach', '--no-build', '--quiet-pull'],
        AbortSignal.any([signal, AbortSignal.timeout(upTimeoutMs)]),
      ),
  };
}

async function link(parts: ComposeParts): Promise<boolean> {
  const named = join(parts.projectPath, '.env');
  try {
    const text = await readEnv(parts);
    const { files, isOwn } = await composeFiles(parts);
    const wanted = withComposeFiles(text, files, isOwn);
    if (wanted === text) return true;
    // The file belongs to the operator: keep its owner, mode and place, even behind a symbolic link.
    const path = (await exists(named)) ? await realpath(named) : null;
    const found = await stat(path ?? parts.projectPath);
    const mode = path === null ? 0o600 : found.mode & 0o777;
    await writeDurable(parts.disk, path ?? named, Buffer.from(wanted, 'latin1'), mode, {
      uid: found.uid,
      gid: found.gid,
    });
    return true;
  } catch {
    return false;
  }
}

async function filesVersion(parts: ComposeParts): Promise<string> {
  const named = (await composeFiles(parts)).files.filter((file) => file !== parts.overridePath);
  const files = ['.env', ...named].map((file) => resolve(parts.projectPath, file));
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return files
    .map((file, index) => `${file} ${stats[index]?.mtimeMs ?? 'absent'} ${stats[index]?.size ?? 0}`)
    .join('\n');
}

type RunCompose = (args: readonly string[], signal: AbortSignal) => Promise<CommandResult>;

async function describeProject(parts: ComposeParts, run: RunCompose, signal: AbortSignal): Promise<Project> {
  const timeout = AbortSignal.timeout(describeTimeoutMs);
  const bounded = AbortSignal.any([signal, timeout]);
  try {
    const result = await run(['config', '--format', 'json'], bounded);
    // Killed from outside, for example for lack of memory: this is no fault of the project.
    if (result.exitCode === null) throw new StationError('unavailable', 'Docker Compose was killed');
    const parsed = result.exitCode === 0 ? parseJson(result.stdout) : null;
    if (Value.Check(ConfigOutput, parsed)) {
      const { name, services } = parsed;
      const images = Object.values(services).flatMap(({ image }) => image ?? []);
      const running = Object.keys(services).filter((service) => (replicasOf(ownValue(services, service)) ?? 1) > 0);
      const declared = [...new Set([...Object.keys(services), ...(await allServices(run, bounded))])];
      return { name, running, declared, images: [...new Set(images)] };
    }
    // Run it outside the project folder: inside, Compose would fail because of a broken `.env`.
    const about = { cwd: '/', env: parts.env, abort: bounded };
    const version = await runDocker(parts.program, ['compose', 'version'], about);
    if (version.exitCode !== 0) throw unreadable('the Compose plugin of Docker is missing');
    throw unreadable(describeFault(result.stderr, await readEnv(parts)));
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    throw new StationError('unavailable', 'Docker Compose did not finish in time', { cause: error });
  }
}

type ConfiguredService = Static<typeof ConfigOutput>['services'][string];

const replicasOf = (service: ConfiguredService | undefined): number | undefined =>
  service?.scale ?? service?.deploy?.replicas;

/** Also the services in profiles that are off. None when they cannot be read: variables that they need may be unset. */
async function allServices(run: RunCompose, signal: AbortSignal): Promise<string[]> {
  const result = await run(['--profile', '*', 'config', '--services'], signal);
  return result.exitCode === 0 ? result.stdout.split('\n').filter((line) => line !== '') : [];
}

async function runDocker(program: string, args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  try {
    return await runCommand(program, args, options);
  } catch (error) {
    options.abort?.throwIfAborted();
    // The program or the folder is missing: unlike a lack of memory, this needs a person.
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes(code)) {
      throw unreadable(`the docker program cannot be started in its folder (${code})`, error);
    }
    throw new StationError('unavailable', 'the docker program cannot be started', { cause: error });
  }
}

const unreadable = (reason: string, cause?: unknown): StationError =>
  new StationError('compose_project_unreadable', `The compose project of the stack cannot be read: ${reason}`, {
    cause,
  });

/** The project's environment file, one character per byte, so that all content is written back unchanged. Empty when missing. */
async function readEnv({ disk, projectPath }: ComposeParts): Promise<string> {
  try {
    return Buffer.from((await disk.read(join(projectPath, '.env'))) ?? []).toString('latin1');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw unreadable(`its .env cannot be read (${code})`, error);
  }
}

/** The files of the project in order: what the operator named (or Compose's default), and the agent's override last. */
async function composeFiles(parts: ComposeParts): Promise<{ files: string[]; isOwn: boolean }> {
  const { projectPath, composeFile, overridePath } = parts;
  const named = readOperatorFiles(await readEnv(parts), overridePath);
  const own = [composeFile, ...(await defaultOverride(projectPath, composeFile)), overridePath];
  if (named === null || named.join('\0') === own.join('\0')) return { files: own, isOwn: true };
  return { files: named.includes(overridePath) ? named : [...named, overridePath], isOwn: false };
}

/** The override file that Compose reads automatically beside a file of this name. */
async function defaultOverride(projectPath: string, composeFile: string): Promise<string[]> {
  const match = /^(docker-compose|compose)\.ya?ml$/.exec(composeFile);
  if (!match) return [];
  for (const ending of ['yml', 'yaml']) {
    const name = `${match[1] as string}.override.${ending}`;
    if (await exists(join(projectPath, name))) return [name];
  }
  return [];
}

/** How long a fault is cached: requests to a broken station must not start a program each time. */
const faultKeptMs = 10_000;

/**
 * Reads the project, and runs Compose only when its files have changed, because Compose is the slowest part of a check. With
 * `evenIfOld` a cached result is enough.
 * @param now wall clock, milliseconds.
 */
export function createProjectReader(compose: Pick<Compose, 'describe' | 'version'>, now: () => number) {
  let read: { version: string; project: Project } | null = null;
  let fault: { version: string; error: unknown; at: number } | null = null;
  let asking: { version: string; answer: Promise<Project> } | null = null;

  const ask = async (version: string): Promise<Project> => {
    try {
      const project = await compose.describe(new AbortController().signal);
      read = { version, project };
      fault = null;
      return project;
    } catch (error) {
      fault = { version, error, at: now() };
      throw error;
    } finally {
      asking = null;
    }
  };

  return async ({ evenIfOld }: { evenIfOld: boolean }): Promise<Project> => {
    if (read && evenIfOld) return read.project;
    const version = await compose.version();
    if (read?.version === version) return read.project;
    if (fault?.version === version && Math.abs(now() - fault.at) < faultKeptMs) throw fault.error;
    if (asking?.version !== version) asking = { version, answer: ask(version) };
    return asking.answer;
  };
}

const longestReason = 300;
/** Shorter values are not redacted: they are numbers or common words. */
const shortestSecret = 6;

/**
 * Compose's error about an unreadable project as one line for people: without values of the environment file, quoted text
 * (Compose quotes the faulty text, which may be a secret) and folders of this machine. Names of services stay.
 * @param env the environment file, one character per byte.
 */
export function describeFault(stderr: string, env: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(time=|WARN)/.test(line));
  // The lines after the first quote the file, unless the first line only begins a list.
  let text = lines.find((line) => !line.endsWith(':')) ?? 'Compose gave no reason';
  if (lines[0]?.endsWith(':')) text = `${lines[0]} ${text}`;
  for (const value of valuesOf(env).sort((a, b) => b.length - a.length)) {
    if (value.length >= shortestSecret) text = text.replaceAll(Buffer.from(value, 'latin1').toString('utf8'), '…');
  }
  return text
    .replaceAll(/(\b(?:service|network|volume|secret|config) )?"(?:\\.|[^"\\])*(?:"|$)/g, (found, kind) =>
      kind ? found : '"…"',
    )
    .replaceAll(/(?<![a-z])'[^']*'/g, "'…'")
    .replaceAll(/`[^`]*`/g, '`…`')
    .replaceAll(/(?<![\w.:/])\/(?:[^\s/:"'`]+\/)*/g, '')
    .slice(0, longestReason);
}
