// npm run bench -- wifi-schedules [--count N] [--first N]
// Runs random histories of a home for the Wi-Fi watchdog: changes of routers, cables and phones, faults at any call,
// ends of the process and power cuts at any moment. Each must end online or in the hotspot, with proxy, page and files
// in a consistent state.
import { parseArgs } from 'node:util';
import { runSchedule } from '../faults/wifi-schedules.ts';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '1000' }, first: { type: 'string', default: '1' } },
});
const count = Number(values.count);
const first = Number(values.first);
const ends: Record<string, number> = {};
let processes = 0;
let points = 0;
let bad = 0;
const started = performance.now();
for (let seed = first; seed < first + count; seed += 1) {
  const schedule = await runSchedule(seed);
  ends[schedule.end] = (ends[schedule.end] ?? 0) + 1;
  processes += schedule.processes;
  points += schedule.points;
  if (schedule.faults.length === 0) continue;
  bad += 1;
  if (bad <= 20) process.stderr.write(`seed ${seed}: ${schedule.faults.join('; ')}\n`);
}
process.stderr.write(`${((performance.now() - started) / 1000).toFixed(1)} s\n`);
const both = ['CONNECTED', 'HOTSPOT_ACTIVE'].every((state) => (ends[state] ?? 0) > 0);
const ok = bad === 0 && both && processes > count;
process.stdout.write(
  `${JSON.stringify({ bench: 'wifi-schedules', value: count, unit: 'schedules', ratio: (count - bad) / count, goal: 1, ok, ends, processes, points })}\n`,
);
process.exitCode = ok ? 0 : 1;
