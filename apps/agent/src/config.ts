import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import type { SigningKey } from '@station/protocol/signing-key';
import { exists, nodeDisk, readText } from '@station/kit/durable-files';
import { readVariables, secretsIn, type Environment, type Values } from '@station/kit/env-config';
import { parseEnvFile } from '@station/kit/env-file';
import type { LogLevel } from '@station/kit/logger';
import { type OutgoingProxy, toOutgoingProxy, withProxyNames } from '@station/kit/outgoing-proxy';
import { describeError } from '@station/kit/station-error';
import type { MaintenanceWindow } from './core/maintenance-window.ts';
import { agentVariables } from './variables.ts';

/** The agent's configuration (specification, "Agent configuration"; contracts, section 3). Paths are absolute, times are ms. */
export type Config = {
  readonly stationId: string;
  /** The code on the station's label; null: the backend generates its own. */
  readonly stationCode: string | null;
  readonly dataDir: string;
  readonly logLevel: LogLevel;
  /** Proxies between this network and the internet; null: none. */
  readonly proxy: OutgoingProxy;
  readonly release: {
    readonly manifestUrl: URL;
    /** Empty: manifests are not signed. */
    readonly publicKeys: readonly SigningKey[];
    readonly checkIntervalMs: number;
    readonly autoUpdate: boolean;
    /** Null, the default: automatic updates as soon as a release is found (specification). */
    readonly maintenanceWindow: MaintenanceWindow | null;
    readonly keepReleases: number;
  };
  readonly stack: {
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
  };
  readonly health: {
    readonly url: URL;
    readonly stabilizationMs: number;
    readonly timeoutMs: number;
    readonly devicesMs: number;
    /** Zero: a release is not watched after its verdict. */
    readonly probationMs: number;
  };
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
  readonly encryption: {
    readonly mode: 'own' | 'acme' | 'off';
    /** Certificates for the servers of the stack. */ readonly folder: string;
    /** With `acme`: the public name, and who vouches for it. */
    readonly acme: AcmeConfig | null;
  };
  readonly wifi: WifiConfig;
  readonly systemd: {
    /** Socket of the service manager for notifications (sd_notify(3)); null: there is none. */
    readonly notifySocket: string | null;
    /** The service manager restarts the agent after this time without a keep-alive; null: no watchdog. */
    readonly watchdogMs: number | null;
  };
  /** The base environment of programs that the agent starts. */
  readonly childEnv: Readonly<Record<string, string>>;
  /** Values that must never appear in a log line. */
  readonly secrets: readonly string[];
};

type AcmeConfig = {
  readonly name: string;
  readonly directory: string;
  readonly email: string | null;
  /** Certificates by which the server of the directory is trusted; null: those of the system. */
  readonly caFile: string | null;
};

/** Configuration of the Wi-Fi watchdog and its hotspot (contracts, section 3). */
type WifiConfig = {
  readonly watchdog: 'auto' | 'on' | 'off';
  readonly interface: string | null;
  readonly country: string | null;
  /** Requested to check the internet; any answer from its host counts. Null: no check. */
  readonly connectivityUrl: URL | null;
  /** Where people find the station in their own network; the setup page names it. */
  readonly stationUrl: URL;
  readonly hotspot: {
    readonly ssid: string;
    /** Null: an open network. */
    readonly password: string | null;
    readonly address: string;
    readonly prefixLength: number;
    readonly portalPort: number;
  };
};

export type ConfigReading =
  | { kind: 'ok'; config: Config; warnings: string[] }
  /** Each problem names a variable and what it has to be; never its value. */
  | { kind: 'invalid'; problems: string[]; warnings: string[] };

/** The facts that defaults are derived from. */
export type Defaults = { homeDirectory: string; hostname: string; pid: number };

/** A shorter token can be guessed. */
const shortTokenLength = 16;

/**
 * Reads the environment file (it may be missing) and the process environment, which takes precedence. The only place of the agent
 * that reads the environment. Never throws.
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
  const values = withProxyNames(file.values);
  const reading = envToConfig(mergeEnvironment(values, withProxyNames(process.env)), defaults);
  return { ...reading, warnings: [...file.warnings, ...unknownNames(values), ...reading.warnings] };
}

/** The variables of the file, overridden by those of the process. An empty variable counts as unset. */
export function mergeEnvironment(file: Environment, processEnvironment: Environment): Environment {
  const set = Object.entries(processEnvironment).filter(([, value]) => value !== undefined && value.trim() !== '');
  return { ...file, ...Object.fromEntries(set) };
}

