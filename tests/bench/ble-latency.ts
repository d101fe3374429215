/**
 * npm run bench -- ble-latency [--rounds N]
 * What people notice of 1,000 BLE advertisements a second of 500 devices. In turns with and without them: the processor time of the
 * backend, the round trips of REST, and the time from an advertisement of a changed device to the browser's socket. The backend has its own
 * core; the advertiser plays the helper. The median of all turns counts, because other load on the machine can spoil a single turn.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import type { Candidate } from '@station/protocol/provisioning';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { run, waitFor } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import { cores, monotonicMs, needTwoCores } from './load/pinned.ts';
import { raisePriority } from './load/priority.ts';
import { cpuSeconds } from './load/process-facts.ts';
import { buildBackend, startStationBackend, type StationBackend } from './load/station-backend.ts';
import { median, percentile, round } from './load/statistics.ts';

const goals = { cpuShare: 0.1, restRatio: 1.2, latencyMs: 250 };
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '16' } } });
const rounds = Number(values.rounds);
const samplesATurn = 400;
const everyMs = 4;
const advertisements = 1_000;

/** Shares of a core, milliseconds. */
type Turn = { cpuShare: number; restP50: number; restP99: number; candidates: number };
type World = {
  backend: StationBackend;
  get(path: string): Promise<void>;
  say(what: 'on' | 'off'): Promise<void>;
  seen: Seen;
};
/** What came to the browser: how long ago each probe was sent, and how many messages there were. */
type Seen = { latencies: number[]; candidates: number };

async function start(workspace: Workspace): Promise<World> {
  const program = await buildBackend(workspace);
  // Other programs on the machine must not affect the result. Processes started from here get the same priority.
  const priority = await raisePriority(process.pid);
  if (priority !== null) workspace.own(priority);
  else process.stdout.write('without priority over other programs, because that requires root\n');
  await run('taskset', ['--all-tasks', '--cpu-list', '--pid', String(cores.load), String(process.pid)]);
  const switchFile = join(workspace.folder, 'advertiser');
  const say = (what: 'on' | 'off'): Promise<void> => writeFile(switchFile, what);
  await say('off');
  const env = { BLE_HELPER: join(import.meta.dirname, 'ble/advertiser.ts'), BLE_ADVERTISER_FILE: switchFile };
  const backend = await startStationBackend(workspace, { name: 'backend', program, logins: makeLogins(20), env });
  const token = await backend.logIn();
  const seen = await watch(backend.url, token);
  return { backend, get: getter(backend.url, token), say, seen };
}

async function watch(url: string, token: string): Promise<Seen> {
  const seen: Seen = { latencies: [], candidates: 0 };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString('utf8')) as { type: string; candidate?: Candidate };
    if (message.type !== 'provisioning_candidate' || message.candidate === undefined) return;
    seen.candidates += 1;
    const [data64 = ''] = Object.values(message.candidate.service_data);
    const sentAt = /^sent-(.*)$/.exec(Buffer.from(data64, 'base64').toString('utf8'))?.[1];
    if (sentAt !== undefined) seen.latencies.push(monotonicMs() - Number(sentAt));
  });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token }));
  return seen;
}

function getter(url: string, token: string): World['get'] {
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${token}` };
  return (path) =>
    new Promise((resolve, reject) => {
      httpRequest(`${url}${path}`, { agent, headers }, (response) => {
        response.on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`${path}: ${response.statusCode}`)),
        );
        response.resume();
      })
        .on('error', reject)
        .end();
    });
}

async function measureTurn({ backend, get, seen }: World): Promise<Turn> {
  const took: number[] = [];
  const cpuBefore = await cpuSeconds(backend.daemon.pid);
  const startedMs = monotonicMs();
  const before = seen.candidates;
  for (let sample = 0; sample < samplesATurn; sample++) {
    const at = performance.now();
    await get('/api/devices');
    took.push(performance.now() - at);
    await sleep(everyMs);
  }
  const seconds = (monotonicMs() - startedMs) / 1_000;
  return {
    cpuShare: ((await cpuSeconds(backend.daemon.pid)) - cpuBefore) / seconds,
    restP50: percentile(took, 50),
    restP99: percentile(took, 99),
    candidates: (seen.candidates - before) / seconds,
  };
}

async function measure(world: World): Promise<Record<'on' | 'off', Turn[]>> {
  const turns: Record<'on' | 'off', Turn[]> = { on: [], off: [] };
  for (let count = 0; count <= rounds; count++) {
    for (const what of ['off', 'on'] as const) {
      await world.say(what);
      const { candidates } = world.seen;
      if (what === 'on') await waitFor('devices are found', () => Promise.resolve(world.seen.candidates > candidates));
      // What was gathered is told within two seconds.
      await sleep(2_500);
      const turn = await measureTurn(world);
      // The first round is warm-up.
      if (count > 0) turns[what].push(turn);
      else world.seen.latencies = [];
    }
    process.stdout.write(count === 0 ? 'warm\n' : `round ${count} of ${rounds}\n`);
  }
  return turns;
}

function judge({ on, off }: Record<'on' | 'off', Turn[]>, { latencies }: Seen): boolean {
  const of = (turns: Turn[], key: keyof Turn): number => median(turns.map((turn) => turn[key]));
  const cpuShare = of(on, 'cpuShare') - of(off, 'cpuShare');
  const restRatio = of(on, 'restP99') / of(off, 'restP99');
  const latencyMs = percentile(latencies, 99);
  for (const [name, turns] of [
    ['without', off],
    ['with', on],
  ] as const) {
    const cpu = of(turns, 'cpuShare');
    const p50 = of(turns, 'restP50');
    const p99 = of(turns, 'restP99');
    process.stdout.write(
      `${name} ${advertisements} advertisements a second: ${(100 * cpu).toFixed(1)} % of a core; REST p50 ${p50.toFixed(2)} ms, ` +
        `p99 ${p99.toFixed(2)} ms; ${of(turns, 'candidates').toFixed(0)} messages a second to the browser\n`,
    );
  }
  process.stdout.write(
    `advertisement to browser: p50 ${percentile(latencies, 50).toFixed(1)} ms, p99 ${latencyMs.toFixed(1)} ms of ${latencies.length}\n`,
  );
  const ok =
    cpuShare <= goals.cpuShare &&
    restRatio <= goals.restRatio &&
    latencyMs <= goals.latencyMs &&
    latencies.length > 100;
  const numbers = { value: round(latencyMs), unit: 'ms p99', ratio: round(restRatio), goal: goals.latencyMs, ok };
  process.stdout.write(
    `${JSON.stringify({ bench: 'ble-latency', ...numbers, cpuShare: round(cpuShare, 3), goals })}\n`,
  );
  return ok;
}

needTwoCores();
await using workspace = await createWorkspace();
const world = await start(workspace);
process.exitCode = judge(await measure(world), world.seen) ? 0 : 1;
