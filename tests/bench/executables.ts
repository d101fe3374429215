/**
 * `npm run bench -- executables [--short] [--seconds 60] [--cycles 40]`
 *
 * Measures the agent's executable as it ships beside other ways to make one: a plain one as Node describes it, and Bun. Each
 * manages a small stack on a real Docker Engine: the time until it is ready, then its memory and processor time while idle
 * (PSS, and private dirty: what the kernel cannot read again from the file), and its size on disk and compressed.
 *
 * Then the shipped one runs cycles of an update (each to a new release) and a rollback. V8 returns memory at any time, so
 * single readings vary, but a leak remains. The first fifth of the cycles is warm-up. The minimum of the last fifth is
 * compared with the minimum of the second fifth.
 *
 * `--short` is for trying something: 10 seconds of idling, no cycles, no compression. Memory settles in the first minute, so it
 * is judged only with `--seconds 60` or more.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { agentFileName, buildAgent, fetchPackage } from '../../scripts/build-agent.ts';
import { agentEnv, createAgentProcess, unitEnvironment, type AgentProcess } from '../rig/agent-process.ts';
import { agentExecutable, buildForTests } from '../rig/build.ts';
import { needPackages } from '../rig/debian.ts';
import { run } from '../rig/program.ts';
import { createSmallRig, type SmallRig } from '../rig/small-rig.ts';

const root = join(import.meta.dirname, '../..');
const entry = 'apps/agent/src/main.ts';
const bunVersion = '1.4.5';
const arch = process.arch === 'arm64' ? 'arm64' : 'x64';

/** Limits of the shipped executable (MiB; MB for files; ms). Of its start, its own processor time: the machine may be busy. */
const goals = { pss: 60, privateDirty: 16, startCpuMs: 300, xz: 40, growth: 1.05 };
const starts = 5;
const settledSeconds = 60;

/** `sameFile`: as the candidate before, so its sizes are known. */
type Candidate = { name: string; file: string; env: Record<string, string>; sameFile?: boolean };
type Idle = { pss: number; privateDirty: number; startMs: number; startCpuMs: number; cpuMsPerMinute: number };
type Sizes = { onDisk: number; xz: number | null; gzip: number | null };

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      short: { type: 'boolean', default: false },
      seconds: { type: 'string' },
      cycles: { type: 'string' },
    },
  });
  const seconds = Number(values.seconds ?? (values.short ? 10 : 60));
  const cycles = Number(values.cycles ?? (values.short ? 0 : 40));
  assert.ok(seconds >= 1 && (cycles === 0 || cycles >= 10), '--seconds is a number, --cycles is 0 or at least 10');

  await needPackages(['xz-utils']);
  await using rig = await createSmallRig();
  await rig.stack.writeProject(await rig.release({ version: '1.0.0' }));
  await rig.stack.up();
  const candidates = await buildCandidates(rig);
  tell(row('', ['PSS', 'dirty', 'start ms', 'its CPU', 'CPU ms/min', 'disk MB', 'xz MB', 'gzip MB']));
  const rows: (Idle & Sizes & { name: string })[] = [];
  for (const candidate of candidates) {
    const idle = await measureIdle(rig, candidate, seconds);
    const known = candidate.sameFile ? rows.at(-1) : undefined;
    const sizes = known ?? (values.short ? await sizeOf(candidate.file) : await sizesOf(candidate.file));
    rows.push({ ...sizes, name: candidate.name, ...idle });
    const { pss, privateDirty, startMs, startCpuMs, cpuMsPerMinute } = idle;
    const cells = [pss, privateDirty, startMs, startCpuMs, cpuMsPerMinute, sizes.onDisk, sizes.xz, sizes.gzip];
    tell(row(candidate.name, cells));
  }
  const [shipped] = rows;
  const [candidate] = candidates;
  assert.ok(shipped && candidate);
  const growth = cycles === 0 ? null : await measureGrowth(rig, candidate, cycles);
  const result = {
    bench: 'executables',
    value: shipped.privateDirty,
    unit: 'MiB private dirty, idle',
    ratio: growth?.ratio ?? null,
    goal: goals.privateDirty,
    ok:
      (seconds < settledSeconds || (shipped.pss <= goals.pss && shipped.privateDirty <= goals.privateDirty)) &&
      shipped.startCpuMs <= goals.startCpuMs &&
      (shipped.xz ?? 0) <= goals.xz &&
      (growth?.ratio ?? 0) <= goals.growth,
    goals,
    seconds,
    rows,
    growth,
  };
  tell(JSON.stringify(result));
  return result.ok ? 0 : 1;
}

/** The shipped executable first. */
async function buildCandidates(rig: SmallRig): Promise<Candidate[]> {
  tell('building …');
  await buildForTests('agent');
  const output = await rig.workspace.subfolder('plain');
  const flags = ['--max-semi-space-size=1', '--optimize-for-size'];
  await buildAgent({ entry, output, arch, version: null, flags, small: false });
  const bun = join(fetchPackage(`@oven/bun-linux-${arch === 'arm64' ? 'aarch64' : arch}`, bunVersion), 'bin/bun');
  const bunFile = join(await rig.workspace.subfolder('bun'), 'plain');
  const bytecodeFile = join(await rig.workspace.subfolder('bun'), 'bytecode');
  const compile = ['build', '--compile', '--minify', join(root, entry), '--outfile'];
  await run(bun, [...compile, bunFile], { cwd: root });
  await run(bun, [...compile, bytecodeFile, '--bytecode', '--format=esm'], { cwd: root });
  const env = await unitEnvironment();
  const all: Candidate[] = [
    { name: 'shipped', file: agentExecutable, env },
    { name: 'shipped, without the unit’s variables', file: agentExecutable, env: {}, sameFile: true },
    { name: 'plain single executable of Node', file: join(output, agentFileName(arch)), env: {} },
    { name: `Bun ${bunVersion}`, file: bunFile, env: {} },
    { name: `Bun ${bunVersion}, bytecode`, file: bytecodeFile, env: {} },
  ];
  // Each on its own: two processes that run the same file would share its pages.
  const folder = await rig.workspace.subfolder('candidates');
  for (const [index, candidate] of all.entries()) {
    const copy = join(folder, String(index));
    await copyFile(candidate.file, copy);
    candidate.file = copy;
  }
  return all;
}

