/**
 * Measures what people at home notice of a misbehaving cloud. REST and WebSocket round trips are timed while the cloud
 * is a black hole, floods the station, sends frames of a megabyte, sends batches of a hundred calls, or repeats a list
 * of a hundred members. Each behaviour is compared with a quiet cloud, in turns within one run. The station has its own
 * core. The median of all turns counts, because other load on the machine can spoil a single turn.
 */
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { CloudStatus } from '@station/protocol/cloud';
import { run } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import type { ClaimedBackend } from './cloud/claimed-backend.ts';
import type { CloudRequest, CloudBehaviour } from './cloud/misbehaving-cloud.ts';
import { cores, needTwoCores, request, startScript, type Pinned } from './load/pinned.ts';
import { raisePriority } from './load/priority.ts';
import { median, percentile, round } from './load/statistics.ts';

const goal = 1.2;
/** About ten minutes in total: the p99 varies by a quarter from turn to turn. */
const rounds = 22;
const samplesARound = 400;
const everyMs = 4;
const all: CloudBehaviour[] = ['quiet', 'black hole', 'flood', 'large frames', 'batches', 'member lists'];
const kinds = ['REST', 'WebSocket'] as const;
/** Milliseconds. */
type Turn = Record<(typeof kinds)[number], { p50: number; p99: number }>;

/** Sends requests like a person at home. `ping` resolves to milliseconds. */
type LocalUser = { get(path: string): Promise<string>; ping(): Promise<number> };

/** The backend ends a WebSocket that sends more than 60 messages without a pause. */
const pingsEach = 50;

async function openSocket({ url, token }: ClaimedBackend): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token }));
  await once(socket, 'message');
  return socket;
}

function pingOver(socket: WebSocket): Promise<number> {
  const at = performance.now();
  return new Promise((resolve, reject) => {
    const refuse = (): void => reject(new Error('The WebSocket ended.'));
    const listen = (data: Buffer): void => {
      if (!data.toString('utf8').includes('"pong"')) return;
      socket.off('message', listen);
      socket.off('close', refuse);
      resolve(performance.now() - at);
    };
    socket.on('message', listen);
    socket.once('close', refuse);
    socket.send('{"type":"ping"}');
  });
}

async function connectUser(backend: ClaimedBackend): Promise<LocalUser> {
  const { url, token } = backend;
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${token}` };
  let socket = await openSocket(backend);
  let pings = 0;
  return {
    get: (path) =>
      new Promise((resolve, reject) => {
        httpRequest(`${url}${path}`, { agent, headers }, (response) => {
          let body = '';
          response.setEncoding('utf8');
          response.on('data', (text: string) => (body += text));
          response.on('end', () => {
            if (response.statusCode === 200) resolve(body);
            else reject(new Error(`${path}: ${response.statusCode} ${body}`));
          });
        })
          .on('error', reject)
          .end();
      }),
    ping: async () => {
      pings += 1;
      if (pings % pingsEach === 0) {
        socket.close();
        socket = await openSocket(backend);
      }
      return pingOver(socket);
    },
  };
}

async function start(workspace: Workspace): Promise<{ cloud: Pinned; user: LocalUser }> {
  // Other programs on the machine must not affect the result. Processes started from here get the same priority.
  const priority = await raisePriority(process.pid);
  if (priority !== null) workspace.own(priority);
  else process.stdout.write('without priority over other programs, because that requires root\n');
  await run('taskset', ['--all-tasks', '--cpu-list', '--pid', String(cores.load), String(process.pid)]);
  const script = async (core: number, name: string, args: string[] = []): Promise<Pinned> => {
    const logFile = join(workspace.folder, `${name}.log`);
    return workspace.own(await startScript(core, join(import.meta.dirname, 'cloud', `${name}.ts`), { logFile, args }));
  };
  const cloud = await script(cores.load, 'misbehaving-cloud');
  const port = await request<number>(cloud, { kind: 'port' } satisfies CloudRequest);
  const backend = await script(cores.measured, 'claimed-backend', [workspace.folder, String(port)]);
  return { cloud, user: await connectUser(await request<ClaimedBackend>(backend, {})) };
}

async function measure(workspace: Workspace): Promise<Map<CloudBehaviour, Turn[]>> {
  const { cloud, user } = await start(workspace);
  const isUp = async (): Promise<boolean> =>
    (JSON.parse(await user.get('/api/cloud/status')) as CloudStatus).state === 'authenticated';
  const turns = new Map<CloudBehaviour, Turn[]>(all.map((behaviour) => [behaviour, []]));
  for (let count = 0; count <= rounds; count++) {
    for (const behaviour of all) {
      await request(cloud, { kind: 'be', behaviour } satisfies CloudRequest);
      await sleep(300);
      while (!(await isUp())) await sleep(20);
      // Skips the first burst, which ends when backpressure limits the cloud.
      await sleep(1_000);
      const turn = await measureTurn(user);
      // The first round is warm-up.
      if (count > 0) turns.get(behaviour)!.push(turn);
    }
    process.stdout.write(count === 0 ? 'warm\n' : `round ${count} of ${rounds}\n`);
  }
  return turns;
}

async function measureTurn(user: LocalUser): Promise<Turn> {
  const rest: number[] = [];
  const socket: number[] = [];
  for (let sample = 0; sample < samplesARound; sample++) {
    const at = performance.now();
    await user.get('/api/devices');
    rest.push(performance.now() - at);
    socket.push(await user.ping());
    await sleep(everyMs);
  }
  const percentilesOf = (took: number[]) => ({ p50: percentile(took, 50), p99: percentile(took, 99) });
  return { REST: percentilesOf(rest), WebSocket: percentilesOf(socket) };
}

function judge(turns: Map<CloudBehaviour, Turn[]>): boolean {
  const medianOf = (behaviour: CloudBehaviour, kind: keyof Turn, key: 'p50' | 'p99'): number =>
    median(turns.get(behaviour)!.map((turn) => turn[kind][key]));
  let value = 0;
  let ratio = 0;
  for (const behaviour of all) {
    const columns = kinds.map((kind) => {
      const p50 = medianOf(behaviour, kind, 'p50');
      const p99 = medianOf(behaviour, kind, 'p99');
      const relativeToQuiet = p99 / medianOf('quiet', kind, 'p99');
      if (kind === 'REST') value = Math.max(value, p99);
      ratio = Math.max(ratio, relativeToQuiet);
      return `${kind} p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (${relativeToQuiet.toFixed(2)} ×)`;
    });
    process.stdout.write(`${behaviour}: ${columns.join('; ')}\n`);
  }
  const ok = ratio <= goal;
  const numbers = { value: round(value), unit: 'ms p99', ratio: round(ratio), goal, ok };
  process.stdout.write(`${JSON.stringify({ bench: 'cloud-latency', ...numbers })}\n`);
  return ok;
}

needTwoCores();
await using workspace = await createWorkspace();
process.exitCode = judge(await measure(workspace)) ? 0 : 1;
