import { join } from 'node:path';
import { systemClock, type Clock } from '@station/kit/clock';
import { nodeDisk, readText } from '@station/kit/durable-files';
import type { Session } from '@station/protocol/rest';
import { startBackend, type Backend } from '../src/backend.ts';
import { storageHere } from '../src/backup/adapters/storage-here.ts';
import type { RunJob } from '../src/backup/attempt-job.ts';
import type { CloudTuning } from '../src/cloud/cloud.ts';
import { envToConfig, secretsOf } from '../src/config.ts';
import type { Radio } from '../src/provisioning/radio.ts';
import type { HttpServer } from '../src/http/server.ts';
import { createPasswordHashes } from '../src/people/password-hashes.ts';
import { recordedLog } from './recorded-log.ts';
import { postgresDatabase, postgresUrl } from './test-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

export type RunningBackend = AsyncDisposable & {
  backend: Backend;
  http: HttpServer;
  dataDir: string;
  logger: ReturnType<typeof recordedLog>;
  setupCode(): Promise<string>;
  /** Creates the owner by the set-up of the first run. */
  setUp(): Promise<Session>;
};

export const owner = { email: 'olena@example.org', password: 'correct horse battery', name: 'Olena' };

/** Real ones, which take a hundredth of the usual time. */
const cheapHashes = createPasswordHashes({ memory: 128, passes: 1, parallelism: 1 });

export type BackendOptions = {
  env?: Record<string, string>;
  clock?: Clock;
  onReset?: () => void;
  onRestart?: () => void;
  cloudTuning?: CloudTuning;
  radio?: Radio;
  runBackupJob?: RunJob;
  hasThreads?: boolean;
  extraRoutes?: (app: HttpServer) => Promise<void>;
  /** Data folder that remains after disposal, so that a second backend can start on it; default: a temporary one. */
  dataDir?: string;
};

/** The whole backend as the program runs it, on a free port, with its own database: SQLite, or PostgreSQL if `STATION_TEST_POSTGRES` is set. */
export async function runBackend(options: BackendOptions = {}): Promise<RunningBackend> {
  await using starting = new AsyncDisposableStack();
  const dataDir = options.dataDir ?? join(starting.use(await temporaryFolder()).path, 'data');
  const database = postgresUrl === null ? null : starting.use(await postgresDatabase(postgresUrl, dataDir));
  const config = envToConfig({
    PORT: '0',
    MQTT_PORT: '0',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'debug',
    BLE_HELPER: 'off',
    METRICS_TOKEN: metricsToken,
    ...(database && { DATABASE_URL: database.url }),
    ...options.env,
  });
  if (!config.ok) throw new Error(config.problems.join('; '));
  const logger = recordedLog(secretsOf(config.config));
  const host = {
    clock: options.clock ?? systemClock,
    disk: nodeDisk,
    logger,
    random: Math.random,
    timeZone: 'Europe/Kyiv',
  };
  const { extraRoutes, cloudTuning, radio, runBackupJob, hasThreads = false } = options;
  const backend = starting.use(
    await startBackend(config.config, host, {
      hasThreads,
      passwordHashes: cheapHashes,
      onDamage: () => undefined,
      onReset: options.onReset ?? (() => undefined),
      onRestart: options.onRestart ?? (() => undefined),
      ...(cloudTuning ? { cloudTuning } : {}),
      ...(extraRoutes ? { extraRoutes } : {}),
      ...(radio ? { radio } : {}),
      ...(runBackupJob ? { runBackupJob, storage: storageHere } : {}),
    }),
  );
  const setupCode = async (): Promise<string> => (await readText(nodeDisk, join(dataDir, 'setup-code'))) ?? '';
  const running = starting.move();
  return {
    backend,
    http: backend.http,
    dataDir,
    logger,
    setupCode,
    setUp: async () => {
      const payload = { code: (await setupCode()).trim(), ...owner };
      const response = await backend.http.inject({ method: 'POST', url: '/api/auth/setup', payload });
      if (response.statusCode !== 201) throw new Error(response.body);
      return response.json<Session>();
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const metricsToken = 'metrics-token-of-the-tests';

/** The text of /metrics. */
export async function readMetrics({ http }: Pick<RunningBackend, 'http'>): Promise<string> {
  return (await http.inject({ url: '/metrics', headers: bearer(metricsToken) })).body;
}

export const post = (
  { http }: Pick<RunningBackend, 'http'>,
  url: string,
  payload?: object,
  headers: Record<string, string> = {},
) => http.inject({ method: 'POST', url, headers, ...(payload === undefined ? {} : { payload }) });

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** The refresh cookie of a response, in the form of a request header. */
export function refreshCookie(response: { headers: Record<string, unknown> }): string {
  const header = [response.headers['set-cookie']].flat().find((value) => String(value).startsWith('station_refresh='));
  return String(header).split(';')[0] ?? '';
}
