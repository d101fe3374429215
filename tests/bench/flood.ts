/**
 * `npm run bench -- flood [--seconds 60] [--rounds 5] [--mosquitto]` (as root)
 *
 * One device sends the largest allowed states and events as fast as it can, beside 200 normal devices and six members who
 * read the largest pages, on a disk of 256 MiB and with the memory limit of the image. The acknowledgements of the normal
 * devices are compared with quiet times between, in turns: the disk of a shared machine is faster at one time than at
 * another. See docs/benchmarks.md.
 */
import { readdir, stat, statfs } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { latestState } from '../rig/latest-state.ts';
import { createMosquitto } from '../rig/mosquitto.ts';
import { run } from '../rig/program.ts';
import { limitOf } from '../rig/strangers.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import type { FloodRequest, FloodResult, PacedResult, ReadResult } from './load/flood-load.ts';
import { cores, needTwoCores, request, startScript, type Pinned } from './load/pinned.ts';
import { makeMemoryLimit } from './load/memory-limit.ts';
import { raisePriority } from './load/priority.ts';
import { buildBackend, startStationBackend, stationId, type StationBackend } from './load/station-backend.ts';
import { percentile, round } from './load/statistics.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '5' },
    mosquitto: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
/** Of each turn: quiet, flood, flood while members read. */
const turnSeconds = Number(values.seconds) / 2 / rounds;
const goal = 1.5;
const diskMegabytes = 256;
const deviceCount = 200;
const memberCount = 6;
const mebibyte = 1024 * 1024;

async function mountDisk(workspace: Workspace): Promise<string> {
  const image = join(workspace.folder, 'disk.ext4');
  const folder = await workspace.subfolder('disk');
  await run('truncate', ['--size', `${diskMegabytes}M`, image]);
  await run('mkfs.ext4', ['-q', '-m', '0', image]);
  await run('mount', ['-o', 'loop', image, folder]);
  workspace.own({ [Symbol.asyncDispose]: async () => void (await run('umount', [folder])) });
  return folder;
}

/** Watches what the database and its copies take. */
function watchDisk(folder: string) {
  let mostBytes = 0;
  let isOver = false;
  const sizeOf = async (path: string): Promise<number> => {
    const names = await readdir(path, { withFileTypes: true });
    const sizes = names.map(async (entry) => {
      const full = join(path, entry.name);
      if (entry.isDirectory()) return sizeOf(full);
      if (!entry.name.includes('.sqlite')) return 0;
      return stat(full).then(
        ({ blocks }) => blocks * 512,
        () => 0,
      );
    });
    return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
  };
  const running = (async () => {
    for (; !isOver; await sleep(200)) mostBytes = Math.max(mostBytes, await sizeOf(folder));
  })();
  return {
    most: async (): Promise<number> => {
      isOver = true;
      await running;
      return mostBytes;
    },
  };
}

type Load = (body: FloodRequest) => Promise<unknown>;

/** Beside the normal devices, whose times are measured: the others must not keep the core of the load from them. */
const nicenessOfOthers = 10;

async function startLoad(workspace: Workspace, name: string, niceness: number | null = null): Promise<Load> {
  const script = join(import.meta.dirname, 'load/flood-load.ts');
  const logFile = join(workspace.folder, `${name}.log`);
  const pinned: Pinned = workspace.own(await startScript(cores.load, script, { logFile }));
  if (niceness !== null) setPriority(pinned.pid, niceness);
  return (body) => request(pinned, body);
}

async function connect(load: Load, body: FloodRequest): Promise<void> {
  // The backend creates the logins at an external broker after its start.
  for (let attempt = 1; ; attempt++) {
    try {
      await load(body);
      return;
    } catch (error) {
      if (attempt === 50 || !values.mosquitto) throw error;
      await sleep(200);
    }
  }
}

/** What the normal devices measured in all turns of one kind. */
type Turns = { latencies: number[]; add(result: PacedResult): void; last(): PacedResult['last'] };

function newTurns(): Turns {
  const latencies: number[] = [];
  let last: PacedResult['last'] = {};
  return {
    latencies,
    add: (result) => {
      latencies.push(...result.latencies);
      last = result.last;
    },
    last: () => last,
  };
}

type Stored = { external_id: string; counter: number | null };

async function countLost(backend: StationBackend, expected: Record<string, number>): Promise<number> {
  const read = (): number => {
    const rows = backend.query<Stored>(`select external_id, ${latestState} ->> 'counter' as counter from devices`);
    const stored = new Map(rows.map(({ external_id, counter }) => [external_id, counter]));
    return Object.entries(expected).filter(([id, stamp]) => stored.get(id) !== stamp).length;
  };
  // An external broker acknowledges before the backend has written.
  for (let attempt = 0; attempt < 50 && read() > 0; attempt++) await sleep(200);
  return read();
}

