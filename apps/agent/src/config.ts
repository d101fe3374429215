import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { describeError } from '@station/kit/station-error';
import { exists, nodeDisk, readText } from '@station/kit/durable-files';
import { logLevels, type LogLevel } from '@station/kit/logger';
import { parseEnvFile } from './config/env-file.ts';
import { parseMaintenanceWindow, type MaintenanceWindow } from './config/maintenance-window.ts';
import { createReader, variableNames, type Environment, type Reader } from './config/reader.ts';
import * as check from './config/values.ts';
import { readWifi, type WifiConfig } from './config/wifi.ts';
import type { Check, SigningKey } from './config/values.ts';

/** The agent's configuration (specification, "Agent configuration"; contracts, section 3). Paths are absolute, times are ms. */
export type Config = {
  readonly stationId: string;
  readonly dataDir: string;
  readonly logLevel: LogLevel;
  readonly release: {
    readonly manifestUrl: URL;
    readonly publicKey: SigningKey | null;
    readonly checkIntervalMs: number;
    readonly autoUpdate: boolean;
    /** Null, the default: automatic updates as soon as a release is found, as the specification has it. */
    readonly maintenanceWindow: MaintenanceWindow | null;
    readonly keepReleases: number;
  };
  readonly stack: {
    readonly engine: 'docker' | 'process';
    readonly projectPath: string;
    /** File name inside `projectPath`. */
    readonly composeFile: string;
    readonly bootstrapOnStart: boolean;
    readonly backendContainer: string;
    readonly frontendContainer: string;
    readonly reverseProxyService: string;
    readonly dockerSocket: string;
    /** Name on PATH or absolute path. */
    readonly dockerProgram: string;
    /** `host` or `host:port`; null: the engine's default. */
    readonly registry: string | null;
    readonly registryCredentials: { readonly username: string; readonly password: string } | null;
    /** Folder with the images of `engine: 'process'`. */
    readonly processDir: string | null;
  };
  readonly health: { readonly url: URL; readonly stabilizationMs: number; readonly timeoutMs: number };
  readonly firmware: {
    readonly manifestUrl: URL;
    readonly cacheDir: string;
    /** URL path under which the reverse proxy serves `cacheDir`. */
    readonly folder: string;
    readonly checkIntervalMs: number;
    readonly maxBytes: number;
  };
  readonly backend: { readonly url: URL; readonly agentToken: string | null };
  readonly api: {
    readonly host: string;
    /** Port 0 takes a free one. */
    readonly port: number;
    readonly socketPath: string | null;
    readonly token: string | null;
  };
  readonly wifi: WifiConfig;
  readonly systemd: {
    /** Where the service manager listens for notices (sd_notify(3)); null: there is none. */
    readonly notifySocket: string | null;
    /** The service manager restarts the agent when no sign of life comes for this long; null: it does not watch. */
    readonly watchdogMs: number | null;
  };
  /** The environment that programs started by the agent get, before what they need beyond. */
  readonly childEnv: Readonly<Record<string, string>>;
  /** Values that must never appear in a log line. */
  readonly secrets: readonly string[];
};

export type ConfigReading =
  | { kind: 'ok'; config: Config; warnings: string[] }
  /** Each problem names a variable and what it has to be; never its value. */
  | { kind: 'invalid'; problems: string[]; warnings: string[] };

/** What defaults are derived from. */
export type Defaults = { homeDirectory: string; hostname: string; pid: number };

const intervalMinutes = check.duration(60_000, 0.01, 43_200);
const defaultIntervalMs = 60 * 60_000;
const name = check.matching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/, 'be a name of letters, digits, "_", "." and "-"');
const webUrl = check.url(['https', 'http']);
const manifestUrl = check.url(['https', 'http', 'file']);
/** Below this a token can be guessed by trying. */
const shortTokenLength = 16;

/**
 * Reads the environment file (none is no fault) and the process environment, which wins over it. The only place of the agent
 * that looks at its environment. Never throws.
 * @param envFile path; by default `.env` in `directory`, where the executable is.
 */
export async function loadConfig(options: { envFile?: string; directory: string }): Promise<ConfigReading> {
  const envFile = options.envFile ?? join(options.directory, '.env');
  let text: string | null;
  try {
    text = await readText(nodeDisk, envFile);
    if (text === null && ((await exists(envFile)) || options.envFile !== undefined)) {
      return { kind: 'invalid', problems: ['the environment file is missing or not UTF-8 text'], warnings: [] };
    }
  } catch (error) {
    return { kind: 'invalid', problems: [`the environment file: ${describeError(error)}`], warnings: [] };
  }
  const file = parseEnvFile(text ?? '');
  const defaults = { homeDirectory: homedir(), hostname: hostname(), pid: process.pid };
  const reading = envToConfig(mergeEnvironment(file.values, process.env), defaults);
  return { ...reading, warnings: [...file.warnings, ...unknownNames(file.values), ...reading.warnings] };
}

