/**
 * A backup of a large database while the station is used, compared with `sqlite3 .backup` and `zstd` of the same level; and the REST answers
 * meanwhile, compared with a quiet station.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { needPackages } from '../rig/debian.ts';
import { run, systemEnv } from '../rig/program.ts';
import { createWorkspace } from '../rig/workspace.ts';
import { buildBackend, startStationBackend, type StationBackend } from './load/station-backend.ts';
import { median, percentile, round } from './load/statistics.ts';

const goal = 1.5;
/** The priority of a backup: otherwise a busy machine would decide the comparison. */
const lowest = ['-n', '19'];
const { values } = parseArgs({
  options: {
    mb: { type: 'string', default: '1024' },
    rounds: { type: 'string', default: '3' },
    rate: { type: 'string', default: '50' },
  },
});
const megabytes = Number(values.mb);
const rounds = Number(values.rounds);
const rate = Number(values.rate);

/** Samples as devices report them: small steps, one value in ten seconds. */
function fill(dataDir: string): void {
  // The backend writes too, now and then.
  using database = new DatabaseSync(join(dataDir, 'station.sqlite'), { timeout: 60_000 });
  database.exec('pragma synchronous = off');
  const ids = database.prepare('select id from devices order by id').all();
  const insert = database.prepare(`
    insert into device_samples (device_id, capability, at, value)
    with recursive steps(n) as (select 1 union all select n + 1 from steps where n < 20000)
    select ?, ?, ? - n * 10000, round(20 + 5 * sin(n / 500.0) + (abs(random()) % 100) / 100.0, 2) from steps
  `);
  const now = Date.now();
  for (const capability of ['temperature', 'humidity', 'illuminance', 'power', 'voltage']) {
    for (const { id } of ids) {
      const pages = Object.values(database.prepare('pragma page_count').get() ?? {})[0];
      if (Number(pages) * 4096 >= megabytes * 1_000_000) return;
      insert.run(String(id), capability, now);
    }
  }
}

/** Milliseconds of each request for a device at a steady rate, until the signal aborts. Lists are large reads, which wait. */
async function measureRest(station: StationBackend, token: string, signal: AbortSignal): Promise<number[]> {
  const [device] = station.query<{ id: string }>('select id from devices limit 1');
  const url = `${station.url}/api/devices/${device?.id}`;
  const times: number[] = [];
  const pending: Promise<void>[] = [];
  const ask = async (): Promise<void> => {
    const started = performance.now();
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    await response.arrayBuffer();
    times.push(response.ok ? performance.now() - started : Infinity);
  };
  for (let due = performance.now(); !signal.aborted; due += 1000 / rate) {
    pending.push(ask());
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
  }
  await Promise.all(pending);
  return times;
}

async function whileMeasuring<T>(station: StationBackend, token: string, action: () => Promise<T>) {
  const ending = new AbortController();
  const measuring = measureRest(station, token, ending.signal);
  const started = performance.now();
  const result = await action();
  const seconds = (performance.now() - started) / 1000;
  ending.abort();
  return { result, seconds, times: await measuring };
}

/** @returns the largest resident set of the process, MiB, and of the whole run. */
async function backUp(program: string, dataDir: string, file: string, passphrase: string): Promise<number> {
  const args = [program, 'backup', '--to', file, '--passphrase-file', passphrase];
  // As the backend starts it.
  const child = spawn('nice', [...lowest, process.execPath, ...args], {
    env: { ...systemEnv, DATA_DIR: dataDir },
    stdio: 'ignore',
  });
  let peak = 0;
  const timer = setInterval(() => {
    const read = readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    void read.then((text) => {
      peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024);
    });
  }, 50);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearInterval(timer);
  if (code !== 0) throw new Error(`The backup ended with ${code}`);
  return peak;
}

async function main(): Promise<boolean> {
  await needPackages(['sqlite3', 'zstd']);
  await using workspace = await createWorkspace();
  const program = await buildBackend(workspace);
  const logins = makeLogins(500);
  const first = await startStationBackend(workspace, { name: 'station', program, logins });
  const token = await first.logIn();
  process.stdout.write('filling the database …\n');
  fill(first.dataDir);
  const database = join(first.dataDir, 'station.sqlite');
  const size = (await stat(database)).size;
  const passphrase = join(workspace.folder, 'passphrase');
  await writeFile(passphrase, 'correct horse battery staple\n');
  const file = join(workspace.folder, 'a.age');
  const copy = join(workspace.folder, 'copy.sqlite');
  const quietMs = 15_000;
  const figures: { own: number; other: number; peak: number; quiet: number; busy: number }[] = [];
  for (let number = 1; number <= rounds; number++) {
    const quiet = await whileMeasuring(first, token, () => new Promise((resolve) => setTimeout(resolve, quietMs)));
    const other = await whileMeasuring(first, token, async () => {
      await run('nice', [...lowest, 'sqlite3', database, `.backup ${copy}`]);
      await run('nice', [...lowest, 'zstd', '-q', '-f', '-1', copy, '-o', `${copy}.zst`]);
      await run('sync', [`${copy}.zst`]);
    });
    await rm(copy);
    await rm(`${copy}.zst`);
    const own = await whileMeasuring(first, token, () => backUp(program, first.dataDir, file, passphrase));
    figures.push({
      own: own.seconds,
      other: other.seconds,
      peak: own.result,
      quiet: percentile(quiet.times, 99),
      busy: percentile(own.times, 99),
    });
    process.stdout.write(
      `round ${number}: backup ${round(own.seconds)} s (${round(own.result, 0)} MiB), sqlite3 and zstd ${round(other.seconds)} s; ` +
        `REST p99 ${round(percentile(quiet.times, 99))} ms quiet, ${round(percentile(own.times, 99))} ms (beside sqlite3: ${round(percentile(other.times, 99))} ms)\n`,
    );
  }
  const of = (name: keyof (typeof figures)[number]): number => median(figures.map((figure) => figure[name]));
  const ratio = of('own') / of('other');
  const restRatio = of('busy') / of('quiet');
  const result = {
    bench: 'backup',
    value: round(of('own')),
    unit: 's',
    ratio: round(ratio),
    goal,
    ok: ratio <= goal && restRatio <= goal,
    databaseMb: Math.round(size / 1e6),
    backupMb: Math.round((await stat(file)).size / 1e6),
    peakMiB: Math.round(of('peak')),
    restP99Ms: round(of('busy')),
    restQuietP99Ms: round(of('quiet')),
    restRatio: round(restRatio),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.ok;
}

process.exitCode = (await main()) ? 0 : 1;
