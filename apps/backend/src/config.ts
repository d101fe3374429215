import { join } from 'node:path';
import { logLevels, type LogLevel } from '@station/kit/logger';
import { isAddressOrSubnet } from './adapters/webhook-client.ts';
import ownPackage from '../package.json' with { type: 'json' };
import { readCloudSettings, type CloudSettings } from './cloud/cloud-settings.ts';
import type { MqttConfig } from './mqtt/mqtt.ts';
import type { DatabaseConfig } from './store/database.ts';
import type { AgentTarget } from './adapters/agent-client.ts';
import type { FirmwareConfig } from './firmware/firmware.ts';

export type BackendConfig = {
  /** Port 0 takes a free one. */
  port: number;
  host: string;
  dataDir: string;
  database: DatabaseConfig;
  /** Null: one is generated and kept in the data directory. */
  jwtSecret: string | null;
  /** Null: there is no agent to talk to, and /api/system answers 502. */
  agent: AgentTarget | null;
  /** Null: routes for the agent are closed, never open. */
  agentToken: string | null;
  /** Directory of the built web app, or null when something else serves it. */
  webDir: string | null;
  /** The embedded broker, or the one that MQTT_URL names. */
  mqtt: MqttConfig;
  /** Addresses and subnets that are not public and may be called by webhooks of automations all the same. */
  webhookAllow: string[];
  /** File of devices that were given their login beforehand, or null (see `devices/devices-file.ts`). */
  devicesFile: string | null;
  firmware: FirmwareConfig;
  /** Null: there is no cloud, and everything at home works. */
  cloud: CloudSettings | null;
  /** Name of this backend among several on the same database and broker; null: it is alone. */
  replicaId: string | null;
  /** Null: one is generated and kept in the database. */
  stationId: string | null;
  /** Release version that /api/health reports. */
  version: string;
  logLevel: LogLevel;
};

export type ConfigResult = { ok: true; config: BackendConfig } | { ok: false; problems: string[] };

/** By mDNS; the install script writes the station's real name. */
const usualPublicUrl = 'http://station.local';
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** HS256 wants a key of at least its hash's size (RFC 7518, section 3.2). */
const jwtSecretMinBytes = 32;

/**
 * Reads the backend's configuration from its environment. Pure; reports every problem at once and repeats no value that
 * could be a secret. An empty variable counts as unset.
 */
export function envToConfig(env: Readonly<Record<string, string | undefined>>): ConfigResult {
  const problems: string[] = [];
  const read = (name: string): string | null => {
    const value = env[name]?.trim();
    return value === undefined || value === '' ? null : value;
  };

  const dataDir = read('DATA_DIR') ?? homeFolder(read('HOME'));
  if (dataDir === null) problems.push('DATA_DIR is not set and there is no HOME to put the data under');
  const stationId = read('STATION_ID');
  if (stationId !== null && !uuid.test(stationId)) problems.push('STATION_ID must be a UUID');
  const jwtSecret = read('JWT_SECRET');
  if (jwtSecret !== null && Buffer.byteLength(jwtSecret) < jwtSecretMinBytes) {
    problems.push(`JWT_SECRET must have at least ${jwtSecretMinBytes} bytes`);
  }

  const config: BackendConfig = {
    port: readPort('PORT', read('PORT'), 3000, problems),
    host: read('HOST') ?? '127.0.0.1',
    dataDir: dataDir ?? '',
    database: readDatabase(read('DATABASE_URL'), dataDir ?? '', problems),
    jwtSecret,
    agent: readAgent(read('AGENT_SOCKET'), read('AGENT_URL'), problems),
    agentToken: read('AGENT_TOKEN'),
    webDir: read('WEB_DIR'),
    mqtt: readMqtt(read, problems),
    webhookAllow: readWebhookAllow(read('AUTOMATION_WEBHOOK_ALLOW'), problems),
    devicesFile: read('DEVICES_FILE'),
    firmware: {
      publicUrl: (
        readUrl('PUBLIC_URL', read('PUBLIC_URL') ?? usualPublicUrl, ['http:', 'https:'], problems) ?? ''
      ).replace(/\/+$/, ''),
      folder: readFolder(read('FIRMWARE_FOLDER') ?? '/firmware', problems),
      soakMs: 1000 * readWhole('FIRMWARE_SOAK_SECONDS', read('FIRMWARE_SOAK_SECONDS') ?? '60', [0, 86_400], problems),
      concurrency: readWhole('FIRMWARE_CONCURRENCY', read('FIRMWARE_CONCURRENCY') ?? '10', [1, 1000], problems),
      startsPerMinute: readWhole(
        'FIRMWARE_STARTS_PER_MINUTE',
        read('FIRMWARE_STARTS_PER_MINUTE') ?? '60',
        [1, 10_000],
        problems,
      ),
      attempts: readWhole('FIRMWARE_ATTEMPTS', read('FIRMWARE_ATTEMPTS') ?? '2', [1, 10], problems),
    },
    replicaId: readReplicaId(read, problems),
    cloud: readCloudSettings(read, problems),
    stationId: stationId?.toLowerCase() ?? null,
    version: (read('STATION_VERSION') ?? ownPackage.version).replace(/^v/, ''),
    logLevel: readLogLevel(read('LOG_LEVEL'), problems),
  };
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems };
}

