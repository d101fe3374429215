import { resolve } from 'node:path';

/** Configuration of `npm start` from its environment. */
export type StationConfig = {
  root: string;
  /** Folder for everything that it writes, except the built web app. */
  stateFolder: string;
  /** Port of the web page; null: 8080, or the next free one. */
  port: number | null;
  /** Port of the release server; null: 8090, or the next free one. */
  releasePort: number | null;
  /** Whether the release server has newer firmware for the lamps. A person approves it, or chooses automatic updates. */
  offersFirmware: boolean;
  /** Whether the backend is given the Wi-Fi of the virtual home, as an agent that joined one does. */
  forwardsWifi: boolean;
  /** Whether the agent manages a simulated Wi-Fi with a few networks; otherwise it manages no network. */
  simulatesWifi: boolean;
  /** The variables of the cloud link that are set, for the backend. */
  cloud: Readonly<Record<string, string>>;
  /** Passed to the programs that it starts. */
  path: string;
  home: string;
};

export type StationConfigReading = { kind: 'ok'; config: StationConfig } | { kind: 'invalid'; problems: string[] };

const cloudNames = ['CLOUD_HOST', 'CLOUD_CA_FILE', 'CLOUD_TLS_PINS', 'CLOUD_OUTBOX_MAX_MB'];

/**
 * PORT, RELEASE_PORT and STATION_STATE_DIR (default `.station` in the repository); OFFER_FIRMWARE, FORWARD_WIFI and
 * SIMULATE_WIFI, true or false; CLOUD_HOST and its related variables, which the backend checks. Reports all problems at once.
 */
export function envToStationConfig(
  env: Readonly<Record<string, string | undefined>>,
  root: string,
): StationConfigReading {
  const problems: string[] = [];
  const readPort = (name: string): number | null => {
    const value = env[name]?.trim() ?? '';
    if (value === '') return null;
    const port = Number(value);
    if (!/^\d+$/.test(value) || port > 65_535) problems.push(`${name} must be a number from 0 to 65535`);
    return port;
  };
  const readFlag = (name: string, usual = 'true'): boolean => {
    const value = env[name]?.trim() || usual;
    if (!['true', 'false'].includes(value)) problems.push(`${name} must be true or false`);
    return value === 'true';
  };
  const config: StationConfig = {
    root,
    stateFolder: resolve(root, env['STATION_STATE_DIR']?.trim() || '.station'),
    port: readPort('PORT'),
    releasePort: readPort('RELEASE_PORT'),
    offersFirmware: readFlag('OFFER_FIRMWARE'),
    forwardsWifi: readFlag('FORWARD_WIFI'),
    simulatesWifi: readFlag('SIMULATE_WIFI', 'false'),
    cloud: Object.fromEntries(cloudNames.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
    path: env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    home: env['HOME'] ?? '/',
  };
  return problems.length === 0 ? { kind: 'ok', config } : { kind: 'invalid', problems };
}

export const readStationConfig = (root: string): StationConfigReading => envToStationConfig(process.env, root);
