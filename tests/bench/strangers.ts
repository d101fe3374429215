/**
 * `npm run bench -- strangers [--seconds 60]` (as root)
 *
 * Somebody without a login holds connections, half requests, messages and packets at full speed, for so long per attack: at the
 * backend, the proxy, the broker and the agent, each under its memory limit. Meanwhile somebody with a permission asks 20 times a
 * second. See docs/benchmarks.md.
 */
import { readFile } from 'node:fs/promises';
import type { NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectDevice } from '@station/backend/testing/test-device';
import { findFreePort } from '@station/kit/free-port';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { createAgentProcess } from '../rig/agent-process.ts';
import { createCaddy } from '../rig/caddy.ts';
import { createMosquitto } from '../rig/mosquitto.ts';
import { run, systemEnv } from '../rig/program.ts';
import { halfConnect, halfMessage, halfRequest, limitOf, peakOf, type Unfinished } from '../rig/strangers.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import { makeMemoryLimit } from './load/memory-limit.ts';
import { raisePriority } from './load/priority.ts';
import { cores, needTwoCores, request, startScript, type Pinned } from './load/pinned.ts';
import { buildBackend, startStationBackend, stationId } from './load/station-backend.ts';
import { percentile, round } from './load/statistics.ts';
import type { StrangersRequest } from './load/strangers-load.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    only: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const goal = 1.5;
const mebibyte = 1024 * 1024;
const agentToken = 'the-token-of-the-agent';

type Attack = { name: string; count: number; unfinished: Unfinished };
type Target = {
  name: string;
  pid: number;
  limit: number;
  to: NetConnectOpts;
  attacks: Attack[];
  /** Somebody with a permission is answered. @throws when they are not. */
  ask(): Promise<void>;
};

const unitLimit = async (): Promise<number> => {
  const unit = await readFile(join(import.meta.dirname, '../../deploy/station-agent.service'), 'utf8');
  return Number(/^MemoryMax=(\d+)M$/m.exec(unit)?.[1]);
};

function httpAttacks(port: number): Attack[] {
  const host = `127.0.0.1:${port}`;
  const upload = `PUT /api/backup/uploads/${'A'.repeat(43)}?offset=0`;
  const octets = { 'content-type': 'application/octet-stream' };
  const piece = halfRequest(upload, { host, bytes: mebibyte, sent: mebibyte - 1, headers: octets });
  return [
    { name: 'connections', count: 1_500, unfinished: { head: '' } },
    { name: 'heads', count: 800, unfinished: { head: `GET / HTTP/1.1\r\nHost: ${'x'.repeat(3_000)}` } },
    {
      name: 'log-ins',
      count: 800,
      unfinished: halfRequest('POST /api/auth/login', { host, bytes: 4096, sent: 4095 }),
    },
    { name: 'uploads', count: 300, unfinished: piece },
    { name: 'messages', count: 400, unfinished: halfMessage(host) },
  ];
}

const textOf = ({ head, body = Buffer.alloc(0) }: Unfinished): Pick<StrangersRequest, 'head' | 'body'> => ({
  head: Buffer.from(head).toString('base64'),
  body: body.toString('base64'),
});

/** Asks 20 times a second. @returns times of the answers, milliseconds; who was not answered waited for ever. */
async function askFor(target: Target, isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  while (!isOver()) {
    const began = performance.now();
    await target.ask().then(
      () => times.push(performance.now() - began),
      () => times.push(Infinity),
    );
    await sleep(Math.max(0, 50 - (performance.now() - began)));
  }
  return times;
}

async function attack(target: Target, load: Pinned) {
  const quietEnd = performance.now() + Math.max(5, seconds) * 1_000;
  const quiet = await askFor(target, () => performance.now() > quietEnd);
  const during: number[] = [];
  for (const { name, count, unfinished } of target.attacks) {
    let isOver = false;
    const body: StrangersRequest = { to: target.to, count, seconds, ...textOf(unfinished) };
    const flooding = request<number>(load, body);
    void flooding.finally(() => (isOver = true)).catch(() => undefined);
    const times = await askFor(target, () => isOver);
    during.push(...times);
    const opened = await flooding;
    const p99 = round(percentile(times, 99));
    const peak = await peakOf(target.pid).catch(() => Infinity);
    process.stdout.write(`${target.name}, ${name}: ${opened} made, p99 ${p99} ms, peak ${round(peak, 0)} MiB\n`);
  }
  // The process that was attacked is still the same one, and within its memory.
  const peak = await peakOf(target.pid).catch(() => Infinity);
  const quietMs = round(percentile(quiet, 99));
  const duringMs = round(percentile(during, 99));
  const failed = during.filter((time) => time === Infinity).length;
  return { name: target.name, peak: round(peak, 0), limit: target.limit, quietMs, duringMs, failed };
}

