/**
 * `npm run bench -- rpc`
 *
 * Measures how fast a station answers its cloud: calls per second over loopback, and the slowest hundredth of them. It
 * is compared with two well-known libraries, in turns within one run.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { findFreePort } from '@station/kit/free-port';
import { installPackages } from '../rig/npm-packages.ts';
import { median, percentile } from './load/statistics.ts';
import { makeCalls, type Call, type Library } from './rpc/ends.ts';

const ours: Library = 'cloud calls station';
const theirs: Library[] = ['jayson', 'rpc-websockets'];
const libraries = [ours, ...theirs];
const versions = { jayson: '5.0.0', 'rpc-websockets': '10.0.1' };
const rounds = 21;
const callsARound = 15_000;
const atOnce = 32;

type Figures = { perSecond: number; p99Ms: number };

async function round(call: Call): Promise<Figures> {
  const times: number[] = [];
  let next = 0;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (next < callsARound) {
      const value = next++;
      const at = performance.now();
      await call(value);
      times.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { perSecond: (callsARound / (performance.now() - began)) * 1000, p99Ms: percentile(times, 99) };
}

async function measure(): Promise<boolean> {
  const folder = await installPackages(versions);
  const children: ChildProcess[] = [];
  const calls = new Map<Library, Call>();
  for (const library of libraries) {
    const start = async (port: number): Promise<number | null> => {
      const child = fork(join(import.meta.dirname, 'rpc/answering.ts'), [library, folder, String(port)]);
      children.push(child);
      return ((await once(child, 'message')) as [{ port: number | null }])[0].port;
    };
    calls.set(library, await makeCalls(library, folder, start, findFreePort));
  }
  const figures = new Map<Library, Figures[]>(libraries.map((library) => [library, []]));
  for (let turn = 0; turn <= rounds; turn++) {
    // The libraries take turns, each time in another order. The first turn is warm-up.
    for (let index = 0; index < libraries.length; index++) {
      const library = libraries[(turn + index) % libraries.length]!;
      const measured = await round(calls.get(library)!);
      if (turn > 0) figures.get(library)?.push(measured);
    }
  }
  for (const child of children) child.disconnect();
  const summary = (library: Library): Figures => ({
    perSecond: Math.round(median(figures.get(library)!.map(({ perSecond }) => perSecond))),
    p99Ms: Number(median(figures.get(library)!.map(({ p99Ms }) => p99Ms)).toFixed(2)),
  });
  for (const library of libraries) {
    const { perSecond, p99Ms } = summary(library);
    process.stdout.write(`${library}: ${perSecond} calls/s, p99 ${p99Ms} ms\n`);
  }
  const { perSecond: value, p99Ms: ourP99Ms } = summary(ours);
  const ratio = value / Math.max(...theirs.map((library) => summary(library).perSecond));
  const p99Ratio = Math.min(...theirs.map((library) => summary(library).p99Ms)) / ourP99Ms;
  const ok = ratio >= 1 && p99Ratio >= 1;
  const result = { bench: 'rpc', value, unit: 'calls/s', ratio: Number(ratio.toFixed(2)), goal: 1, ok };
  process.stdout.write(`${JSON.stringify({ ...result, p99Ratio: Number(p99Ratio.toFixed(2)), ourP99Ms })}\n`);
  return ok;
}

process.exitCode = (await measure()) ? 0 : 1;
process.exit();