/** An unknown name in the environment file is probably a typing error. */
function unknownNames(file: Environment): string[] {
  const unknown = Object.keys(file).filter((key) => !Object.hasOwn(agentVariables, key));
  return unknown.map((key) => `${key} in the environment file is not a variable of the agent`);
}

/** Pure: the whole configuration, or every problem of it at once. */
export function envToConfig(env: Environment, defaults: Defaults): ConfigReading {
  const { values, problems, isSet } = readVariables(agentVariables, env, defaults);
  if (isSet('CONTAINER_USERNAME') !== isSet('CONTAINER_TOKEN')) {
    problems.push('CONTAINER_USERNAME and CONTAINER_TOKEN must be set together');
  }
  if (values.HTTPS === 'acme' && !isSet('PUBLIC_NAME')) problems.push('PUBLIC_NAME must be set with HTTPS=acme');
  if (problems.length > 0) return { kind: 'invalid', problems, warnings: [] };
  return { kind: 'ok', config: toConfig(values, env, defaults), warnings: shortTokens(values) };
}

type AgentValues = Values<typeof agentVariables>;

function toConfig(values: AgentValues, env: Environment, defaults: Defaults): Config {
  return {
    stationId: values.STATION_ID,
    stationCode: values.STATION_CODE,
    dataDir: values.DATA_DIR,
    logLevel: values.LOG_LEVEL,
    proxy: toOutgoingProxy(values),
    release: {
      manifestUrl: values.UPDATE_SERVER_URL,
      publicKeys: values.UPDATE_PUBLIC_KEY ?? [],
      checkIntervalMs: values.CHECK_INTERVAL_MINUTES,
      autoUpdate: values.AUTO_UPDATE,
      maintenanceWindow: values.MAINTENANCE_WINDOW,
      keepReleases: values.KEEP_RELEASES,
    },
    stack: toStackConfig(values),
    health: {
      url: values.HEALTHCHECK_URL,
      stabilizationMs: values.STABILIZATION_SECONDS,
      timeoutMs: values.HEALTHCHECK_TIMEOUT_SECONDS,
      devicesMs: values.DEVICES_BACK_SECONDS,
      probationMs: values.PROBATION_MINUTES,
    },
    firmware: {
      manifestUrl: values.FIRMWARE_MANIFEST_URL ?? usualFirmwareManifest(values.UPDATE_SERVER_URL),
      cacheDir: values.FIRMWARE_CACHE_DIR,
      folder: values.FIRMWARE_FOLDER,
      checkIntervalMs: values.FIRMWARE_CHECK_INTERVAL_MINUTES,
      maxBytes: values.FIRMWARE_MAX_BYTES,
    },
    backend: {
      url: values.BACKEND_URL ?? new URL(values.HEALTHCHECK_URL.origin),
      agentToken: values.BACKEND_AGENT_TOKEN,
    },
    api: {
      host: values.HOST,
      port: values.PORT,
      socketPath: values.AGENT_SOCKET ?? usualSocket(ambient(env, 'RUNTIME_DIRECTORY')),
      token: values.AGENT_TOKEN,
    },
    encryption: {
      mode: values.HTTPS,
      folder: values.TLS_DIR ?? join(values.DATA_DIR, 'tls'),
      acme: toAcmeConfig(values),
    },
    wifi: toWifiConfig(values, defaults),
    systemd: readSystemd(env, defaults),
    childEnv: childEnv(env, defaults),
    secrets: secretsIn(agentVariables, env),
  };
}

function toAcmeConfig(values: AgentValues): AcmeConfig | null {
  const { HTTPS: mode, PUBLIC_NAME: name, ACME_DIRECTORY: directory, ACME_EMAIL: email, ACME_CA_FILE: caFile } = values;
  return mode === 'acme' && name !== null ? { name, directory, email, caFile } : null;
}