/** The file's variables under those of the process. An empty one counts as unset: it hides nothing. */
export function mergeEnvironment(file: Environment, processEnvironment: Environment): Environment {
  const set = Object.entries(processEnvironment).filter(([, value]) => value !== undefined && value.trim() !== '');
  return { ...file, ...Object.fromEntries(set) };
}

function unknownNames(file: Environment): string[] {
  const known: readonly string[] = variableNames;
  const unknown = Object.keys(file).filter((key) => !known.includes(key));
  return unknown.map((key) => `${key} in the environment file is not a variable of the agent`);
}

/** Pure: the whole configuration, or every problem of it at once. */
export function envToConfig(env: Environment, defaults: Defaults): ConfigReading {
  const reader = createReader(env);
  const stationId = reader.required('STATION_ID', check.uuid, '');
  const health = readHealth(reader);
  const release = readRelease(reader);
  const config: Config = {
    stationId,
    dataDir: reader.or(
      'DATA_DIR',
      check.path(defaults.homeDirectory),
      join(defaults.homeDirectory, 'station-agent-data'),
    ),
    logLevel: reader.or('LOG_LEVEL', check.oneOf(logLevels), 'info'),
    release,
    stack: readStack(reader, defaults),
    health,
    firmware: readFirmware(reader, release.manifestUrl, defaults),
    backend: {
      url: reader.or('BACKEND_URL', webUrl, new URL(health.url.origin)),
      agentToken: reader.or('BACKEND_AGENT_TOKEN', check.token, null),
    },
    api: readApi(reader, defaults),
    wifi: readWifi(reader, { stationId, releaseUrl: release.manifestUrl, hostname: defaults.hostname }),
    systemd: readSystemd(reader, defaults),
    childEnv: {
      PATH: reader.ambient('PATH') ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: defaults.homeDirectory,
      LANG: 'C.UTF-8',
      ...(reader.ambient('DOCKER_CONFIG') ? { DOCKER_CONFIG: reader.ambient('DOCKER_CONFIG') ?? '' } : {}),
    },
    secrets: secretNames.map((secret) => reader.text(secret)).filter((value) => value !== null),
  };
  const { problems } = reader;
  if (problems.length > 0) return { kind: 'invalid', problems, warnings: [] };
  return { kind: 'ok', config, warnings: shortTokens(config) };
}

const secretNames = ['CONTAINER_TOKEN', 'BACKEND_AGENT_TOKEN', 'AGENT_TOKEN', 'HOTSPOT_PASSWORD'] as const;

function shortTokens({ api, backend }: Config): string[] {
  const tokens = { AGENT_TOKEN: api.token, BACKEND_AGENT_TOKEN: backend.agentToken };
  return Object.entries(tokens)
    .filter(([, value]) => value !== null && value.length < shortTokenLength)
    .map(([key]) => `${key} is shorter than ${shortTokenLength} characters`);
}

function readRelease(reader: Reader): Config['release'] {
  return {
    manifestUrl: reader.required('UPDATE_SERVER_URL', manifestUrl, new URL('file:///')),
    publicKey: reader.or('UPDATE_PUBLIC_KEY', check.signingKey, null),
    checkIntervalMs: reader.or('CHECK_INTERVAL_MINUTES', intervalMinutes, defaultIntervalMs),
    autoUpdate: reader.or('AUTO_UPDATE', check.boolean, true),
    maintenanceWindow: reader.or('MAINTENANCE_WINDOW', maintenanceWindow, null),
    keepReleases: reader.or('KEEP_RELEASES', check.wholeNumber(1, 20), 1),
  };
}

const maintenanceWindow: Check<MaintenanceWindow> = (text) => {
  const window = parseMaintenanceWindow(text);
  return window ? check.ok(window) : check.must('be HH:MM-HH:MM in local time, with two different times');
};

