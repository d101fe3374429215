import assert from 'node:assert/strict';
import { runBackend, type RunningBackend } from '../../../apps/backend/testing/running-backend.ts';
import type { LoggedEvent } from '../../../apps/backend/testing/recorded-log.ts';
import { startReferenceCloud, type ReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';
import { waitFor } from '../../rig/program.ts';
import type { Workspace } from '../../rig/workspace.ts';
import { makeCertificates } from './certificates.ts';
import { createLeapingClock, type LeapingClock } from './leaping-clock.ts';
import { impatient } from './station.ts';

export type LivingStation = {
  cloud: ReferenceCloud;
  clock: LeapingClock;
  /** The current backend. */
  backend(): RunningBackend;
  /** Log of all backends. */
  events(name: string): LoggedEvent[];
  /** Number of completed resets, after which the process must end. */
  resets(): number;
  /** Restarts the backend on the same data, like a process manager. */
  restart(): Promise<void>;
};

/** An unclaimed backend in this process with a leaping clock for its cloud link, and a cloud over TLS. */
export async function livingStation(workspace: Workspace): Promise<LivingStation> {
  const { tls, caFile, pin } = await makeCertificates(workspace.folder);
  const clock = createLeapingClock();
  const cloud = workspace.own(await startReferenceCloud({ tls }));
  const env = { CLOUD_HOST: cloud.host, CLOUD_CA_FILE: caFile, CLOUD_TLS_PINS: pin };
  const dataDir = await workspace.subfolder('data');
  const logs: RunningBackend['logger'][] = [];
  let resets = 0;
  const start = async (): Promise<RunningBackend> => {
    const onReset = (): void => void (resets += 1);
    const backend = await runBackend({ env, dataDir, onReset, cloudTuning: { ...impatient, clock } });
    logs.push(backend.logger);
    return backend;
  };
  let backend = await start();
  workspace.own({ [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose]() });
  return {
    cloud,
    clock,
    backend: () => backend,
    events: (name) =>
      logs
        .flatMap((logger) => logger.lines.filter((line) => line.includes(`"${name}"`)))
        .map((line) => JSON.parse(line) as LoggedEvent)
        .filter(({ event }) => event === name),
    resets: () => resets,
    restart: async () => {
      await backend[Symbol.asyncDispose]();
      backend = await start();
    },
  };
}

/** Claims the station with its code. @returns its token. */
export async function claimBy(cloud: ReferenceCloud): Promise<string> {
  const waiting = await waitFor('a station that waits for a claim', () => cloud.waiting()[0]);
  const token = cloud.claim(waiting.chipId, waiting.claimSecret);
  assert.ok(token !== null);
  await cloud.connection();
  return token;
}
