import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { findFreePort } from '@station/kit/free-port';
import { imageRecipes } from '../../../scripts/release/image-recipes.ts';
import { run, startDaemon, waitFor, type Daemon } from '../../rig/program.ts';
import type { Workspace } from '../../rig/workspace.ts';
import { cores, onCore } from './pinned.ts';

const root = join(import.meta.dirname, '../../..');
export const stationOwner = { email: 'olena@example.org', password: 'correct horse battery', name: 'Olena' };
export const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';

export type StationBackend = {
  daemon: Daemon;
  url: string;
  dataDir: string;
  /** Port of the embedded broker. */
  mqttPort: number;
  /** From the start of the process to the first healthy answer of /api/health. */
  startMs: number;
  /** The owner's access token. The first call sets up the station. */
  logIn(): Promise<string>;
  query<T>(sql: string): T[];
};

/**
 * Builds the shipped backend and copies it into the workspace.
 * @returns the path of the program.
 */
export async function buildBackend(workspace: Workspace): Promise<string> {
  process.stdout.write('building the backend …\n');
  await run(process.execPath, [join(root, 'scripts/build.ts'), 'backend'], { cwd: root });
  const folder = join(workspace.folder, 'program');
  await cp(join(root, 'dist/backend'), folder, { recursive: true });
  return join(folder, 'station-backend.mjs');
}

/** The `node` flags of the container image, and its settings for the C library. */
export function imageFlags(): { flags: string[]; malloc: Record<string, string> } {
  const { Cmd, Env } = imageRecipes.backend.config('0.0.0');
  const settings = Env.filter((line) => line.startsWith('MALLOC_')).map((line) => line.split('='));
  return { flags: Cmd.filter((word) => word.startsWith('--')), malloc: Object.fromEntries(settings) };
}

/**
 * Starts the built backend as its image does, on the core of the measured program, with devices that already have
 * logins.
 * @param mqtt settings of another broker; default: the embedded one.
 * @param env further settings.
 * @param dataDir default: a folder of the workspace.
 */
export async function startStationBackend(
  workspace: Workspace,
  options: {
    name: string;
    program: string;
    logins: readonly DeviceLogin[];
    mqtt?: Record<string, string>;
    env?: Record<string, string>;
    dataDir?: string;
  },
): Promise<StationBackend> {
  const { name, program, logins, mqtt, env: more = {} } = options;
  const folder = await workspace.subfolder(name);
  const devicesFile = join(folder, 'devices.json');
  await writeFile(devicesFile, JSON.stringify({ devices: logins }), { mode: 0o600 });
  const port = await findFreePort();
  const mqttPort = await findFreePort();
  const dataDir = options.dataDir ?? join(folder, 'data');
  const url = `http://127.0.0.1:${port}`;
  const { flags, malloc } = imageFlags();
  const env = {
    ...malloc,
    NODE_ENV: 'production',
    PORT: String(port),
    DATA_DIR: dataDir,
    STATION_ID: stationId,
    DEVICES_FILE: devicesFile,
    BLE_HELPER: 'off',
    ...(mqtt ?? { MQTT_PORT: String(mqttPort) }),
    ...more,
  };
  const [taskset, ...args] = onCore(cores.measured, [process.execPath, ...flags, program]);
  const started = performance.now();
  const daemon = workspace.own(await startDaemon(taskset, args, { logFile: join(folder, 'log'), cwd: folder, env }));
  await waitFor('the backend to be healthy', async () => {
    if (!daemon.running()) throw new Error(await daemon.logTail());
    return (await fetch(`${url}/api/health`)).ok;
  });
  const startMs = performance.now() - started;
  return {
    daemon,
    url,
    dataDir,
    mqttPort,
    startMs,
    logIn: () => setUp(url, dataDir),
    query: (sql) => query(dataDir, sql),
  };
}

async function setUp(url: string, dataDir: string): Promise<string> {
  const code = (await readFile(join(dataDir, 'setup-code'), 'utf8')).trim();
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/auth/setup`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ code, ...stationOwner }),
  });
  const body = (await response.json()) as { accessToken?: string };
  if (body.accessToken === undefined) throw new Error(`The set-up failed: ${JSON.stringify(body)}`);
  return body.accessToken;
}

function query<T>(dataDir: string, sql: string): T[] {
  using database = new DatabaseSync(join(dataDir, 'station.sqlite'), { readOnly: true, timeout: 5_000 });
  return database.prepare(sql).all() as T[];
}