async function main(): Promise<number> {
  needTwoCores();
  await run('taskset', ['--cpu-list', '--pid', String(cores.load), String(process.pid)]);
  await using stack = new AsyncDisposableStack();
  // Other programs would distort the slowest answers most.
  const priority = await raisePriority(process.pid);
  if (priority !== null) stack.use(priority);
  const workspace = stack.use(await createWorkspace());
  const program = await buildBackend(workspace);
  const disk = await mountDisk(workspace);
  const budgetBytes = Math.floor((await statfs(disk).then(({ blocks, bsize }) => blocks * bsize)) / 4);
  const logins = makeLogins(deviceCount + 1);
  const mosquitto = values.mosquitto ? await createMosquitto(workspace) : null;
  const mqtt = mosquitto && {
    MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}`,
    MQTT_USERNAME: 'backend',
    MQTT_PASSWORD: mosquitto.password,
  };
  const dataDir = join(disk, 'data');
  const limitMemory = await makeMemoryLimit(workspace, { name: 'flood', megabytes: await limitOf('backend') });
  const backend = await startStationBackend(workspace, {
    name: 'flood',
    program,
    logins,
    dataDir,
    ...(mqtt && { mqtt }),
  });
  const memoryMb = await limitMemory(backend.daemon.pid);
  const token = await backend.logIn();
  const port = mosquitto?.port ?? backend.mqttPort;
  const normal = await startLoad(workspace, 'normal');
  const babbling = await startLoad(workspace, 'babbling', nicenessOfOthers);
  const members = await startLoad(workspace, 'members', nicenessOfOthers);
  const [flooding, ...others] = logins;
  await connect(babbling, { kind: 'connect', port, stationId, logins: [flooding!] });
  await connect(normal, { kind: 'connect', port, stationId, logins: others });
  const ids = backend.query<{ id: string }>(
    `select id from devices where external_id in ('${flooding!.externalId}', '${others[0]!.externalId}') order by external_id = '${flooding!.externalId}' desc`,
  );
  const from = new Date(Date.now() - 60 * 60 * 1000).toISOString();
  const paths = [
    '/api/devices',
    '/api/activity?limit=200',
    `/api/devices/${ids[0]!.id}/events?limit=200`,
    `/api/devices/${ids[0]!.id}/history?capability=counter&from=${from}`,
    `/api/devices/${ids[1]!.id}/history?capability=temperature&from=${from}`,
  ];
  const watching = watchDisk(dataDir);
  let acknowledged = 0;
  const turns = { quiet: newTurns(), flood: newTurns(), members: newTurns() };
  const pace = async (): Promise<PacedResult> => (await normal({ kind: 'pace', seconds: turnSeconds })) as PacedResult;
  await pace();
  const readWhile = {
    kind: 'read',
    members: memberCount,
    url: backend.url,
    token,
    paths,
    seconds: turnSeconds,
  } as const;
  for (let nth = 1; nth <= rounds; nth++) {
    turns.quiet.add(await pace());
    const flooded = babbling({ kind: 'flood', seconds: 2 * turnSeconds }) as Promise<FloodResult>;
    turns.flood.add(await pace());
    const reading = members(readWhile) as Promise<ReadResult>;
    turns.members.add(await pace());
    const [flood, read] = await Promise.all([flooded, reading]);
    acknowledged += flood.acknowledged;
    process.stdout.write(`${JSON.stringify({ round: nth, flood, read })}\n`);
    // What the flood left unread is served now.
    await sleep(1_000);
  }
  for (const [name, { latencies }] of Object.entries(turns)) {
    const [p50, p99] = [50, 99].map((nth) => round(percentile(latencies, nth)));
    process.stdout.write(`${name}: ${latencies.length} states, p50 ${p50} ms, p99 ${p99} ms\n`);
  }
  const mostBytes = await watching.most();
  const lost = await countLost(backend, turns.members.last());
  const isRunning = backend.daemon.running();
  const storage = backend.query('select * from device_storage order by events_bytes desc limit 1')[0];
  process.stdout.write(`${JSON.stringify({ storage })}\n`);
  const p99 = (of: Turns): number => percentile(of.latencies, 99);
  const quietP99 = p99(turns.quiet);
  const ratios = { flood: round(p99(turns.flood) / quietP99), members: round(p99(turns.members) / quietP99) };
  const ratio = Math.max(...Object.values(ratios));
  const ok = ratio <= goal && lost === 0 && mostBytes <= budgetBytes && isRunning && acknowledged > 0;
  const mostMb = round(mostBytes / mebibyte, 1);
  const budgetMb = round(budgetBytes / mebibyte, 1);
  const broker = values.mosquitto ? 'mosquitto' : 'embedded';
  const more = { ratios, quietP99: round(quietP99), lostStates: lost, mostMb, budgetMb, memoryMb, isRunning, broker };
  const result = {
    bench: 'flood',
    value: round(p99(turns.members)),
    unit: 'ms until acknowledged, p99',
    ratio,
    goal,
    ok,
    ...more,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok ? 0 : 1;
}

process.exitCode = await main();
