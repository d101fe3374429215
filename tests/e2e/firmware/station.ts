import { join } from 'node:path';
import { startFirmwareServer, type FirmwareServer } from '@station/simulators/firmware/firmware-server';
import { agentWithoutDocker, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { createCaddy, type Caddy } from '../../rig/caddy.ts';
import { findFreePort } from '@station/kit/free-port';
import { startDaemon, systemEnv, waitFor, type Daemon } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';

export type TargetRow = {
  rolloutId: string;
  name: string;
  type: string;
  version: string;
  rollout: string;
  wave: number | null;
  state: string;
  phase: string | null;
  percent: number | null;
  failures: number;
  reason: string | null;
};

/**
 * All components between a firmware manifest and the devices. Each is real and has its own process; all devices share
 * one.
 */
export type FirmwareStation = AsyncDisposable & {
  server: FirmwareServer;
  agent: AgentProcess;
  installation: Installation;
  caddy: Caddy;
  /** Port of the proxy. */
  publicUrl: string;
  startDevices(): Promise<void>;
  /** kill -9. */
  killDevices(): Promise<void>;
  /** Every device of every rollout, from the database. */
  targets(): Promise<TargetRow[]>;
  /** Last reported version of each device, by its external id. */
  versions(): Promise<Map<string, string | null>>;
};

const simulator = join(import.meta.dirname, '../../../simulators/devices/main.ts');
const token = 'token-between-agent-and-backend';
const targetsQuery = `
  select r.id as "rolloutId", d.external_id as name, r.type, r.version, r.state as rollout, t.wave, t.state, t.phase, t.percent, t.failures, t.reason
  from firmware_targets t
  join firmware_rollouts r on r.id = t.rollout_id
  join devices d on d.id = t.device_id`;

/** @param devices number of devices, of four types in turn; the last `sleepers` sleep most of the time. */
export async function startFirmwareStation(options: {
  devices: number;
  sleepers: number;
  otaBytesPerSecond: number;
  env: Record<string, string>;
  /** Devices that are not started. */
  spares?: number;
}): Promise<FirmwareStation> {
  await using starting = new AsyncDisposableStack();
  const workspace = starting.use(await createWorkspace());
  const server = workspace.own(await startFirmwareServer());
  const proxyPort = await findFreePort();
  const publicUrl = `http://127.0.0.1:${proxyPort}`;
  const installation = starting.use(
    await install('Mosquitto and PostgreSQL', {
      devices: options.devices + (options.spares ?? 0),
      env: { AGENT_TOKEN: token, PUBLIC_URL: publicUrl, ...options.env },
    }),
  );
  const agent = await createAgentProcess(
    workspace,
    {
      ...systemEnv,
      HOME: workspace.folder,
      STATION_ID: stationId,
      UPDATE_SERVER_URL: `${server.origin}/releases/manifest.json`,
      FIRMWARE_MANIFEST_URL: server.manifestUrl,
      COMPOSE_PROJECT_PATH: workspace.folder,
      BACKEND_URL: publicUrl,
      BACKEND_AGENT_TOKEN: token,
      PORT: '0',
    },
    'agent',
    agentWithoutDocker,
  );
  const caddy = await createCaddy(workspace, {
    port: proxyPort,
    backendUrl: installation.url,
    firmwareFolder: agent.cacheDir,
  });
  const args = [
    '--file',
    installation.devicesFile,
    '--count',
    String(options.devices),
    '--station',
    stationId,
    '--url',
    installation.mqttUrl,
    '--heartbeat',
    '5',
    '--flash',
    join(workspace.folder, 'flash'),
    '--ota-rate',
    String(options.otaBytesPerSecond),
    '--sleepers',
    String(options.sleepers),
    '--awake',
    '4',
    '--period',
    '9',
  ];
  let fleet: Daemon | undefined;
  const all = starting.move();
  return {
    server,
    agent,
    installation,
    caddy,
    publicUrl,
    startDevices: async () => {
      const logFile = join(workspace.folder, 'fleet.log');
      fleet = workspace.own(await startDaemon(process.execPath, [simulator, ...args], { logFile }));
    },
    killDevices: async () => {
      fleet?.kill('SIGKILL');
      await fleet?.ended;
    },
    targets: () => installation.query<TargetRow>(targetsQuery),
    versions: async () => {
      const rows = await installation.query<{ name: string; version: string | null }>(
        'select external_id as name, firmware_version as version from devices',
      );
      return new Map(rows.map(({ name, version }) => [name, version]));
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Waits until each device of the type runs the version and no rollout of it is active. */
export async function untilInstalled(
  station: FirmwareStation,
  { type, version }: { type: string; version: string },
  timeoutMs: number,
): Promise<void> {
  const left = async (): Promise<string[]> => {
    const rows = (await station.targets()).filter((row) => row.type === type && row.version === version);
    const wrong = rows.filter(({ state, rollout }) => state !== 'updated' || rollout !== 'done');
    const outdated = [...(await station.versions())].filter(
      ([name, now]) => name.startsWith(`${type}-0`) && now !== version,
    );
    // What holds up a rollout is told before what waits for its end.
    const all = [...outdated, ...wrong.sort((a, b) => Number(a.state === 'updated') - Number(b.state === 'updated'))];
    return rows.length === 0 ? ['no rollout has started'] : all.map((row) => JSON.stringify(row));
  };
  await waitFor(`${type} ${version} everywhere`, async () => (await left()).length === 0, timeoutMs).catch(
    async (error: unknown) => {
      throw new Error(`not complete: ${(await left()).slice(0, 10).join('\n')}`, { cause: error });
    },
  );
}
