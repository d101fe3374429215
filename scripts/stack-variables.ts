// Variables of the stack's `.env`: those that the compose file itself uses, and those of the backend that it passes on.
import { backendVariables } from '../apps/backend/src/variables.ts';
import * as is from '../packages/kit/src/config-values.ts';
import { group, type Variables } from '../packages/kit/src/env-config.ts';

/** Variables of the backend that are not for the stack's `.env`: the image or the compose file decides them. */
export const fixedInCompose = [
  'STATION_VERSION',
  'HOST',
  'PORT',
  'DATA_DIR',
  'WEB_DIR',
  'AGENT_SOCKET',
  'AGENT_URL',
  'MQTT_HOST',
  'MQTT_PORT',
  'MQTT_PLAIN',
  'MQTT_TLS_FILE',
  'MQTT_TLS_PORT',
  'MQTT_USERNAME',
  'MQTT_PASSWORD',
] as const;

const passwordInUrl = is.matching(/^[A-Za-z0-9]+$/, 'be letters and digits only: it becomes part of a URL');

const composeVariables = {
  ...group('Images', {
    STATION_IMAGES: {
      check: is.text,
      required: true,
      help: 'Repository of the images, without the last part (/backend, /frontend, /proxy).',
    },
    STATION_VERSION: {
      check: is.text,
      required: true,
      help: 'The first release. Later the agent chooses the release.',
    },
    PROXY_VERSION: { check: is.text, default: '2', help: 'Tag of the proxy image, which releases do not change.' },
    MQTT_IMAGE: { check: is.text, default: 'eclipse-mosquitto:2', help: 'Image of the MQTT broker.' },
    POSTGRES_IMAGE: { check: is.text, default: 'postgres:17', help: 'Image of PostgreSQL.' },
  }),
  ...group('The machine', {
    HTTP_PORT: { check: is.port, default: '80', help: 'Port of the web app on the station.' },
    HTTPS_PORT: {
      check: is.port,
      default: '443',
      help: 'Port of the web app with HTTPS. Pages lead over to HTTPS only when both ports are the usual ones.',
    },
    MQTT_PORT: { check: is.port, default: '1883', help: 'Port of the MQTT broker on the station.' },
    MQTT_TLS_PORT: { check: is.port, default: '8883', help: 'Port of the MQTT broker with TLS.' },
    MQTT_PLAIN: { check: is.boolean, default: 'true', help: 'false: devices reach the broker with TLS only.' },
    MQTT_PASSWORD: {
      check: passwordInUrl,
      required: true,
      secret: true,
      help: 'Password of the backend at the MQTT broker; `openssl rand -hex 24` creates one.',
    },
    FIRMWARE_CACHE_DIR: {
      check: is.text,
      default: '../firmware-cache',
      help: 'The FIRMWARE_CACHE_DIR of the agent.',
    },
    TLS_DIR: { check: is.text, default: '../station-agent-data/tls', help: 'The TLS_DIR of the agent.' },
    AGENT_SOCKET_DIR: { check: is.text, default: '/run/station-agent', help: 'Folder of the socket of the agent.' },
    AGENT_SOCKET_GROUP: {
      check: is.wholeNumber(0, 2 ** 32 - 2),
      default: '1000',
      help: 'Number of the group that may use the socket of the agent.',
    },
    BLUEZ_DIR: {
      check: is.text,
      default: '/run/station-bluez',
      help: 'Folder of the D-Bus socket for Bluetooth, which station-bluez.service makes.',
    },
    BLE_ADAPTER: {
      check: is.matching(/^hci\d+$/, 'be the name of a Bluetooth adapter, like hci0'),
      example: 'hci1',
      otherwise: 'the first that is on',
      help: 'Bluetooth adapter that finds devices, where the machine has several.',
    },
    TZ: { check: is.text, example: 'Europe/Berlin', otherwise: 'UTC', help: 'The time zone of schedules.' },
  }),
  ...group('PostgreSQL instead of SQLite (also set DATABASE_URL)', {
    COMPOSE_PROFILES: {
      check: is.text,
      example: 'postgres',
      help: 'Optional services to start, for example postgres. The agent also reads it here.',
    },
    POSTGRES_PASSWORD: { check: passwordInUrl, secret: true, help: 'Password of the database.' },
  }),
} as const;

const isFixed = (name: string): boolean => (fixedInCompose as readonly string[]).includes(name);

export const stackVariables: Variables = {
  ...composeVariables,
  ...Object.fromEntries(Object.entries(backendVariables).filter(([name]) => !isFixed(name))),
  STATION_ID: { ...backendVariables.STATION_ID, required: true },
};