function toStackConfig(values: AgentValues): Config['stack'] {
  const { CONTAINER_USERNAME: username, CONTAINER_TOKEN: password } = values;
  return {
    projectPath: values.COMPOSE_PROJECT_PATH,
    composeFile: values.COMPOSE_FILE,
    bootstrapOnStart: values.BOOTSTRAP_ON_START,
    backendContainer: values.BACKEND_CONTAINER_NAME,
    frontendContainer: values.FRONTEND_CONTAINER_NAME,
    reverseProxyService: values.REVERSE_PROXY_SERVICE,
    dockerSocket: values.DOCKER_HOST,
    dockerProgram: values.DOCKER_PROGRAM,
    registry: values.CONTAINER_REGISTRY,
    registryCredentials: username !== null && password !== null ? { username, password } : null,
  };
}

function toWifiConfig(values: AgentValues, { hostname }: Defaults): WifiConfig {
  return {
    watchdog: values.WIFI_WATCHDOG,
    interface: values.WIFI_INTERFACE,
    country: values.WIFI_COUNTRY,
    connectivityUrl: values.CONNECTIVITY_CHECK_URL ?? usualConnectivityUrl(values.UPDATE_SERVER_URL),
    stationUrl: values.STATION_URL ?? usualStationUrl(hostname),
    hotspot: {
      ssid: values.HOTSPOT_SSID ?? `Station-${values.STATION_ID.slice(-4)}`,
      password: values.HOTSPOT_PASSWORD,
      ...values.HOTSPOT_ADDRESS,
      portalPort: values.PORTAL_PORT,
    },
  };
}

function shortTokens(values: AgentValues): string[] {
  return (['AGENT_TOKEN', 'BACKEND_AGENT_TOKEN'] as const)
    .filter((key) => (values[key]?.length ?? shortTokenLength) < shortTokenLength)
    .map((key) => `${key} is shorter than ${shortTokenLength} characters`);
}

/** Default address of the firmware manifest: beside the release manifest. */
export const usualFirmwareManifest = (releaseUrl: URL): URL => new URL('firmware/manifest.json', releaseUrl);

/** Default for the internet check: the update server, so that no other server learns about this station. */
const usualConnectivityUrl = (releaseUrl: URL): URL | null =>
  ['http:', 'https:'].includes(releaseUrl.protocol) ? new URL('/', releaseUrl) : null;

/** Its name in multicast DNS (RFC 6762), which phones and computers know without a server. */
const usualStationUrl = (hostname: string): URL => {
  const label = hostname.split('.')[0] ?? '';
  return URL.parse(`http://${label}.local/`) ?? new URL('http://station.local/');
};

const usualSocket = (runtimeDirectories: string | null): string | null =>
  runtimeDirectories === null ? null : join(runtimeDirectories.split(':')[0] ?? '', 'agent.sock');

/**
 * Minutes since local midnight. Node reads the time zone of the machine (`/etc/localtime`) once, and again after a change of TZ; a person may
 * set another one at any time.
 */
export function localMinutes(now: number): number {
  if (process.env['TZ'] === undefined) delete process.env['TZ'];
  const local = new Date(now);
  return local.getHours() * 60 + local.getMinutes();
}

/** Set by the service manager or the shell, not by the operator (systemd.exec(5), sd_notify(3)). */
type AmbientName = 'RUNTIME_DIRECTORY' | 'NOTIFY_SOCKET' | 'WATCHDOG_USEC' | 'WATCHDOG_PID' | 'PATH' | 'DOCKER_CONFIG';

const ambient = (env: Environment, variable: AmbientName): string | null => env[variable]?.trim() || null;

function readSystemd(env: Environment, { pid }: Defaults): Config['systemd'] {
  const micros = Number(ambient(env, 'WATCHDOG_USEC') ?? 0);
  // The variables are inherited: a watchdog for another process is none for this one (sd_watchdog_enabled(3)).
  const ours = Number(ambient(env, 'WATCHDOG_PID') ?? pid) === pid;
  return {
    notifySocket: ambient(env, 'NOTIFY_SOCKET'),
    watchdogMs: ours && Number.isFinite(micros) && micros > 0 ? micros / 1000 : null,
  };
}

function childEnv(env: Environment, { homeDirectory }: Defaults): Config['childEnv'] {
  const dockerConfig = ambient(env, 'DOCKER_CONFIG');
  return {
    PATH: ambient(env, 'PATH') ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: homeDirectory,
    LANG: 'C.UTF-8',
    ...(dockerConfig === null ? {} : { DOCKER_CONFIG: dockerConfig }),
  };
}
