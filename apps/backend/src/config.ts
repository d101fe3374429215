import { join } from 'node:path';
import { readVariables, type Environment, type Reading, type Values } from '@station/kit/env-config';
import type { LogLevel } from '@station/kit/logger';
import { type OutgoingProxy, toOutgoingProxy, withProxyNames } from '@station/kit/outgoing-proxy';
import { loginOfUrl } from '@station/kit/url-login';
import ownPackage from '../package.json' with { type: 'json' };
import type { AgentTarget } from './core/adapters/agent-client.ts';
import { toCloudSettings, type CloudSettings } from './cloud/cloud-settings.ts';
import type { FirmwareConfig } from './firmware/firmware.ts';
import type { MqttConfig } from './mqtt/mqtt.ts';
import type { DeviceBrokerConfig } from './provisioning/provisioning.ts';
import type { BleConfig } from './provisioning/radio.ts';
import type { DatabaseConfig } from './store/database.ts';
import { backendVariables } from './variables.ts';

export type BackendConfig = {
  /** Port 0 takes a free one. */
  port: number;
  host: string;
  dataDir: string;
  database: DatabaseConfig;
  /** Most bytes of the database with its copies; null: a share of the disk (`storage/storage-decide.ts`). */
  storageMaxBytes: number | null;
  /** Null: one is generated and kept in the data directory. */
  jwtSecret: string | null;
  /** Null: there is no agent, and /api/system answers 502. */
  agent: AgentTarget | null;
  /** Null: routes for the agent are closed, never open. */
  agentToken: string | null;
  metricsToken: string | null;
  /** Folder for backups; null: they stay on the disk of the station. */
  backupDir: string | null;
  /** Directory of the built web app; null when another server serves it. */
  webDir: string | null;
  /** The embedded broker, or the one that MQTT_URL names. */
  mqtt: MqttConfig;
  /** How webhooks, backups and the link to the cloud leave this network. */
  proxy: OutgoingProxy;
  /** Private addresses and subnets that webhooks of automations may call. */
  webhookAllow: string[];
  /** Name in the DNS of the internet; null: it has none. */
  publicName: string | null;
  /** File of devices with preset logins, or null (see `devices/devices-file.ts`). */
  devicesFile: string | null;
  firmware: FirmwareConfig;
  /** At which address new devices reach the broker. */
  deviceBroker: DeviceBrokerConfig;
  ble: BleConfig;
  /** Null: there is no cloud; everything local works. */
  cloud: CloudSettings | null;
  /** Name of this replica among backends on the same database and broker; null: there is one backend. */
  replicaId: string | null;
  /** Set-up code of the first account, from the station's label. Null: one is generated. */
  stationCode: string | null;
  /** Null: one is generated and kept in the database. */
  stationId: string | null;
  /** Release version that /api/health reports. */
  version: string;
  logLevel: LogLevel;
};

export type ConfigResult = { ok: true; config: BackendConfig } | { ok: false; problems: string[] };

/**
 * Reads the backend's configuration from its environment. Pure; reports every problem at once and repeats no value that
 * could be a secret. An empty variable counts as unset.
 */
export function envToConfig(environment: Environment): ConfigResult {
  const env = withProxyNames(environment);
  const reading = readVariables(backendVariables, env);
  const dataDir = reading.values.DATA_DIR ?? homeFolder(env['HOME']?.trim());
  const missing = dataDir === null ? ['DATA_DIR is not set and there is no HOME to put the data under'] : [];
  const problems = [...reading.problems, ...missing, ...contradictions(reading, env)];
  return problems.length === 0 ? { ok: true, config: toConfig(reading, dataDir ?? '', env) } : { ok: false, problems };
}

function toConfig(
  { values, isSet }: Reading<typeof backendVariables>,
  dataDir: string,
  env: Environment,
): BackendConfig {
  return {
    port: values.PORT,
    host: values.HOST,
    dataDir,
    database:
      values.DATABASE_URL === null
        ? { kind: 'sqlite', file: join(dataDir, 'station.sqlite') }
        : { kind: 'postgres', url: values.DATABASE_URL },
    storageMaxBytes: values.STORAGE_MAX_MB === null ? null : values.STORAGE_MAX_MB * 1024 * 1024,
    jwtSecret: values.JWT_SECRET,
    agent: toAgentTarget(values),
    agentToken: values.AGENT_TOKEN,
    metricsToken: values.METRICS_TOKEN,
    backupDir: values.BACKUP_DIR,
    webDir: values.WEB_DIR,
    mqtt: toMqttConfig(values),
    proxy: toOutgoingProxy(values),
    webhookAllow: values.AUTOMATION_WEBHOOK_ALLOW ?? [],
    publicName: values.PUBLIC_NAME,
    devicesFile: values.DEVICES_FILE,
    firmware: {
      publicUrl: values.PUBLIC_URL.replace(/\/+$/, ''),
      folder: values.FIRMWARE_FOLDER,
      soakMs: 1000 * values.FIRMWARE_SOAK_SECONDS,
      concurrency: values.FIRMWARE_CONCURRENCY,
      startsPerMinute: values.FIRMWARE_STARTS_PER_MINUTE,
      attempts: values.FIRMWARE_ATTEMPTS,
    },
    deviceBroker: {
      host: values.DEVICE_MQTT_HOST,
      port: values.DEVICE_MQTT_PORT,
      publicUrl: values.PUBLIC_URL,
      isPublicUrlSet: isSet('PUBLIC_URL'),
    },
    ble: {
      helper: values.BLE_HELPER,
      environment: helperEnvironment(env),
      serviceUuid: values.PROVISIONING_SERVICE_UUID,
      characteristicUuid: values.PROVISIONING_CHARACTERISTIC_UUID,
    },
    replicaId: values.REPLICA_ID,
    cloud: toCloudSettings(values),
    stationCode: values.STATION_CODE,
    stationId: values.STATION_ID,
    version: versionOf(env),
    logLevel: values.LOG_LEVEL,
  };
}

