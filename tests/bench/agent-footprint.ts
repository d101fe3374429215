/**
 * `npm run bench -- agent-footprint [--minutes 10] [--cycles 200] [--agent FILE | --sources]`
 *
 * Measures the agent's memory from /proc/PID/smaps_rollup. First it polls every minute while idle. Then it runs cycles
 * of an update (each to a new release, which it downloads) and a rollback, on the process engine. The bench checks
 * whether memory grows.
 *
 * V8 returns memory at any time, so single readings vary, but a leak remains. The first fifth of the cycles is warm-up.
 * The minimum of the last fifth is compared with the minimum of the second fifth.
 *
 * By default it measures an executable built like the shipped one. `--agent` names another executable. `--sources` runs
 * the agent as in development, where Node keeps its type compiler in memory.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startReleaseSimulator } from '@station/simulators/releases/release-simulator';
import type { ImageRecipe } from '@station/simulators/releases/station-images';
import { findFreePort } from '@station/kit/free-port';
import { agentExecutableWithoutDocker, buildForTests } from '../rig/build.ts';
import { startDaemon, waitFor } from '../rig/program.ts';
import { createWorkspace } from '../rig/workspace.ts';

const root = join(import.meta.dirname, '../..');
const goal = 1.05;
const token = 'token-of-the-bench-0123456789';

const service = `
import { createServer } from 'node:http';
const server = createServer((request, response) => response.end(process.env.STATION_VERSION));
server.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
`;

const recipe: ImageRecipe = ({ version }) => {
  // Not `node`: the engine of a built agent would start the agent itself for that name.
  const image = {
    command: process.execPath,
    args: ['main.mjs'],
    env: { STATION_VERSION: version },
    files: { 'main.mjs': `${service}// ${version}` },
  };
  return { backend: image, frontend: image };
};

/**
 * `anonymousMiB` is the written part: heaps and stacks. The rest of the private memory is program code, read from its
 * file.
 */
type Memory = { pssMiB: number; privateMiB: number; anonymousMiB: number };

async function memoryOf(pid: number): Promise<Memory> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kibibytes = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(rollup)?.[1] ?? NaN);
  const mebibytes = (value: number): number => Math.round((value / 1024) * 10) / 10;
  const own = kibibytes('Private_Clean') + kibibytes('Private_Dirty');
  const memory = {
    pssMiB: mebibytes(kibibytes('Pss')),
    privateMiB: mebibytes(own),
    anonymousMiB: mebibytes(kibibytes('Anonymous')),
  };
  assert.ok(memory.pssMiB > 0 && memory.privateMiB > 0, 'the kernel does not report the memory of a process');
  return memory;
}

const describe = ({ pssMiB, privateMiB, anonymousMiB }: Memory): string =>
  `PSS ${pssMiB} MiB, private ${privateMiB} MiB (${anonymousMiB} MiB of it written)`;

async function buildAgent(): Promise<string> {
  await buildForTests('agent-without-docker');
  return agentExecutableWithoutDocker;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      cycles: { type: 'string', default: '200' },
      agent: { type: 'string' },
      sources: { type: 'boolean', default: false },
    },
  });
  const [minutes, cycles] = [Number(values.minutes), Number(values.cycles)];
  assert.ok(
    minutes >= 0 && Number.isInteger(cycles) && cycles >= 10,
    '--minutes and --cycles (10 or more) are numbers',
  );

  await using workspace = await createWorkspace();
  const folder = await workspace.subfolder('station');
  const [port, backendPort, frontendPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const releases = await startReleaseSimulator({ folder: await workspace.subfolder('releases'), port: 0, recipe });
  workspace.own(releases);
  const services = Object.fromEntries(
    Object.entries({ backend: backendPort, frontend: frontendPort }).map(([name, own]) => [
      name,
      { environment: { PORT: String(own) } },
    ]),
  );
  await writeFile(join(folder, 'docker-compose.yml'), JSON.stringify({ services }));
  const [program, ...script] = values.sources
    ? [process.execPath, join(root, 'simulators/station/agent-main.ts')]
    : [values.agent === undefined ? await buildAgent() : resolve(values.agent)];
  const agent = workspace.own(
    await startDaemon(program, script, {
      logFile: join(workspace.folder, 'agent.log'),
      cwd: folder,
      env: {
        STATION_ID: randomUUID(),
        UPDATE_SERVER_URL: releases.manifestUrl,
        COMPOSE_PROJECT_PATH: folder,
        DATA_DIR: join(folder, 'data'),
        FIRMWARE_CACHE_DIR: join(folder, 'firmware'),
        PORT: String(port),
        AGENT_TOKEN: token,
        HEALTHCHECK_URL: `http://127.0.0.1:${backendPort}/`,
        STABILIZATION_SECONDS: '0',
        CHECK_INTERVAL_MINUTES: '1',
        BOOTSTRAP_ON_START: 'true',
        AUTO_UPDATE: 'false',
        WIFI_WATCHDOG: 'false',
      },
    }),
  );

  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const sent = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, sent);
    const answer: unknown = await response.json();
    assert.equal(response.status, 200, `${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const versionOf = async (): Promise<string | null> =>
    ((await call('GET', '/version')) as { currentVersion: string | null }).currentVersion;
  await waitFor('the first release', async () => (await versionOf()) === '1.0.0');

  process.stdout.write(`idle for ${minutes} min, polling every minute …\n`);
  await delay(minutes * 60_000);
  const idle = await memoryOf(agent.pid);
  process.stdout.write(`idle: ${describe(idle)}\n`);

  const readings: Memory[] = [];
  for (let cycle = 1; cycle <= cycles; cycle++) {
    const { version } = await releases.offer('good');
    await call('POST', '/update', { version });
    assert.equal(await (await fetch(`http://127.0.0.1:${backendPort}/`)).text(), version);
    await call('POST', '/rollback');
    assert.equal(await versionOf(), '1.0.0');
    readings.push(await memoryOf(agent.pid));
    if (cycle % 20 === 0) process.stdout.write(`cycle ${cycle} of ${cycles}: ${describe(readings.at(-1) ?? idle)}\n`);
  }
  const fifth = Math.floor(cycles / 5);
  const floor = (from: number, kind: keyof Memory): number =>
    Math.min(...readings.slice(from, from + fifth).map((each) => each[kind]));
  const floors = (kind: keyof Memory): [number, number] => [floor(fifth, kind), floor(cycles - fifth, kind)];
  const [before, after] = floors('privateMiB');
  const ratio = Math.round((after / before) * 1000) / 1000;
  const result = {
    bench: 'agent-footprint',
    value: idle.privateMiB,
    unit: 'MiB private, idle',
    ratio,
    goal,
    ok: ratio <= goal,
    ...idle,
    minutes,
    cycles,
    floorsMiB: [before, after],
    anonymousFloorsMiB: floors('anonymousMiB'),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.ok ? 0 : 1;
}

process.exitCode = await main();