/** Values that must never appear in a log line. */
export function secretsOf(config: BackendConfig): string[] {
  const url = config.database.kind === 'postgres' ? config.database.url : null;
  const mqtt = config.mqtt.kind === 'external' ? config.mqtt : null;
  const urls = [url, mqtt?.url ?? null].filter((value) => value !== null);
  const passwords = urls.flatMap((value) => [new URL(value).password, decoded(new URL(value).password)]);
  return [config.jwtSecret, config.agentToken, mqtt?.password ?? null, ...passwords].filter(
    (value) => value !== null && value !== '',
  ) as string[];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const homeFolder = (home: string | null): string | null => (home === null ? null : join(home, 'station-data'));

function readPort(name: string, value: string | null, usual: number, problems: string[]): number {
  if (value === null) return usual;
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= 65_535) return port;
  problems.push(`${name} must be a number from 0 to 65535`);
  return 0;
}

function readWhole(name: string, value: string, [least, most]: [number, number], problems: string[]): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least || number > most) {
    problems.push(`${name} must be a whole number from ${least} to ${most}`);
  }
  return number;
}

function readLogLevel(value: string | null, problems: string[]): LogLevel {
  const level = logLevels.find((known) => known === (value ?? 'info'));
  if (level === undefined) problems.push(`LOG_LEVEL must be one of ${logLevels.join(', ')}`);
  return level ?? 'info';
}

function readDatabase(value: string | null, dataDir: string, problems: string[]): DatabaseConfig {
  if (value === null) return { kind: 'sqlite', file: join(dataDir, 'station.sqlite') };
  const url = readUrl('DATABASE_URL', value, ['postgres:', 'postgresql:'], problems);
  return { kind: 'postgres', url: url ?? '' };
}

/** MQTT_URL with MQTT_USERNAME, MQTT_PASSWORD and MQTT_CA_FILE; unset: the embedded broker on MQTT_HOST and MQTT_PORT. */
function readMqtt(read: (name: string) => string | null, problems: string[]): MqttConfig {
  const given = read('MQTT_URL');
  if (given === null) {
    const port = readPort('MQTT_PORT', read('MQTT_PORT'), 1883, problems);
    return { kind: 'embedded', host: read('MQTT_HOST') ?? '127.0.0.1', port };
  }
  const url = readUrl('MQTT_URL', given, ['mqtt:', 'mqtts:'], problems) ?? '';
  const caFile = read('MQTT_CA_FILE');
  if (caFile !== null && url.startsWith('mqtt:'))
    problems.push('MQTT_CA_FILE needs an MQTT_URL that begins with mqtts://');
  return { kind: 'external', url, username: read('MQTT_USERNAME'), password: read('MQTT_PASSWORD'), caFile };
}

/** What several backends share is in the database, at the broker, and in the secret that signs their tokens. */
function readReplicaId(read: (name: string) => string | null, problems: string[]): string | null {
  const id = read('REPLICA_ID');
  if (id === null) return null;
  if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(id)) problems.push('REPLICA_ID must be of a-z, 0-9 and -, at most 32');
  const needs = { DATABASE_URL: 'the one PostgreSQL', MQTT_URL: 'the one broker', JWT_SECRET: 'the one secret' };
  for (const [name, what] of Object.entries(needs)) {
    if (read(name) === null) problems.push(`REPLICA_ID needs ${name}: ${what} of all replicas`);
  }
  return id;
}

function readFolder(value: string, problems: string[]): string {
  if (!/^(\/[A-Za-z0-9._~-]+)+$/.test(value)) problems.push('FIRMWARE_FOLDER must be a URL path as /firmware');
  return value;
}

function readWebhookAllow(value: string | null, problems: string[]): string[] {
  const entries = (value ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (!entries.every(isAddressOrSubnet)) {
    problems.push(
      'AUTOMATION_WEBHOOK_ALLOW must be IP addresses and subnets (192.168.1.0/24) with commas between them',
    );
  }
  return entries;
}

function readAgent(socket: string | null, url: string | null, problems: string[]): AgentTarget | null {
  if (socket !== null && url !== null) {
    problems.push('AGENT_SOCKET and AGENT_URL are both set: keep one');
    return null;
  }
  if (socket !== null) return { kind: 'socket', path: socket };
  const checked = readUrl('AGENT_URL', url, ['http:', 'https:'], problems);
  return checked === null ? null : { kind: 'tcp', url: checked };
}

function readUrl(name: string, value: string | null, protocols: readonly string[], problems: string[]): string | null {
  if (value === null) return null;
  const url = URL.parse(value);
  if (url !== null && url.hostname !== '' && protocols.includes(url.protocol)) return value;
  problems.push(`${name} must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
  return null;
}
