/**
 * What people at home notice of a cloud with bad manners: REST and WebSocket round trips while it is a black hole, floods the station, sends
 * frames of a megabyte or a hundred calls in one, against a cloud that is quiet; in turns, in one run.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { CloudStatus } from '@station/protocol/cloud';
import { percentile } from './cloud/bench-station.ts';
import type { Manners } from './cloud/rude-cloud.ts';

const goal = 1.2;
const rounds = 8;
const samplesARound = 300;
const everyMs = 8;
const all: Manners[] = ['quiet', 'black hole', 'flood', 'large frames', 'batches'];
type Samples = { rest: number[]; socket: number[] };

async function measure(folder: string): Promise<boolean> {
  const cloud = fork(join(import.meta.dirname, 'cloud/rude-cloud.ts'));
  const [{ port }] = (await once(cloud, 'message')) as [{ port: number }];
  const backend = fork(join(import.meta.dirname, 'cloud/claimed-backend.ts'), [folder, String(port)]);
  const [{ url, token }] = (await once(backend, 'message')) as [{ url: string; token: string }];
  const agent = new Agent({ keepAlive: true });
  const get = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      request(`${url}${path}`, { agent, headers }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
        response.on('end', () => resolve(body));
      })
        .on('error', reject)
        .end();
    });
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token }));
  await once(socket, 'message');
  const pong = (): Promise<void> =>
    new Promise((resolve) => {
      const listen = (data: Buffer): void => {
        if (!data.toString('utf8').includes('"pong"')) return;
        socket.off('message', listen);
        resolve();
      };
      socket.on('message', listen);
      socket.send('{"type":"ping"}');
    });
  const isUp = async (): Promise<boolean> =>
    (JSON.parse(await get('/api/cloud/status')) as CloudStatus).state === 'authenticated';

  const samples = new Map<Manners, Samples>(all.map((manners) => [manners, { rest: [], socket: [] }]));
  for (let round = 0; round <= rounds; round++) {
    for (const manners of all) {
      cloud.send(manners);
      await once(cloud, 'message');
      await sleep(300);
      while (!(await isUp())) await sleep(20);
      // What comes in one go before it is held back belongs to it as well, but is over soon.
      await sleep(1_000);
      const into = samples.get(manners)!;
      for (let sample = 0; sample < samplesARound; sample++) {
        const at = performance.now();
        await get('/api/devices');
        const between = performance.now();
        await pong();
        // The first round is for warming up.
        if (round > 0) into.rest.push(between - at);
        if (round > 0) into.socket.push(performance.now() - between);
        await sleep(everyMs);
      }
    }
  }
  backend.disconnect();
  cloud.disconnect();
  const p99 = (manners: Manners, kind: keyof Samples): number => percentile(samples.get(manners)![kind], 0.99);
  let ratio = 0;
  for (const manners of all) {
    const [rest, socketMs] = [p99(manners, 'rest'), p99(manners, 'socket')];
    const ratios = [rest / p99('quiet', 'rest'), socketMs / p99('quiet', 'socket')];
    ratio = Math.max(ratio, ...ratios);
    const told = ratios.map((value) => value.toFixed(2)).join(', ');
    process.stdout.write(
      `${manners}: p99 REST ${rest.toFixed(2)} ms, WebSocket ${socketMs.toFixed(2)} ms; ratios ${told}\n`,
    );
  }
  const ok = ratio <= goal;
  const value = Number(Math.max(...all.map((manners) => p99(manners, 'rest'))).toFixed(2));
  const result = { bench: 'cloud-latency', value, unit: 'ms p99', ratio: Number(ratio.toFixed(2)), goal, ok };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok;
}

const folder = await mkdtemp(join(tmpdir(), 'station-cloud-latency-'));
try {
  process.exitCode = (await measure(folder)) ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exit();
