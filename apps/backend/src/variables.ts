import * as is from '@station/kit/config-values';
import { group, type Check } from '@station/kit/env-config';
import { logLevels } from '@station/kit/logger';
import { proxyVariables } from '@station/kit/outgoing-proxy';
import { provisioningCharacteristicUuid, provisioningServiceUuid } from '@station/protocol/ble-frames';
import { isAddressOrSubnet } from './core/adapters/guarded-http.ts';
import { cloudVariables } from './cloud/cloud-settings.ts';

/** HS256 wants a key of at least its hash's size (RFC 7518, section 3.2). */
const jwtSecretMinBytes = 32;
const jwtSecret: Check<string> = (text) =>
  !text.includes('\0') && Buffer.byteLength(text) >= jwtSecretMinBytes
    ? is.ok(text)
    : is.must(`have at least ${jwtSecretMinBytes} bytes`);

const subnets: Check<string[]> = (text) => {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  return entries.every(isAddressOrSubnet)
    ? is.ok(entries)
    : is.must('be IP addresses and subnets (192.168.1.0/24) with commas between them');
};

/** The compose file passes MQTT_PORT on, which may name an address before the port, as Docker publishes ports (`127.0.0.1:1883`). */
const publishedPort: Check<number> = (text, ...rest) => is.port(text.slice(text.lastIndexOf(':') + 1), ...rest);

