import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { readOrMakeLogins } from '@station/simulators/devices/devices-file';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { backendProgram, buildForTests } from '../../rig/build.ts';
import { createMosquitto, type Mosquitto } from '../../rig/mosquitto.ts';
import { createPostgres } from '../../rig/postgres.ts';
import { findFreePort } from '@station/kit/free-port';
import { startDaemon, waitFor, type Daemon } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';

/** The two ways to run a backend. */
export const kinds = ['the embedded broker and SQLite', 'Mosquitto and PostgreSQL'] as const;
export type Kind = (typeof kinds)[number] | 'Mosquitto and SQLite';

export const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
export const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };

/** A backend in its own process with all its components. It can be stopped and restarted at the same addresses. */
export type Installation = AsyncDisposable & {
  folder: string;
  /** DATA_DIR of the backend. */
  dataDir: string;
  /** Variables of the backend, read at its next start. */
  env: Record<string, string>;
  url: string;
  /** URL of the broker for devices. */
  mqttUrl: string;
  /** Null: the embedded broker. */
  mosquitto: Mosquitto | null;
  /** Devices that the backend imports at its first start. */
  logins: readonly DeviceLogin[];
  devicesFile: string;
  /** Resolves when it is healthy; with `anyway`, when it answers. */
  startBackend(anyway?: 'anyway'): Promise<void>;
  /** Resolves when it has ended. */
  stopBackend(signal: NodeJS.Signals): Promise<void>;
  /** Process id of the current backend process. */
  pid(): number;
  query<Row>(sql: string): Promise<Row[]>;
  /** Log lines with this event, of all processes of the backend. */
  logged(event: string): Promise<Record<string, unknown>[]>;
  /** Creates the owner at the first call. @returns a new access token. */
  logIn(): Promise<string>;
};

/**
 * @param devices how many to make logins for; unset: `logins` has them.
 * @param tls connects the backend to Mosquitto with TLS.
 * @param env additional variables of the backend.
 */
export async function install(
  kind: Kind,
  options: { devices?: number; logins?: readonly DeviceLogin[]; tls?: boolean; env?: Record<string, string> },
): Promise<Installation> {
  await buildForTests('backend');
  await using starting = new AsyncDisposableStack();
  const workspace = starting.use(await createWorkspace());
  const { folder } = workspace;
  const isEmbedded = kind === 'the embedded broker and SQLite';
  const mosquitto = !isEmbedded ? await createMosquitto(workspace, { tls: options.tls === true }) : null;
  const postgres = kind === 'Mosquitto and PostgreSQL' ? await createPostgres(workspace) : null;
  const devicesFile = join(folder, 'devices.json');
  if (options.logins !== undefined) await writeFile(devicesFile, JSON.stringify({ devices: options.logins }));
  const logins = await readOrMakeLogins(devicesFile, options.devices ?? 0);
  const port = await findFreePort();
  const mqttPort = mosquitto?.port ?? (await findFreePort());
  const dataDir = join(folder, 'data');
  const url = `http://127.0.0.1:${port}`;
  const mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
  const env: Record<string, string> = {
    PORT: String(port),
    DATA_DIR: dataDir,
    BLE_HELPER: 'off',
    STATION_ID: stationId,
    DEVICES_FILE: devicesFile,
    ...(postgres === null ? {} : { DATABASE_URL: postgres.url }),
    ...(mosquitto === null
      ? { MQTT_PORT: String(mqttPort) }
      : // As `docker-compose.yml` says of this Mosquitto.
        { MQTT_URL: `${mqttUrl}?inflight=5000`, MQTT_USERNAME: 'backend', MQTT_PASSWORD: mosquitto.password }),
    ...(mosquitto?.tls
      ? { MQTT_URL: `mqtts://127.0.0.1:${mosquitto.tls.port}`, MQTT_CA_FILE: mosquitto.tls.caFile }
      : {}),
    ...options.env,
  };
  const logFile = join(folder, 'backend.log');
  let backend: Daemon | null = null;
  const all = starting.move();
  return {
    folder,
    dataDir,
    env,
    url,
    mqttUrl,
    mosquitto,
    logins,
    devicesFile,
    startBackend: async (anyway) => {
      const started = await startDaemon(process.execPath, [backendProgram], { logFile, env });
      backend = workspace.own(started);
      const well = waitFor('the backend to be healthy', async () => {
        if (!started.running()) return 'it ended';
        return (await fetch(`${url}/api/health`)).ok || anyway !== undefined;
      });
      await well.catch(async (error: unknown) => {
        throw new Error(`the backend does not become healthy: ${await started.logTail()}`, { cause: error });
      });
      if (!started.running()) throw new Error(`the backend ended: ${await started.logTail()}`);
    },
    stopBackend: async (signal) => {
      backend?.kill(signal);
      await backend?.ended;
    },
    pid: () => backend?.pid ?? 0,
    query: postgres === null ? openSqliteQuery(join(dataDir, 'station.sqlite')) : openPostgresQuery(postgres.url),
    logged: async (event) => (await readLog(logFile)).filter((line) => line['event'] === event),
    logIn: createLogIn(url, dataDir),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const openSqliteQuery =
  (file: string) =>
  async <Row>(sql: string): Promise<Row[]> => {
    using database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    return database.prepare(sql).all() as Row[];
  };

const openPostgresQuery =
  (connectionString: string) =>
  async <Row>(sql: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    try {
      return (await client.query(sql)).rows as Row[];
    } finally {
      await client.end();
    }
  };

/** A crashing process writes lines that are not JSON. */
async function readLog(file: string): Promise<Record<string, unknown>[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    try {
      return JSON.parse(line) as Record<string, unknown>;
    } catch {
      return { event: 'not a log line', line };
    }
  });
}

function createLogIn(url: string, dataDir: string): () => Promise<string> {
  let isSetUp = false;
  return async () => {
    const code = isSetUp ? '' : (await readFile(join(dataDir, 'setup-code'), 'utf8')).trim();
    const { email, password } = owner;
    const [path, body] = isSetUp ? ['login', { email, password }] : ['setup', { code, ...owner }];
    const response = await fetch(`${url}/api/auth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    isSetUp = true;
    return ((await response.json()) as { accessToken: string }).accessToken;
  };
}
