import { join } from 'node:path';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as realSleep } from 'node:timers/promises';
import type { Status } from '@station/protocol/agent-api';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import { findFreePort } from '@station/kit/free-port';
import { readOrMakeLogins } from '@station/simulators/devices/devices-file';
import { startVirtualDevice, type VirtualDevice } from '@station/simulators/devices/virtual-device';
import { makeFolders, type Folders } from '../../../simulators/station/folders.ts';
import { startProxy } from '../../../simulators/station/proxy.ts';
import { writeStack } from '../../../simulators/station/stack.ts';
import { agentWithoutDocker, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { waitFor } from '../../rig/program.ts';
import { createSmallDisk, type SmallDisk } from '../../rig/small-disk.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { createHouseTime, type HouseTime } from './house-time.ts';
import { createPublisher, type Publisher } from './publisher.ts';

const second = 1_000;
const minute = 60 * second;
/** Devices are offline after three minutes of silence (contracts, section 8). */
const stepMs = 2.5 * minute;
const heartbeatMs = stepMs;
const reportMs = 30 * minute;
const countMs = 6 * 60 * minute;
/** While the station works: a second of its time in so much real time, for what it starts and downloads. */
const workPaceMs = 40;
/** A step waits so long for the broker to answer; while it does not, as on a full disk, the next ones wait shortly. */
const answerWithinMs = 20_000;
const shortlyMs = 50;
/** Messages of a device that have no answer yet; it says nothing more until they have. */
const mostUnanswered = 4;
const keptNumbers = 40;
const shownLines = 60;

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };
export const timeZone = 'Europe/Kyiv';
export const passphrase = 'four plain words here';

/** A device that counts, so that what was acknowledged can be asked for. */
type Counted = {
  name: string;
  device: VirtualDevice;
  count: number;
  unanswered: number;
  /** Numbers that the broker acknowledged, with the time; the latest last. */
  acknowledged: { n: number; at: number }[];
};

/** A whole station with its household, in a time of its own: agent, backend, broker, proxy, release server, devices, card and stick. */
export type YearHouse = AsyncDisposable & {
  time: HouseTime;
  publisher: Publisher;
  agent: AgentProcess;
  devices: readonly Counted[];
  card: SmallDisk;
  stick: SmallDisk;
  folders: Folders;
  /** Lets time pass, slowly while the agent is at work. */
  live(ms: number): Promise<void>;
  /** Lets time pass slowly, in steps of `eachMs` (a second), until something is so; fails after `mostMs`. */
  work(what: string, until: () => Promise<boolean>, limits: { mostMs: number; eachMs?: number }): Promise<void>;
  /** kill -9 of everything but the household; the station comes back after `offMs`. */
  cutPower(offMs: number): Promise<void>;
  /** The router is off: no release server, and no device reaches the station. */
  setRouter(isOn: boolean): Promise<void>;
  status(): Promise<Status | null>;
  call<T>(path: string, body?: object, method?: string): Promise<T>;
  conditions(): Promise<string[]>;
  /** Names of devices that the station does not show as online. */
  away(): Promise<string[]>;
  /** Private memory in bytes. */
  memory(): Promise<{ agent: number; backend: number }>;
  /** What the programs said last, for people who look for a fault. */
  logTail(): Promise<string>;
};