/** Release version of this backend. */
export const versionOf = (env: Environment): string =>
  (env['STATION_VERSION']?.trim() || ownPackage.version).replace(/^v/, '');

type BackendValues = Values<typeof backendVariables>;

/** Problems that only a combination of variables shows. */
function contradictions({ values, isSet }: Reading<typeof backendVariables>, env: Environment): string[] {
  const problems: string[] = [];
  if (isSet('AGENT_SOCKET') && isSet('AGENT_URL')) problems.push('AGENT_SOCKET and AGENT_URL are both set: keep one');
  if (isSet('MQTT_CA_FILE') && env['MQTT_URL']?.trim().startsWith('mqtt:')) {
    problems.push('MQTT_CA_FILE needs an MQTT_URL that begins with mqtts://');
  }
  if (values.MQTT_URL === null && !values.MQTT_PLAIN && !isSet('MQTT_TLS_FILE')) {
    problems.push('MQTT_PLAIN=false needs MQTT_TLS_FILE: otherwise no device reaches the broker');
  }
  if (!/^([1-9]\d{0,4})?$/.test(inflightOf(env['MQTT_URL']))) {
    problems.push('inflight of MQTT_URL must be a number from 1 to 99999');
  }
  if (!isSet('REPLICA_ID')) return problems;
  // Replicas share the database, the broker, and the secret that signs their tokens.
  const needs = {
    DATABASE_URL: 'the one PostgreSQL',
    MQTT_URL: 'the one broker',
    JWT_SECRET: 'the one secret',
  } as const;
  for (const name of ['DATABASE_URL', 'MQTT_URL', 'JWT_SECRET'] as const) {
    if (!isSet(name)) problems.push(`REPLICA_ID needs ${name}: ${needs[name]} of all replicas`);
  }
  return problems;
}

/** Empty: unset, or no URL at all. */
const inflightOf = (url = ''): string =>
  (URL.canParse(url.trim()) && new URL(url.trim()).searchParams.get('inflight')) || '';

function toAgentTarget({ AGENT_SOCKET: path, AGENT_URL: url }: BackendValues): AgentTarget | null {
  if (path !== null) return { kind: 'socket', path };
  return url === null ? null : { kind: 'tcp', url };
}

/** What every broker sends at least; RabbitMQ sends no more. */
const defaultInflight = 10;

function toMqttConfig(values: BackendValues): MqttConfig {
  const { MQTT_URL: url, MQTT_USERNAME: username, MQTT_PASSWORD: password, MQTT_CA_FILE: caFile } = values;
  if (url === null) {
    const certificateFile = values.MQTT_TLS_FILE;
    const plain = values.MQTT_PLAIN ? values.MQTT_PORT : null;
    const tls = certificateFile === null ? null : values.MQTT_TLS_PORT;
    return { kind: 'embedded', host: values.MQTT_HOST, ports: { plain, tls }, certificateFile };
  }
  const inflight = Number(inflightOf(url) || defaultInflight);
  return { kind: 'external', url, inflight, username, password, caFile };
}

const helperVariables = ['PATH', 'TZ', 'LANG', 'DBUS_SYSTEM_BUS_ADDRESS'];

/** The helper gets no secret of the backend. */
function helperEnvironment(env: Environment): Record<string, string> {
  const isPassed = (name: string): boolean => helperVariables.includes(name) || name.startsWith('BLE_');
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => isPassed(entry[0]) && entry[1] !== undefined),
  );
}

const homeFolder = (home: string | undefined): string | null => (home ? join(home, 'station-data') : null);

/** Values that must never appear in a log line. */
export function secretsOf(config: BackendConfig): string[] {
  const url = config.database.kind === 'postgres' ? config.database.url : null;
  const mqtt = config.mqtt.kind === 'external' ? config.mqtt : null;
  const urls = [url, mqtt?.url ?? null, config.proxy.http, config.proxy.https].filter((value) => value !== null);
  const passwords = urls.flatMap((value) => [new URL(value).password, loginOfUrl(new URL(value).password)]);
  const { jwtSecret, agentToken, metricsToken, stationCode } = config;
  return [jwtSecret, agentToken, metricsToken, stationCode, mqtt?.password ?? null, ...passwords].filter(
    (value) => value !== null && value !== '',
  ) as string[];
}