async function measureIdle(rig: SmallRig, candidate: Candidate, seconds: number): Promise<Idle> {
  // A file that was just written is in the page cache in large pieces, and all of a piece counts as mapped.
  await run('sync', [candidate.file]);
  await run('dd', [`if=${candidate.file}`, 'iflag=nocache', 'count=0', 'status=none']);
  const agent = await createAgent(rig, candidate);
  const times: { ms: number; cpuMs: number }[] = [];
  for (let start = 0; start < starts; start += 1) {
    if (start > 0) await agent.stop();
    const started = performance.now();
    await agent.start();
    times.push({ ms: performance.now() - started, cpuMs: await cpuMsOf(pidOf(agent)) });
  }
  await agent.idle();
  const pid = pidOf(agent);
  const before = await cpuMsOf(pid);
  await delay(seconds * 1000);
  const cpuMsPerMinute = Math.round(((await cpuMsOf(pid)) - before) / (seconds / 60));
  const memory = await memoryOf(pid);
  assert.equal(await agent.stop(), 0);
  const startMs = median(times.map(({ ms }) => ms));
  const startCpuMs = median(times.map(({ cpuMs }) => cpuMs));
  return { ...memory, startMs, startCpuMs, cpuMsPerMinute };
}

function median(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN);
}

async function createAgent(rig: SmallRig, { file, env }: Candidate): Promise<AgentProcess> {
  const variables = { ...agentEnv(rig, { STABILIZATION_SECONDS: '0', LOG_LEVEL: 'info' }), ...env };
  // It polls every minute, the shortest interval, so that a minute shows all that it does. Each candidate has its own state.
  return createAgentProcess(
    rig.workspace,
    { ...variables, CHECK_INTERVAL_MINUTES: '1' },
    `agent-of-${file.slice(-1)}`,
    [file],
  );
}

function pidOf(agent: AgentProcess): number {
  const pid = agent.pid();
  assert.ok(pid !== undefined, 'the agent runs');
  return pid;
}

/** In MiB, from the kernel's summary of a process. */
async function memoryOf(pid: number): Promise<{ pss: number; privateDirty: number }> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const mebibytes = (name: string): number => {
    const kibibytes = Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(rollup)?.[1] ?? NaN);
    return Math.round((kibibytes / 1024) * 10) / 10;
  };
  const memory = { pss: mebibytes('Pss'), privateDirty: mebibytes('Private_Dirty') };
  assert.ok(memory.pss > 0 && memory.privateDirty > 0, 'the kernel does not report the memory of a process');
  return memory;
}

/** Processor time of all threads (proc(5), /proc/PID/schedstat). */
async function cpuMsOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const texts = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')));
  return texts.reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e6, 0);
}

async function sizesOf(file: string): Promise<Sizes> {
  return {
    ...(await sizeOf(file)),
    xz: await compressedMB('xz', file),
    gzip: await compressedMB('gzip', file),
  };
}

async function sizeOf(file: string): Promise<Sizes> {
  return { onDisk: megabytes((await stat(file)).size), xz: null, gzip: null };
}

async function compressedMB(program: 'xz' | 'gzip', file: string): Promise<number> {
  const child = spawn(program, ['-9', '-c', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let size = 0;
  child.stdout.on('data', (chunk: Buffer) => (size += chunk.length));
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(code, 0, program);
  return megabytes(size);
}

const megabytes = (bytes: number): number => Math.round(bytes / 1e5) / 10;

type Growth = { ratio: number; cycles: number; floorsMiB: [number, number]; lastPss: number };

async function measureGrowth(rig: SmallRig, candidate: Candidate, cycles: number): Promise<Growth> {
  tell(`${cycles} updates and rollbacks …`);
  const agent = await createAgent(rig, candidate);
  await agent.start();
  await agent.idle();
  const dirty: number[] = [];
  let lastPss = 0;
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    await rig.release({ version: `1.${cycle}.0` });
    const update = await agent.call('POST', '/update');
    assert.equal(update.body['result'], 'updated', JSON.stringify(update.body));
    const rollback = await agent.call('POST', '/rollback');
    assert.equal(rollback.body['result'], 'rolled_back', JSON.stringify(rollback.body));
    await agent.idle();
    const memory = await memoryOf(pidOf(agent));
    dirty.push(memory.privateDirty);
    lastPss = memory.pss;
    if (cycle % 10 === 0) tell(`cycle ${cycle} of ${cycles}: ${memory.privateDirty} MiB dirty, PSS ${memory.pss} MiB`);
  }
  await agent.stop();
  const fifth = Math.floor(cycles / 5);
  const floor = (from: number): number => Math.min(...dirty.slice(from, from + fifth));
  const floorsMiB: [number, number] = [floor(fifth), floor(cycles - fifth)];
  return { ratio: Math.round((floorsMiB[1] / floorsMiB[0]) * 1000) / 1000, cycles, floorsMiB, lastPss };
}

function row(name: string, cells: readonly (string | number | null)[]): string {
  return name.padEnd(40) + cells.map((cell) => String(cell ?? '-').padStart(11)).join('');
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main();