export async function createYearHouse(options: { startMs: number; devices: number }): Promise<YearHouse> {
  await using starting = new AsyncDisposableStack();
  const workspace = starting.use(await createWorkspace());
  const time = workspace.own(await createHouseTime(join(workspace.folder, 'time'), options.startMs));
  const root = join(import.meta.dirname, '../../..');
  const folders = await makeFolders(join(workspace.folder, 's'));
  const card = await createSmallDisk({
    image: join(workspace.folder, 'card.ext4'),
    folder: folders.backend,
    megabytes: 512,
  });
  const stickFolder = join(workspace.folder, 'stick');
  const stick = await createSmallDisk({
    image: join(workspace.folder, 'stick.ext4'),
    folder: stickFolder,
    megabytes: 256,
  });
  const ports = { backend: await findFreePort(), frontend: await findFreePort(), mqtt: await findFreePort() };
  const identity = { stationId: '7f1f6c4e-3c5a-4b58-9a53-2f0f4f1f2a0c', agentToken: 'token-between-agent-and-backend' };
  const proxy = workspace.own(
    await startProxy({
      port: await findFreePort(),
      backendPort: ports.backend,
      frontendPort: ports.frontend,
      firmwareFolder: folders.firmware,
      operationFile: join(folders.sockets, 'public/operation.json'),
    }),
  );
  const publisher = await createPublisher(workspace, { now: time.now });
  const devicesFile = join(folders.state, 'devices.json');
  const logins = await readOrMakeLogins(devicesFile, options.devices);
  const agentSocket = join(folders.sockets, 'agent.sock');
  await writeStack({
    root,
    folders,
    identity,
    backendPort: ports.backend,
    frontendPort: ports.frontend,
    mqttPort: ports.mqtt,
    devicesFile,
    agentSocket,
    radioSocket: join(folders.sockets, 'radio.sock'),
    cloud: { ...time.env(), BLE_HELPER: 'off', BACKUP_DIR: stickFolder, FIRMWARE_SOAK_SECONDS: '3600' },
    publicUrl: proxy.url,
  });
  const agent = await createAgentProcess(
    workspace,
    {
      ...time.env('stay'),
      PATH: process.env['PATH'] ?? '',
      HOME: workspace.folder,
      STATION_ID: identity.stationId,
      UPDATE_SERVER_URL: publisher.manifestUrl,
      UPDATE_PUBLIC_KEY: publisher.firstKey,
      COMPOSE_PROJECT_PATH: folders.stack,
      FIRMWARE_CACHE_DIR: folders.firmware,
      AGENT_SOCKET: agentSocket,
      AGENT_TOKEN: identity.agentToken,
      BACKEND_AGENT_TOKEN: identity.agentToken,
      PORT: '0',
      HEALTHCHECK_URL: `http://127.0.0.1:${ports.backend}/api/health`,
      HEALTHCHECK_TIMEOUT_SECONDS: '300',
      BOOTSTRAP_ON_START: 'true',
      AUTO_UPDATE: 'true',
      MAINTENANCE_WINDOW: '03:30-05:00',
    },
    'agent',
    agentWithoutDocker,
  );

  const devices = logins.map((login): Counted => {
    const device = startVirtualDevice({
      url: `mqtt://127.0.0.1:${ports.mqtt}`,
      stationId: identity.stationId,
      login,
      seed: 'year',
      // What a device says by itself comes by the time of the house, below.
      heartbeatMs: 2 ** 31 - 1,
      speed: 0.002,
      profile: { keepaliveSeconds: 0 },
      httpUrl: proxy.url,
    });
    starting.use(device);
    return { name: login.name, device, count: 0, unanswered: 0, acknowledged: [] };
  });

  let accessToken = '';
  let tokenAt = -Infinity;
  let isRouterOn = true;
  let saidAt = 0;
  let isBrokerSilent = false;

  const request = (path: string, init: RequestInit): Promise<Response> =>
    fetch(`${proxy.url}${path}`, { ...init, signal: AbortSignal.timeout(60_000) });
  const logIn = async (): Promise<void> => {
    const setUp = ((await (await request('/api/auth/setup', {})).json()) as { needed?: boolean }).needed === true;
    const code = setUp ? (await readFile(join(folders.backend, 'setup-code'), 'utf8')).trim() : '';
    const { email, password } = owner;
    const body = setUp ? { code, ...owner, timeZone } : { email, password };
    const answer = await request(`/api/auth/${setUp ? 'setup' : 'login'}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`log in: ${answer.status} ${await answer.text()}`);
    accessToken = ((await answer.json()) as { accessToken: string }).accessToken;
    tokenAt = time.now();
  };
  const call = async <T>(path: string, body?: object, method = body === undefined ? 'GET' : 'POST'): Promise<T> => {
    if (time.now() - tokenAt > 10 * minute) await logIn();
    const answer = await request(path, {
      method,
      headers: {
        authorization: `Bearer ${accessToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  };

  /** What the devices say in this step, each at QoS 1. */
  const speak = async (): Promise<void> => {
    const now = time.now();
    const isTime = (everyMs: number): boolean => Math.floor(now / everyMs) !== Math.floor(saidAt / everyMs);
    const said: Promise<boolean>[] = [];
    for (const one of isRouterOn ? devices : []) {
      const { device } = one;
      const say = (end: 'event' | 'state' | 'heartbeat', body: object): Promise<boolean> => {
        one.unanswered += 1;
        const answered = device.publish(end, body).finally(() => (one.unanswered -= 1));
        said.push(answered);
        return answered;
      };
      if (!device.isAccepted() || one.unanswered >= mostUnanswered) continue;
      if (isTime(countMs)) {
        const n = one.count++;
        const counted = { event: 'device_event', data: { action: 'counted', n } };
        void say('event', counted).then((isAnswered) => isAnswered && one.acknowledged.push({ n, at: now }));
        one.acknowledged.splice(0, one.acknowledged.length - keptNumbers);
      }
      if (isTime(reportMs)) void say('state', { state: device.state });
      if (isTime(heartbeatMs)) void say('heartbeat', { status: 'online' });
    }
    saidAt = now;
    const late = realSleep(isBrokerSilent ? shortlyMs : answerWithinMs, 'late' as const);
    isBrokerSilent = (await Promise.race([Promise.all(said), late])) === 'late';
  };
  const pass = async (ms: number): Promise<void> => {
    await time.pass(ms);
    await speak();
  };
  const status = (): Promise<Status | null> => agent.status().catch(() => null);

  const house: YearHouse = {
    time,
    publisher,
    agent,
    devices,
    card,
    stick,
    folders,
    live: async (ms) => {
      for (let left = ms; left > 0;) {
        const isWorking = (await status())?.operation !== null;
        if (isWorking) await realSleep(workPaceMs);
        const step = Math.min(left, isWorking ? second : stepMs);
        await pass(step);
        left -= step;
      }
    },
    work: async (what, until, { mostMs, eachMs = second }) => {
      const end = time.now() + mostMs;
      while (!(await until())) {
        if (time.now() > end) throw new Error(`in vain for ${what}: ${JSON.stringify(await status())}`);
        await realSleep(workPaceMs);
        await pass(eachMs);
      }
    },
    cutPower: async (offMs) => {
      await agent.kill();
      await waitFor('the backend to end', async () => (await findBackend()) === null);
      for (let left = offMs; left > 0; left -= stepMs) await time.pass(Math.min(left, stepMs));
      await agent.start();
      await house.work('the station after a power cut', isUp, { mostMs: 30 * minute });
    },
    setRouter: async (isOn) => {
      isRouterOn = isOn;
      await (isOn ? publisher.goOnline() : publisher.goOffline());
      for (const { device } of devices) device.powerLoss(isOn ? 0 : 2 ** 31 - 1);
    },
    status,
    call,
    conditions: async () => {
      const ofAgent = (await status())?.conditions.map(({ id }) => id) ?? [];
      const ofBackend = await call<BackendCondition[]>('/api/conditions');
      return [...ofAgent, ...ofBackend.map(({ id }) => id)];
    },
    away: async () => {
      const all = await call<{ name: string; status: string }[]>('/api/devices');
      return all.filter((one) => one.status !== 'online').map(({ name }) => name);
    },
    memory: async () => ({
      agent: await privateMemory(agent.pid() ?? 0),
      backend: await privateMemory((await findBackend()) ?? 0),
    }),
    logTail: async () => {
      const ofBackend = await readFile(join(agent.dataDir, 'process-engine/logs/backend.log'), 'utf8').catch(() => '');
      return [agent.output(), ofBackend].map((text) => text.split('\n').slice(-shownLines).join('\n')).join('\n\n');
    },
    [Symbol.asyncDispose]: () => ended.disposeAsync(),
  };
  const findBackend = (): Promise<number | null> => findProcess(`DATA_DIR=${folders.backend}`);
  const isUp = async (): Promise<boolean> => {
    const now = await status();
    if (now === null || now.operation !== null || now.currentVersion === null) return false;
    const health = await fetch(`${proxy.url}/api/health`).catch(() => null);
    return health?.ok === true;
  };
  await publisher.release('good');
  await agent.start();
  const ended = starting.move();
  await house.work('the first start', isUp, { mostMs: 60 * minute });
  await logIn();
  return house;
}

/** The process with this variable in its environment; null: there is none. */
async function findProcess(variable: string): Promise<number | null> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    const program = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (program.trim() !== 'sh' && environment.split('\0').includes(variable)) return Number(pid);
  }
  return null;
}

async function privateMemory(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  const pages = [...text.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm)];
  return pages.reduce((sum, [, kilobytes]) => sum + 1024 * Number(kilobytes), 0);
}
