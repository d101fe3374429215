/**
 * What people at home notice of a cloud with bad manners: REST and WebSocket round trips while it is a black hole, floods the station, sends
 * frames of a megabyte, a hundred calls in one, or ever the same hundred members, against a cloud that is quiet; in turns, in one run. The
 * station has a core of its own. Judged by the median of the turns: what disturbs the machine for a second spoils one of them.
 */
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { CloudStatus } from '@station/protocol/cloud';
import { run } from '../rig/program.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import type { Where } from './cloud/claimed-backend.ts';
import type { CloudRequest, Manners } from './cloud/rude-cloud.ts';
import { cores, needTwoCores, request, startScript, type Pinned } from './load/pinned.ts';
import { takePrecedence } from './load/precedence.ts';
import { median, percentile, round } from './load/statistics.ts';

const goal = 1.2;
/** Some ten minutes: p99 of a millisecond wanders by a quarter from turn to turn. */
const rounds = 22;
const samplesARound = 400;
const everyMs = 4;
const all: Manners[] = ['quiet', 'black hole', 'flood', 'large frames', 'batches', 'member lists'];
const kinds = ['REST', 'WebSocket'] as const;
/** Milliseconds. */
type Turn = Record<(typeof kinds)[number], { p50: number; p99: number }>;

/** Round trips of somebody at home. */
type Visitor = { get(path: string): Promise<string>; ping(): Promise<void> };

async function visit({ url, token }: Where): Promise<Visitor> {
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token }));
  await once(socket, 'message');
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
    ping: () =>
      new Promise((resolve) => {
        const listen = (data: Buffer): void => {
          if (!data.toString('utf8').includes('"pong"')) return;
          socket.off('message', listen);
          resolve();
        };
        socket.on('message', listen);
        socket.send('{"type":"ping"}');
      }),
  };
}

async function start(workspace: Workspace): Promise<{ cloud: Pinned; visitor: Visitor }> {
  // What else runs on the machine is not what is measured; what is started from here has the same right.
  const precedence = await takePrecedence(process.pid);
  if (precedence !== null) workspace.own(precedence);
  else process.stdout.write('without precedence over other programs, for which root is needed\n');
  await run('taskset', ['--all-tasks', '--cpu-list', '--pid', String(cores.load), String(process.pid)]);
  const script = async (core: number, name: string, args: string[] = []): Promise<Pinned> => {
    const logFile = join(workspace.folder, `${name}.log`);
    return workspace.own(await startScript(core, join(import.meta.dirname, 'cloud', `${name}.ts`), { logFile, args }));
  };
  const cloud = await script(cores.load, 'rude-cloud');
  const port = await request<number>(cloud, { kind: 'port' } satisfies CloudRequest);
  const backend = await script(cores.measured, 'claimed-backend', [workspace.folder, String(port)]);
  return { cloud, visitor: await visit(await request<Where>(backend, {})) };
}

async function measure(workspace: Workspace): Promise<Map<Manners, Turn[]>> {
  const { cloud, visitor } = await start(workspace);
  const isUp = async (): Promise<boolean> =>
    (JSON.parse(await visitor.get('/api/cloud/status')) as CloudStatus).state === 'authenticated';
  const turns = new Map<Manners, Turn[]>(all.map((manners) => [manners, []]));
  for (let count = 0; count <= rounds; count++) {
    for (const manners of all) {
      await request(cloud, { kind: 'be', manners } satisfies CloudRequest);
      await sleep(300);
      while (!(await isUp())) await sleep(20);
      // What comes in one go before it is held back belongs to it as well, but is over soon.
      await sleep(1_000);
      const turn = await take(visitor);
      // The first round is for warming up.
      if (count > 0) turns.get(manners)!.push(turn);
    }
    process.stdout.write(count === 0 ? 'warm\n' : `round ${count} of ${rounds}\n`);
  }
  return turns;
}

async function take(visitor: Visitor): Promise<Turn> {
  const [rest, socket]: [number[], number[]] = [[], []];
  for (let sample = 0; sample < samplesARound; sample++) {
    const at = performance.now();
    await visitor.get('/api/devices');
    const between = performance.now();
    await visitor.ping();
    rest.push(between - at);
    socket.push(performance.now() - between);
    await sleep(everyMs);
  }
  const tell = (took: number[]) => ({ p50: percentile(took, 50), p99: percentile(took, 99) });
  return { REST: tell(rest), WebSocket: tell(socket) };
}

function judge(turns: Map<Manners, Turn[]>): boolean {
  const middle = (manners: Manners, kind: keyof Turn, key: 'p50' | 'p99'): number =>
    median(turns.get(manners)!.map((turn) => turn[kind][key]));
  let [value, ratio] = [0, 0];
  for (const manners of all) {
    const told = kinds.map((kind) => {
      const [p50, p99] = [middle(manners, kind, 'p50'), middle(manners, kind, 'p99')];
      const beside = p99 / middle('quiet', kind, 'p99');
      if (kind === 'REST') value = Math.max(value, p99);
      ratio = Math.max(ratio, beside);
      return `${kind} p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (${beside.toFixed(2)} ×)`;
    });
    process.stdout.write(`${manners}: ${told.join('; ')}\n`);
  }
  const ok = ratio <= goal;
  const numbers = { value: round(value), unit: 'ms p99', ratio: round(ratio), goal, ok };
  process.stdout.write(`${JSON.stringify({ bench: 'cloud-latency', ...numbers })}\n`);
  return ok;
}

needTwoCores();
await using workspace = await createWorkspace();
process.exitCode = judge(await measure(workspace)) ? 0 : 1;