async function openTargets(workspace: Workspace): Promise<Target[]> {
  const program = await buildBackend(workspace);
  // Before the programs: a group is removed when what was in it has ended.
  const megabytes: Record<string, number> = {
    backend: await limitOf('backend'),
    proxy: await limitOf('proxy'),
    broker: await limitOf('mqtt'),
    agent: await unitLimit(),
  };
  const groups = new Map<string, (pid: number) => Promise<number | null>>();
  for (const [name, limit] of Object.entries(megabytes))
    groups.set(name, await makeMemoryLimit(workspace, { name, megabytes: limit }));
  const limited = async (name: string, pid: number): Promise<number> => {
    const limit = (await groups.get(name)?.(pid)) ?? null;
    if (limit === null) process.stdout.write(`${name}: no control group, only measured\n`);
    return megabytes[name] ?? 0;
  };
  const mosquitto = await createMosquitto(workspace);
  const brokerUrl = `mqtt://127.0.0.1:${mosquitto.port}`;
  const mqtt = { MQTT_URL: brokerUrl, MQTT_USERNAME: 'backend', MQTT_PASSWORD: mosquitto.password };
  const logins = makeLogins(1);
  const backend = await startStationBackend(workspace, { name: 'strangers', program, logins, mqtt });
  const token = await backend.logIn();
  const port = await findFreePort();
  const folder = workspace.folder;
  const proxy = await createCaddy(workspace, { port, backendUrl: backend.url, firmwareFolder: folder });
  await run('prlimit', ['--pid', String(proxy.pid()), '--nofile=1800']);
  const agent = await createAgentProcess(workspace, {
    ...systemEnv,
    HOME: folder,
    STATION_ID: stationId,
    UPDATE_SERVER_URL: `file://${folder}/manifest.json`,
    COMPOSE_PROJECT_PATH: folder,
    DOCKER_HOST: `unix://${folder}/docker.sock`,
    AGENT_TOKEN: agentToken,
    PORT: '0',
  });
  workspace.own(agent);
  await agent.start();
  const askHttp = (url: string) => async (): Promise<void> => {
    const answer = await fetch(`${url}/api/devices`, {
      headers: { authorization: `Bearer ${token}`, connection: 'close' },
      signal: AbortSignal.timeout(10_000),
    });
    await answer.text();
    if (!answer.ok) throw new Error(String(answer.status));
  };
  const [login] = logins;
  const device = workspace.own(
    await connectDevice(brokerUrl, { stationId, id: '', externalId: login!.externalId, token: login!.token }),
  );
  const agentPid = agent.pid() ?? 0;
  const restore = (headers: Record<string, string>) =>
    halfRequest('POST /backup/restore', { host: 'localhost', bytes: 4 * mebibyte, sent: 4 * mebibyte - 1, headers });
  const at = (port: number) => ({ port, host: '127.0.0.1' });
  const backendPort = Number(new URL(backend.url).port);
  return [
    {
      name: 'backend',
      pid: backend.daemon.pid,
      limit: await limited('backend', backend.daemon.pid),
      to: at(backendPort),
      attacks: httpAttacks(backendPort),
      ask: askHttp(backend.url),
    },
    {
      name: 'proxy',
      pid: proxy.pid(),
      limit: await limited('proxy', proxy.pid()),
      to: at(port),
      attacks: httpAttacks(port),
      ask: askHttp(`http://127.0.0.1:${port}`),
    },
    {
      name: 'broker',
      pid: mosquitto.pid(),
      limit: await limited('broker', mosquitto.pid()),
      to: at(mosquitto.port),
      attacks: [
        { name: 'connections', count: 500, unfinished: { head: '' } },
        { name: 'packets', count: 500, unfinished: halfConnect() },
      ],
      ask: async () => void (await device.publish('heartbeat', { status: 'online' })),
    },
    {
      name: 'agent',
      pid: agentPid,
      limit: await limited('agent', agentPid),
      to: { path: agent.socketPath },
      attacks: [
        { name: 'connections', count: 500, unfinished: { head: '' } },
        { name: 'restores without the token', count: 150, unfinished: restore({}) },
        { name: 'restores', count: 150, unfinished: restore({ authorization: `Bearer ${agentToken}` }) },
      ],
      ask: async () => void (await agent.call('GET', '/health')),
    },
  ];
}

async function main(): Promise<number> {
  needTwoCores();
  await using workspace = await createWorkspace();
  const targets = await openTargets(workspace);
  const script = join(import.meta.dirname, 'load/strangers-load.ts');
  const load = workspace.own(await startScript(cores.load, script, { logFile: join(workspace.folder, 'load.log') }));
  // Somebody with a permission has a processor of their own.
  const priority = await raisePriority(process.pid);
  if (priority !== null) workspace.own(priority);
  const found: Awaited<ReturnType<typeof attack>>[] = [];
  const chosen = targets.filter(({ name }) => values.only === undefined || name === values.only);
  for (const target of chosen) found.push(await attack(target, load));
  process.stdout.write(`${JSON.stringify(found)}\n`);
  const ratio = Math.max(...found.map(({ quietMs, duringMs }) => round(duringMs / quietMs)));
  const isWithin = found.every(({ peak, limit }) => peak <= 0.9 * limit);
  const failed = found.reduce((sum, one) => sum + one.failed, 0);
  const ok = isWithin && failed === 0 && ratio <= goal;
  const ends = found.filter(({ peak }) => peak === Infinity).length;
  const result = { bench: 'strangers', value: ends, unit: 'ends', ratio, goal, ok, isWithin, failed };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok ? 0 : 1;
}

process.exitCode = await main();
