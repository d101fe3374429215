import { logLevels } from '@station/kit/logger';
import * as is from '@station/kit/config-values';
import { group, type Check } from '@station/kit/env-config';
import { proxyVariables } from '@station/kit/outgoing-proxy';
import { parseMaintenanceWindow, type MaintenanceWindow } from './core/maintenance-window.ts';

const minutes = is.duration(60_000, 0.01, 43_200);
const name = is.matching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/, 'be a name of letters, digits, "_", "." and "-"');
const webUrl = is.url(['https', 'http']);
const manifestUrl = is.url(['https', 'http', 'file']);
const composeFile = is.matching(
  /^[a-zA-Z0-9][a-zA-Z0-9_.-]*\.ya?ml$/,
  'be the name of a .yml or .yaml file in COMPOSE_PROJECT_PATH, without a folder',
);
const maintenanceWindow: Check<MaintenanceWindow> = (text) => {
  const window = parseMaintenanceWindow(text);
  return window ? is.ok(window) : is.must('be HH:MM-HH:MM in local time, with two different times');
};
const watchdogMode: Check<'auto' | 'on' | 'off'> = (text, context) => {
  if (text.toLowerCase() === 'auto') return is.ok('auto');
  const chosen = is.boolean(text, context);
  return chosen.ok ? is.ok(chosen.value ? 'on' : 'off') : is.must('be auto, true or false');
};

