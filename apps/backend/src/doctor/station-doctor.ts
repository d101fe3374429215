import { join } from 'node:path';
import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import { Type } from 'typebox';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import { readFolder, readTextFile } from './adapters/data-files.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { HttpServer } from '../http/server.ts';
import type { Store } from '../store/database.ts';
import { createExaminer } from './doctor-job.ts';
import type { DoctorConfig } from './doctor.ts';
import { parsed, registerDoctorRoutes } from './doctor-routes.ts';
import type { RecentLog } from './recent-log.ts';

export type StationDoctorParts = {
  config: DoctorConfig;
  /** Secrets of the configuration. */
  secrets: readonly string[];
  store: Pick<Store, 'db' | 'kind'>;
  /** Secret settings, e.g. the Wi-Fi for devices. */
  readSecret: (key: string, schema: typeof AnyRecord) => Promise<Record<string, unknown> | null>;
  conditions: () => readonly Pick<BackendCondition, 'id'>[];
  log: RecentLog;
  agent: AgentClient;
  clock: Pick<Clock, 'now'>;
  trustedTime: Pick<TrustedTime, 'isTrusted' | 'unsureSince'>;
  closing: AbortSignal;
};

const AnyRecord = Type.Record(Type.String(), Type.Unknown());

/** Registers the doctor of the running station. */
export async function registerStationDoctor(app: HttpServer, parts: StationDoctorParts): Promise<void> {
  const { config, agent, clock, closing } = parts;
  await registerDoctorRoutes(app, {
    agent,
    hasAgent: config.agent !== null,
    examine: createExaminer(config, closing),
    describe: () => describe(parts),
    knownSecrets: () => knownSecrets(parts),
    clock,
  });
}

async function describe({
  config,
  conditions,
  log,
  store,
  trustedTime,
}: StationDoctorParts): Promise<Record<string, unknown>> {
  const { platform, arch, version: node, uptime, memoryUsage } = process;
  const devices = await store.db
    .selectFrom('devices')
    .select(['type', (expression) => expression.fn.countAll<number>().as('count')])
    .groupBy('type')
    .execute();
  const unsureSince = trustedTime.unsureSince();
  const files = (await readFolder(config.dataDir).catch(() => null)) ?? [];
  return {
    version: config.version,
    runtime: { node, platform, arch, uptimeSeconds: Math.round(uptime()), memory: memoryUsage() },
    database: store.kind,
    clock: {
      isTrusted: trustedTime.isTrusted(),
      unsureSince: unsureSince === null ? null : isoTime(unsureSince),
    },
    configuration: config,
    conditions: conditions(),
    devices,
    files: files.map(({ name, bytes, mode }) => ({ name, bytes, mode: mode.toString(8) })),
    log: log.lines().map(parsed),
  };
}

/** What must not be in a bundle, wherever it may have been repeated: keys, the Wi-Fi, and who the members are. */
async function knownSecrets({ config, secrets, store, readSecret }: StationDoctorParts): Promise<string[]> {
  const contents = await Promise.all(
    ['jwt-secret', 'settings-key', 'setup-code'].map((name) => readTextFile(join(config.dataDir, name))),
  );
  const keys = contents.flatMap((content) => ('text' in content ? [content.text.trim()] : []));
  const users = await store.db.selectFrom('users').select(['email', 'name']).execute();
  const wifi = await readSecret('wifi', AnyRecord);
  const ofWifi = Object.values(wifi ?? {}).filter((value) => typeof value === 'string');
  return [...secrets, ...keys, ...users.flatMap(({ email, name }) => [email, name]), ...ofWifi];
}