function readStack(reader: Reader, { homeDirectory }: Defaults): Config['stack'] {
  const path = check.path(homeDirectory);
  const username = reader.or('CONTAINER_USERNAME', check.matching(/^[\x20-\x7e]{1,256}$/, 'be printable ASCII'), null);
  const password = reader.or('CONTAINER_TOKEN', check.matching(/^[\x20-\x7e]{1,4096}$/, 'be printable ASCII'), null);
  if ((reader.text('CONTAINER_USERNAME') === null) !== (reader.text('CONTAINER_TOKEN') === null)) {
    reader.problems.push('CONTAINER_USERNAME and CONTAINER_TOKEN must be set together');
  }
  return {
    engine: reader.or('STACK_ENGINE', check.oneOf(['docker', 'process']), 'docker'),
    projectPath: reader.or('COMPOSE_PROJECT_PATH', path, join(homeDirectory, 'station')),
    composeFile: reader.or('COMPOSE_FILE', composeFile, 'docker-compose.yml'),
    bootstrapOnStart: reader.or('BOOTSTRAP_ON_START', check.boolean, false),
    backendContainer: reader.or('BACKEND_CONTAINER_NAME', name, 'station-backend'),
    frontendContainer: reader.or('FRONTEND_CONTAINER_NAME', name, 'station-frontend'),
    reverseProxyService: reader.or('REVERSE_PROXY_SERVICE', name, 'proxy'),
    dockerSocket: reader.or('DOCKER_HOST', check.engineSocket(homeDirectory), '/var/run/docker.sock'),
    dockerProgram: reader.or('DOCKER_PROGRAM', program(path), 'docker'),
    registry: reader.or('CONTAINER_REGISTRY', check.registryHost, null),
    registryCredentials: username !== null && password !== null ? { username, password } : null,
    processDir: reader.or('STACK_PROCESS_DIR', path, null),
  };
}

const composeFile = check.matching(
  /^[a-zA-Z0-9][a-zA-Z0-9_.-]*\.ya?ml$/,
  'be the name of a .yml or .yaml file in COMPOSE_PROJECT_PATH, without a folder',
);

const program =
  (path: Check<string>): Check<string> =>
  (text) => {
    if (/^[\w.-]+$/.test(text)) return check.ok(text);
    const checked = path(text);
    return checked.ok ? checked : check.must('be the name of a program or an absolute path');
  };

function readHealth(reader: Reader): Config['health'] {
  return {
    url: reader.or('HEALTHCHECK_URL', webUrl, new URL('http://localhost/api/health')),
    stabilizationMs: reader.or('STABILIZATION_SECONDS', check.duration(1000, 0, 3600), 45_000),
    timeoutMs: reader.or('HEALTHCHECK_TIMEOUT_SECONDS', check.duration(1000, 1, 3600), 60_000),
  };
}

/** Where the firmware manifest is when nobody says: beside the release manifest. */
export const usualFirmwareManifest = (releaseUrl: URL): URL => new URL('firmware/manifest.json', releaseUrl);

function readFirmware(reader: Reader, releaseUrl: URL, { homeDirectory }: Defaults): Config['firmware'] {
  return {
    manifestUrl: reader.or('FIRMWARE_MANIFEST_URL', manifestUrl, usualFirmwareManifest(releaseUrl)),
    cacheDir: reader.or('FIRMWARE_CACHE_DIR', check.path(homeDirectory), join(homeDirectory, 'firmware-cache')),
    folder: reader.or('FIRMWARE_FOLDER', urlFolder, '/firmware'),
    checkIntervalMs: reader.or('FIRMWARE_CHECK_INTERVAL_MINUTES', intervalMinutes, defaultIntervalMs),
    maxBytes: reader.or('FIRMWARE_MAX_BYTES', check.wholeNumber(1024, 2 ** 30), 16 * 2 ** 20),
  };
}

const urlFolder = check.matching(
  /^(\/(?!\.{1,2}(\/|$))[a-zA-Z0-9_.~-]+)+$/,
  'be a URL path as /firmware, without a slash at its end',
);

function readApi(reader: Reader, { homeDirectory }: Defaults): Config['api'] {
  const runtimeDirectory = reader.ambient('RUNTIME_DIRECTORY')?.split(':')[0];
  return {
    host: reader.or('HOST', check.host, '127.0.0.1'),
    port: reader.or('PORT', check.port, 3001),
    socketPath: reader.or(
      'AGENT_SOCKET',
      check.socketPath(homeDirectory),
      runtimeDirectory === undefined ? null : join(runtimeDirectory, 'agent.sock'),
    ),
    token: reader.or('AGENT_TOKEN', check.token, null),
  };
}

function readSystemd(reader: Reader, { pid }: Defaults): Config['systemd'] {
  const micros = Number(reader.ambient('WATCHDOG_USEC') ?? 0);
  // The variables are inherited: a watchdog for another process is none for this one (sd_watchdog_enabled(3)).
  const ours = Number(reader.ambient('WATCHDOG_PID') ?? pid) === pid;
  return {
    notifySocket: reader.ambient('NOTIFY_SOCKET'),
    watchdogMs: ours && Number.isFinite(micros) && micros > 0 ? micros / 1000 : null,
  };
}