/** Every variable of the agent (specification, "Agent configuration"; contracts, section 3). */
export const agentVariables = {
  ...group('Station', {
    STATION_ID: { check: is.uuid, required: true, help: 'The identity of this station; the stack has the same.' },
    STATION_CODE: {
      check: is.stationCode,
      secret: true,
      otherwise: 'the backend makes a set-up code, and the agent a code for an open hotspot',
      help: 'The code on the label of this station, which `station-agent code` shows; the stack has the same. It creates the first account, and the setup page of an open hotspot asks for it.',
    },
    DATA_DIR: { check: is.path, default: '~/station-agent-data', help: 'Folder of the state of the agent.' },
    LOG_LEVEL: { check: is.oneOf(logLevels), default: 'info', help: 'Events below this level are not logged.' },
  }),
  ...group('Releases', {
    UPDATE_SERVER_URL: {
      check: manifestUrl,
      required: true,
      help: 'Address of the release manifest. A file:// address works without a network.',
    },
    UPDATE_PUBLIC_KEY: {
      check: is.signingKeys,
      otherwise: 'signatures are not verified',
      help: 'When set, only releases that a manifest signed by one of these keys names are installed. Without it, nothing is installed automatically from an http:// address of another machine.',
    },
    CHECK_INTERVAL_MINUTES: { check: minutes, default: '60', help: 'How often the release manifest is read.' },
    AUTO_UPDATE: {
      check: is.boolean,
      default: 'true',
      help: 'Whether newer releases and firmware are installed automatically. What a person chooses in the web app wins.',
    },
    MAINTENANCE_WINDOW: {
      check: maintenanceWindow,
      otherwise: 'at any time',
      example: '02:00-05:00',
      help: 'Automatic updates begin only in this part of the day.',
    },
    KEEP_RELEASES: {
      check: is.wholeNumber(1, 20),
      default: '1',
      help: 'How many previous releases keep their images, for a rollback without the network.',
    },
  }),
  ...group('Stack', {
    COMPOSE_PROJECT_PATH: { check: is.path, default: '~/station', help: 'Folder of the compose project.' },
    COMPOSE_FILE: { check: composeFile, default: 'docker-compose.yml', help: 'The compose file in that folder.' },
    BOOTSTRAP_ON_START: {
      check: is.boolean,
      default: 'false',
      help: 'Whether a stopped stack is started when the agent starts.',
    },
    BACKEND_CONTAINER_NAME: {
      check: name,
      default: 'station-backend',
      help: 'Name of the container of the backend, if it has no Compose labels.',
    },
    FRONTEND_CONTAINER_NAME: {
      check: name,
      default: 'station-frontend',
      help: 'Name of the container of the frontend, if it has no Compose labels.',
    },
    REVERSE_PROXY_SERVICE: {
      check: name,
      default: 'proxy',
      help: 'The compose service that is stopped while the Wi-Fi setup page needs its port.',
    },
    HEALTHCHECK_URL: {
      check: webUrl,
      default: 'http://localhost/api/health',
      help: 'A new release is healthy when this URL answers with a status from 200 to 299.',
    },
    HEALTHCHECK_TIMEOUT_SECONDS: {
      check: is.duration(1000, 1, 3600),
      default: '60',
      help: 'How long a new release may take to become healthy before it is rolled back.',
    },
    DEVICES_BACK_SECONDS: {
      check: is.duration(1000, 1, 3600),
      default: '200',
      help: 'How long the devices that were online may stay away after an update before it is rolled back.',
    },
    PROBATION_MINUTES: {
      check: is.duration(60_000, 0, 1440),
      default: '60',
      help: 'How long a new release is watched after it was found healthy; 0: not at all.',
    },
    STABILIZATION_SECONDS: {
      check: is.duration(1000, 0, 3600),
      default: '45',
      help: 'How long to wait after the start of a new release before its health is checked.',
    },
    DOCKER_HOST: { check: is.engineSocket, default: '/var/run/docker.sock', help: 'Socket of the container engine.' },
    DOCKER_PROGRAM: { check: is.program, default: 'docker', help: 'The docker command, with its Compose plugin.' },
    CONTAINER_REGISTRY: {
      check: is.registryHost,
      otherwise: 'the default of the engine',
      help: 'The image registry that the credentials below are for.',
    },
    CONTAINER_USERNAME: {
      check: is.matching(/^[\x20-\x7e]{1,256}$/, 'be printable ASCII'),
      help: 'User name at the image registry, together with CONTAINER_TOKEN.',
    },
    CONTAINER_TOKEN: {
      check: is.matching(/^[\x20-\x7e]{1,4096}$/, 'be printable ASCII'),
      secret: true,
      help: 'Password or token at the image registry.',
    },
  }),
  ...group('Network', proxyVariables),
  ...group('Firmware of devices', {
    FIRMWARE_MANIFEST_URL: {
      check: manifestUrl,
      otherwise: 'firmware/manifest.json beside the release manifest',
      help: 'Address of the firmware manifest.',
    },
    FIRMWARE_CACHE_DIR: { check: is.path, default: '~/firmware-cache', help: 'Folder of the cached firmware.' },
    FIRMWARE_FOLDER: {
      check: is.urlFolder,
      default: '/firmware',
      help: 'URL path at which the reverse proxy serves the cached firmware. Must equal FIRMWARE_FOLDER of the stack.',
    },
    FIRMWARE_CHECK_INTERVAL_MINUTES: {
      check: minutes,
      default: '60',
      help: 'How often the firmware manifest is read.',
    },
    FIRMWARE_MAX_BYTES: {
      check: is.wholeNumber(1024, 2 ** 30),
      default: String(16 * 2 ** 20),
      help: 'A larger firmware file is not downloaded.',
    },
  }),
  ...group('Backend', {
    BACKEND_URL: { check: webUrl, otherwise: 'the origin of HEALTHCHECK_URL', help: 'Address of the backend.' },
    BACKEND_AGENT_TOKEN: {
      check: is.token,
      secret: true,
      help: 'Token for calls to the backend; must equal AGENT_TOKEN of the stack.',
    },
  }),
  ...group('HTTP API of the agent', {
    HOST: { check: is.host, default: '127.0.0.1', help: 'Address that the API listens on.' },
    PORT: { check: is.port, default: '3001', help: 'Port that the API listens on.' },
    AGENT_SOCKET: {
      check: is.socketPath,
      otherwise: 'agent.sock in the runtime folder of the service',
      help: 'Unix socket that serves the same API.',
    },
    AGENT_TOKEN: {
      check: is.token,
      secret: true,
      help: 'Requests must have this token. Without it the API is open to programs on this machine.',
    },
  }),
  ...group('Encryption', {
    HTTPS: {
      check: is.oneOf(['own', 'acme', 'off'] as const),
      default: 'own',
      help: 'own: the station makes certificates with an authority of its own, which phones and computers can trust. acme: also one for PUBLIC_NAME, from a public authority. off: no HTTPS.',
    },
    PUBLIC_NAME: {
      check: is.publicName,
      example: 'home.example.org',
      help: 'The name of this station in the DNS of the internet, for HTTPS=acme; the stack has the same.',
    },
    ACME_EMAIL: {
      check: is.matching(/^[\w.%+-]{1,64}@[a-zA-Z0-9.-]{1,190}$/, 'be an e-mail address'),
      otherwise: 'the authority does not know whom to write to',
      example: 'owner@example.org',
      help: 'Where the public authority writes to when there is something about the certificate.',
    },
    ACME_DIRECTORY: {
      check: is.matching(/^https:\/\/[\w.:[\]-]+(\/[\w.~/%-]*)?$/, 'be an https:// address without a query'),
      default: 'https://acme-v02.api.letsencrypt.org/directory',
      help: 'The authority that HTTPS=acme asks (ACME, RFC 8555).',
    },
    ACME_CA_FILE: {
      check: is.path,
      otherwise: 'authorities that every system trusts',
      help: 'Certificates (PEM) by which the server of ACME_DIRECTORY is trusted, for an authority of your own.',
    },
    TLS_DIR: {
      check: is.path,
      otherwise: 'tls in DATA_DIR',
      help: 'Folder of the certificates that the proxy and the broker read.',
    },
  }),
  ...group('Wi-Fi and hotspot', {
    WIFI_WATCHDOG: {
      check: watchdogMode,
      default: 'auto',
      help: 'Whether the agent manages Wi-Fi; auto: when NetworkManager and a Wi-Fi device exist.',
    },
    WIFI_INTERFACE: {
      check: is.matching(/^(?!\.{1,2}$)[^\s/:]{1,15}$/, 'be the name of a network interface'),
      otherwise: 'the first Wi-Fi device',
      example: 'wlan0',
      help: 'The Wi-Fi device that the agent manages.',
    },
    WIFI_COUNTRY: {
      check: is.matching(/^[A-Z]{2}$/, 'be two capital letters (ISO 3166-1)'),
      example: 'FI',
      help: 'The country whose radio rules apply. Some radios stay off without one.',
    },
    CONNECTIVITY_CHECK_URL: {
      check: webUrl,
      otherwise: 'the server of the release manifest',
      help: 'URL for the internet check; any answer counts as success.',
    },
    STATION_URL: {
      check: webUrl,
      otherwise: 'http://<host name>.local/',
      help: 'URL of the station in the local network, which the setup page shows.',
    },
    HOTSPOT_SSID: {
      check: is.ssid,
      otherwise: 'Station- and the last four characters of STATION_ID',
      help: 'Name of the hotspot for the Wi-Fi setup.',
    },
    HOTSPOT_PASSWORD: {
      check: is.passphrase,
      secret: true,
      otherwise: 'the hotspot is open',
      help: 'Password of the hotspot. In an open one others nearby can read what is typed on the setup page, and a station that was ever in a network asks for its code.',
    },
    HOTSPOT_ADDRESS: {
      check: is.ipv4WithPrefix,
      default: '192.0.2.1/24',
      help: 'Address of the station in its hotspot, with the length of the network prefix.',
    },
    PORTAL_PORT: { check: is.port, default: '80', help: 'Port of the Wi-Fi setup page.' },
  }),
} as const;
