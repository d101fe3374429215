import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { Session } from '@station/protocol/rest';
import { readOrMakeLogins } from '@station/simulators/devices/devices-file';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { backendProgram, buildForTests } from '../../rig/build.ts';
import { createMosquitto, type Mosquitto } from '../../rig/mosquitto.ts';
import { findFreePort } from '@station/kit/free-port';
import { createPostgres } from '../../rig/postgres.ts';
import { startDaemon, waitFor, type Daemon } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';

export const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';

/** False: it hangs and answers nothing. */
const answerMs = 10_000;

type ReplicaHealth = { status: string; replica?: { id: string; leader: boolean } };

export type Replica = {
  id: string;
  url: string;
  /** Its DATA_DIR. */
  data: string;
  start(): Promise<void>;
  /** SIGKILL, like a machine that fails. */
  kill(): Promise<void>;
  /** SIGTERM, as in an update. */
  stop(): Promise<void>;
  /** SIGSTOP and SIGCONT: it hangs, with all its connections. */
  freeze(): void;
  thaw(): void;
  health(): Promise<ReplicaHealth>;
};

export type Cluster = AsyncDisposable & {
  mosquitto: Mosquitto;
  mqttUrl: string;
  logins: readonly DeviceLogin[];
  replicas: readonly Replica[];
  query<T extends object>(text: string, values?: readonly unknown[]): Promise<T[]>;
  /**
   * Null while no replica leads.
   * @throws when two lead.
   */
  leader(): Promise<Replica | null>;
  /** The log of all replicas. */
  log(): Promise<string>;
};

/**
 * PostgreSQL, Mosquitto and replicas of the backend, each in its own process with its own data folder.
 * @param more environment of all of them.
 */
export async function startCluster(
  names: readonly string[],
  devices: number,
  more: Readonly<Record<string, string>> = {},
): Promise<Cluster> {
  await buildForTests('backend');
  await using starting = new AsyncDisposableStack();
  const workspace = starting.use(await createWorkspace());
  const [postgres, mosquitto] = await Promise.all([createPostgres(workspace), createMosquitto(workspace)]);
  const mqttUrl = `mqtt://127.0.0.1:${mosquitto.port}`;
  const devicesFile = join(workspace.folder, 'devices.json');
  const logins = await readOrMakeLogins(devicesFile, devices);
  const shared = {
    STATION_ID: stationId,
    DATABASE_URL: postgres.url,
    MQTT_URL: mqttUrl,
    MQTT_USERNAME: 'backend',
    MQTT_PASSWORD: mosquitto.password,
    JWT_SECRET: 'the secret that all replicas of this station share',
    DEVICES_FILE: devicesFile,
    BLE_HELPER: 'off',
    ...more,
  };
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
  pool.on('error', () => undefined);
  starting.defer(() => pool.end());
  const replicas: Replica[] = [];
  for (const id of names) {
    const data = join(workspace.folder, `data-${id}`);
    const env = { ...shared, REPLICA_ID: id, PORT: String(await findFreePort()), DATA_DIR: data };
    const replica = createReplica(id, env, join(workspace.folder, 'backends.log'));
    starting.defer(() => replica.stop());
    replicas.push(replica);
  }
  await Promise.all(replicas.map(({ start }) => start()));
  const all = starting.move();
  return {
    mosquitto,
    mqttUrl,
    logins,
    replicas,
    query: async <T extends object>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<T>(text, [...values])).rows,
    leader: async () => {
      const answers = await Promise.allSettled(replicas.map(({ health }) => health()));
      const leading = replicas.filter((_, index) => {
        const answer = answers[index];
        return answer?.status === 'fulfilled' && answer.value.replica?.leader === true;
      });
      if (leading.length > 1) throw new Error('Two replicas lead at once');
      return leading[0] ?? null;
    },
    log: () => readFile(join(workspace.folder, 'backends.log'), 'utf8'),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function createReplica(id: string, env: Record<string, string>, logFile: string): Replica {
  const url = `http://127.0.0.1:${env['PORT']}`;
  let daemon: Daemon | null = null;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (daemon?.running()) {
      daemon.kill(signal);
      // A frozen process would not receive the signal.
      daemon.kill('SIGCONT');
    }
    await daemon?.ended;
  };
  const health = async (): Promise<ReplicaHealth> => {
    const answer = await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(answerMs) });
    return (await answer.json()) as ReplicaHealth;
  };
  return {
    id,
    url,
    data: env['DATA_DIR'] ?? '',
    health,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze: () => daemon?.kill('SIGSTOP'),
    thaw: () => daemon?.kill('SIGCONT'),
    start: async () => {
      const started = await startDaemon(process.execPath, [backendProgram], { logFile, env });
      daemon = started;
      await waitFor(`replica ${id} to be healthy`, async () => {
        if (!started.running()) throw new Error(await started.logTail());
        return (await health()).status === 'ok';
      });
    },
  };
}

const person = { email: 'olena@example.org', password: 'correct horse battery' };

/** Creates the owner through one replica. All others accept the token. The setup code is the same at each. */
export async function setUpOwner(cluster: Cluster): Promise<string> {
  const codes = await Promise.all(
    cluster.replicas.map(async ({ data }) => (await readFile(join(data, 'setup-code'), 'utf8')).trim()),
  );
  if (new Set(codes).size !== 1) throw new Error('The setup codes differ');
  const [first] = cluster.replicas;
  const session = await post<Session>(`${first?.url}/api/auth/setup`, { code: codes[0], name: 'Olena', ...person });
  return session.accessToken;
}

/** @throws with the answer unless it is a success. */
export async function post<T>(url: string, body: unknown, token?: string): Promise<T> {
  const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

export async function get<T>(url: string, token: string): Promise<{ status: number; body: T }> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: (await response.json()) as T };
}