/** Every variable of the backend. The compose file of the stack passes them on; the image sets HOST, PORT and DATA_DIR. */
export const backendVariables = {
  ...group('Station', {
    STATION_ID: {
      check: is.uuid,
      otherwise: 'one is generated and kept in the database',
      help: 'The identity of this station, the same as in the environment file of the agent.',
    },
    STATION_CODE: {
      check: is.stationCode,
      secret: true,
      otherwise: 'one is generated; `station-agent code` prints it until the station has an owner',
      help: 'The set-up code of the first account, the same as in the environment file of the agent.',
    },
    PUBLIC_URL: {
      check: is.address(['http', 'https']),
      default: 'http://station.local',
      help: 'URL of the proxy for devices in the local network. Devices without mDNS need an address here.',
    },
    PUBLIC_NAME: {
      check: is.publicName,
      example: 'home.example.org',
      help: 'The name of this station in the DNS of the internet, where it has one; the agent has the same.',
    },
    LOG_LEVEL: { check: is.oneOf(logLevels), default: 'info', help: 'Events below this level are not logged.' },
    JWT_SECRET: {
      check: jwtSecret,
      secret: true,
      otherwise: 'one is generated and kept in DATA_DIR',
      help: 'Signs the access tokens of people.',
    },
    STATION_VERSION: {
      check: is.text,
      otherwise: 'the version of the program',
      help: 'The release that /api/health reports.',
    },
  }),
  ...group('Server and data', {
    HOST: { check: is.text, default: '127.0.0.1', help: 'Address that the backend listens on.' },
    PORT: { check: is.port, default: '3000', help: 'Port that the backend listens on.' },
    DATA_DIR: {
      check: is.text,
      otherwise: 'station-data in HOME',
      help: 'Folder of the database and of generated keys.',
    },
    BACKUP_DIR: {
      check: is.text,
      otherwise: 'backups stay on the disk of the station',
      example: '/mnt/backup',
      help: 'Folder for backups, on a USB stick or a mounted share. Its owner must be the user 10002.',
    },
    DATABASE_URL: {
      check: is.address(['postgres', 'postgresql']),
      secret: true,
      otherwise: 'SQLite in DATA_DIR',
      example: 'postgres://station:<POSTGRES_PASSWORD>@postgres:5432/station',
      help: 'PostgreSQL instead of SQLite.',
    },
    STORAGE_MAX_MB: {
      check: is.wholeNumber(16, 1_048_576),
      otherwise: 'a quarter of the disk that holds DATA_DIR, at most 4096',
      example: '2048',
      help: 'Most space of the database with its copies. The oldest history of the device that takes most goes first.',
    },
    WEB_DIR: {
      check: is.text,
      otherwise: 'another program serves it',
      help: 'Folder of the built web app, for a backend that serves it itself.',
    },
    METRICS_TOKEN: {
      check: is.text,
      secret: true,
      otherwise: 'there is no /metrics',
      help: 'Bearer token of the program that reads /metrics (Prometheus).',
    },
    REPLICA_ID: {
      check: is.matching(/^[a-z0-9][a-z0-9-]{0,31}$/, 'be of a-z, 0-9 and -, at most 32'),
      otherwise: 'this backend is alone',
      help: 'Name of this backend among several. All of them need the same DATABASE_URL, MQTT_URL and JWT_SECRET.',
    },
  }),
  ...group('Agent', {
    AGENT_TOKEN: {
      check: is.text,
      secret: true,
      otherwise: 'the routes for the agent are closed',
      help: 'Must equal AGENT_TOKEN and BACKEND_AGENT_TOKEN of the agent.',
    },
    AGENT_SOCKET: { check: is.text, help: 'Unix socket of the agent; or AGENT_URL.' },
    AGENT_URL: { check: is.address(['http', 'https']), help: 'Address of the agent; or AGENT_SOCKET.' },
  }),
  ...group('Devices', {
    MQTT_URL: {
      check: is.address(['mqtt', 'mqtts']),
      secret: true,
      otherwise: 'the broker inside the backend, or the service mqtt of the stack',
      example: 'mqtts://backend:<password>@broker.example:8883',
      help: 'Another MQTT broker. With `?inflight=` and how many messages it sends without an acknowledgement, where that is more than 10.',
    },
    MQTT_USERNAME: { check: is.text, help: 'User name at that broker, where MQTT_URL has none.' },
    MQTT_PASSWORD: { check: is.text, secret: true, help: 'Password of the backend at the broker.' },
    MQTT_CA_FILE: {
      check: is.text,
      example: '/etc/ssl/broker-ca.pem',
      help: 'PEM file of the authority of an mqtts:// broker.',
    },
    MQTT_HOST: { check: is.text, default: '127.0.0.1', help: 'Address that the broker inside the backend listens on.' },
    MQTT_PORT: { check: is.port, default: '1883', help: 'Port of the broker.' },
    MQTT_TLS_FILE: {
      check: is.text,
      otherwise: 'the broker inside the backend has no TLS',
      example: '/var/lib/station-agent/tls/mqtt/station.pem',
      help: 'PEM file with the certificate and the key of the broker inside the backend. It is read again each minute.',
    },
    MQTT_TLS_PORT: { check: is.port, default: '8883', help: 'Port of the broker with TLS.' },
    MQTT_PLAIN: { check: is.boolean, default: 'true', help: 'false: devices reach the broker with TLS only.' },
    DEVICE_MQTT_HOST: {
      check: is.text,
      otherwise: 'from MQTT_URL, PUBLIC_URL or the Wi-Fi of the station',
      example: '192.168.1.20',
      help: 'Name or address at which devices reach the broker. New devices get it.',
    },
    DEVICE_MQTT_PORT: {
      check: publishedPort,
      otherwise: 'the port of the broker',
      help: 'Port at which devices reach the broker.',
    },
    DEVICES_FILE: {
      check: is.text,
      example: '/etc/station/devices.json',
      help: 'JSON file with devices that already have their logins.',
    },
    PROVISIONING_SERVICE_UUID: {
      check: is.uuid,
      default: provisioningServiceUuid,
      help: 'BLE service that devices advertise while they wait to be set up.',
    },
    PROVISIONING_CHARACTERISTIC_UUID: {
      check: is.uuid,
      default: provisioningCharacteristicUuid,
      help: 'Its characteristic, which the Wi-Fi and the login are written to.',
    },
    BLE_HELPER: {
      check: is.text,
      otherwise: 'the helper that comes with the backend',
      example: 'off',
      help: 'Program that finds devices over Bluetooth, or off. It gets the variables whose names begin with BLE_.',
    },
  }),
  ...group('Firmware of devices', {
    FIRMWARE_FOLDER: {
      check: is.urlFolder,
      default: '/firmware',
      help: 'URL path at which the proxy serves the cached firmware. Must equal FIRMWARE_FOLDER of the agent.',
    },
    FIRMWARE_SOAK_SECONDS: {
      check: is.wholeNumber(0, 86_400),
      default: '60',
      help: 'How long a wave of devices must run a new firmware before the next wave starts.',
    },
    FIRMWARE_CONCURRENCY: {
      check: is.wholeNumber(1, 1000),
      default: '10',
      help: 'How many devices update at the same time.',
    },
    FIRMWARE_STARTS_PER_MINUTE: {
      check: is.wholeNumber(1, 10_000),
      default: '60',
      help: 'How many devices of a rollout begin to update in a minute.',
    },
    FIRMWARE_ATTEMPTS: {
      check: is.wholeNumber(1, 10),
      default: '2',
      help: 'How often a device may refuse a firmware or fall back from it before the rollout skips it.',
    },
  }),
  ...group('Network', proxyVariables),
  ...group('Automations', {
    AUTOMATION_WEBHOOK_ALLOW: {
      check: subnets,
      example: '192.168.1.0/24',
      help: 'Private addresses that webhooks may call.',
    },
  }),
  ...cloudVariables,
} as const;
