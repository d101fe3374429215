/**
 * `npm run bench -- history [--devices 500] [--reads 30]`
 *
 * Charts of a full station: each device has a value for every hour of a year and for every minute of the last week. The ranges of the web app
 * are read in turns from this station and from one with a single such device. What a person waits for a chart must not grow with the home.
 */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { type Range, ranges } from '../../apps/web/src/features/devices/history-view.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import { buildBackend, startStationBackend } from './load/station-backend.ts';
import { percentile, round } from './load/statistics.ts';

const goal = 1.5;
/** Nobody notices a difference between shorter times, and the noise of the machine is as large. */
const noticedMs = 10;
const { values } = parseArgs({
  options: { devices: { type: 'string', default: '500' }, reads: { type: 'string', default: '30' } },
});
const deviceCount = Number(values.devices);
const reads = Number(values.reads);

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The rows that a backend would have written in a year. */
function fill(dataDir: string): void {
  using database = new DatabaseSync(join(dataDir, 'station.sqlite'), { timeout: 60_000 });
  database.exec('pragma synchronous = off');
  const now = Math.floor(Date.now() / minuteMs) * minuteMs;
  const lastHour = Math.floor(now / hourMs) * hourMs - hourMs;
  database.exec(`
    insert into device_samples (device_id, capability, at, value)
    with recursive minutes(at) as (
      select ${now} union all select at - ${minuteMs} from minutes where at > ${now - ranges.week + hourMs}
    )
    select id, 'temperature', at, 20 + at / ${minuteMs} % 7 from devices, minutes;
    insert into device_hours (device_id, capability, hour, samples, total, lowest, highest)
    with recursive hours(at) as (
      select ${lastHour} union all select at - ${hourMs} from hours where at > ${lastHour - ranges.year}
    )
    select id, 'temperature', at, 60, 60 * (20 + at / ${hourMs} % 7), 20, 27 from devices, hours
  `);
}

type Chart = { ms: number; points: number };

async function openStation(workspace: Workspace, program: string, count: number) {
  const station = await startStationBackend(workspace, { name: `${count}`, program, logins: makeLogins(count) });
  const authorization = `Bearer ${await station.logIn()}`;
  fill(station.dataDir);
  const ids = station.query<{ id: string }>('select id from devices order by id').map(({ id }) => id);
  return {
    rows: (): number =>
      ['device_hours', 'device_samples']
        .flatMap((table) => station.query<{ rows: number }>(`select count(*) as rows from ${table}`))
        .reduce((sum, { rows }) => sum + rows, 0),
    read: async (range: Range, turn: number): Promise<Chart> => {
      const id = ids[(turn * 37) % ids.length];
      const from = new Date(Date.now() - ranges[range] + minuteMs).toISOString();
      const started = performance.now();
      const response = await fetch(`${station.url}/api/devices/${id}/history?capability=temperature&from=${from}`, {
        headers: { authorization },
      });
      const { points } = (await response.json()) as { points?: unknown[] };
      if (points === undefined) throw new Error(`The history was answered with ${response.status}`);
      return { ms: performance.now() - started, points: points.length };
    },
  };
}

async function main(): Promise<boolean> {
  await using workspace = await createWorkspace();
  const program = await buildBackend(workspace);
  process.stdout.write('filling two databases …\n');
  const full = await openStation(workspace, program, deviceCount);
  const small = await openStation(workspace, program, 1);
  const times = new Map<Range, { full: Chart[]; small: Chart[] }>();
  for (const range of Object.keys(ranges) as Range[]) {
    const seen = { full: [] as Chart[], small: [] as Chart[] };
    for (let turn = 0; turn < reads; turn += 1) {
      seen.full.push(await full.read(range, turn));
      seen.small.push(await small.read(range, turn));
      // A person looks at a chart before opening the next one.
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    times.set(range, seen);
  }
  const p95 = (charts: readonly Chart[]): number =>
    percentile(
      charts.map(({ ms }) => ms),
      95,
    );
  const figures = [...times].map(([range, seen]) => ({
    range,
    fullMs: round(p95(seen.full), 1),
    smallMs: round(p95(seen.small), 1),
    points: seen.full.at(-1)?.points ?? 0,
  }));
  for (const { range, fullMs, smallMs, points } of figures)
    process.stdout.write(`${range}: p95 ${fullMs} ms, one device ${smallMs} ms, ${points} points\n`);
  const ratio = Math.max(...figures.map(({ fullMs, smallMs }) => fullMs / Math.max(smallMs, noticedMs)));
  const result = {
    bench: 'history',
    value: Math.max(...figures.map(({ fullMs }) => fullMs)),
    unit: 'ms',
    ratio: round(ratio),
    goal,
    ok: ratio <= goal && figures.every(({ points }) => points > 20),
    devices: deviceCount,
    rows: full.rows(),
    figures,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.ok;
}

process.exitCode = (await main()) ? 0 : 1;
