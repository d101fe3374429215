/**
 * `npm run bench -- backend-footprint [--devices 500] [--seconds 180] [--starts 5]`
 *
 * Runs the built backend as its image runs it. Measures the time from the start of the process to the first healthy
 * answer of /api/health. Then it connects virtual devices to the embedded broker and measures memory from
 * /proc/PID/smaps_rollup: the median of samples taken every five seconds in the last two thirds of the time.
 *
 * "Private" counts only pages that the process has written. Pages of the executable that no other process uses are
 * private too, but the kernel can drop them. They are reported separately and are part of PSS. Sizes are in MB (10^6
 * bytes).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { startFleet } from '@station/simulators/devices/fleet';
import { waitFor } from '../rig/program.ts';
import { createWorkspace } from '../rig/workspace.ts';
import { needTwoCores } from './load/pinned.ts';
import { memoryOf, type Memory } from './load/process-facts.ts';
import { buildBackend, startStationBackend, stationId } from './load/station-backend.ts';
import { median, round } from './load/statistics.ts';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '180' },
    starts: { type: 'string', default: '5' },
  },
});
const goals = { privateMB: 45, pssMB: 110, startSeconds: 1.5 };
const sampleEveryMs = 5_000;

async function main(): Promise<number> {
  needTwoCores();
  await using workspace = await createWorkspace();
  const program = await buildBackend(workspace);
  const logins = makeLogins(Number(values.devices));
  const starts: number[] = [];
  for (let index = 0; index < Number(values.starts); index++) {
    const { startMs, daemon } = await startStationBackend(workspace, {
      name: `start-${randomUUID()}`,
      program,
      logins,
    });
    starts.push(startMs / 1000);
    await daemon.stop();
  }
  const backend = await startStationBackend(workspace, { name: 'idle', program, logins });
  const url = `mqtt://127.0.0.1:${backend.mqttPort}`;
  await using fleet = startFleet({ url, stationId, logins });
  await waitFor('all handshakes to be accepted', () => fleet.acceptedCount() === logins.length, 60_000);
  process.stdout.write(`${logins.length} devices are connected; idle for ${values.seconds} s …\n`);
  const idleMs = Number(values.seconds) * 1000;
  await sleep(idleMs / 3);
  const samples: Memory[] = [];
  for (const end = performance.now() + (idleMs * 2) / 3; performance.now() < end; await sleep(sampleEveryMs)) {
    samples.push(await memoryOf(backend.daemon.pid));
  }
  const memory = (key: keyof Memory): number => round((median(samples.map((look) => look[key])) * 2 ** 20) / 1e6, 1);
  const privateMB = memory('privateDirty');
  const pssMB = memory('pss');
  const startSeconds = round(median(starts));
  const rows: [string, number, number, string][] = [
    ['private', privateMB, goals.privateMB, 'MB'],
    ['PSS', pssMB, goals.pssMB, 'MB'],
    ['start to ready, median', startSeconds, goals.startSeconds, 's'],
  ];
  for (const [name, value, goal, unit] of rows)
    process.stdout.write(`${name.padEnd(24)} ${value} ${unit} (goal ${goal})\n`);
  const privateWithFileMB = memory('private');
  process.stdout.write(`with unshared pages of files ${privateWithFileMB} MB\n`);
  const ok = rows.every(([, value, goal]) => value <= goal);
  const result = {
    bench: 'backend-footprint',
    value: privateMB,
    unit: 'MB private, idle',
    ratio: round(privateMB / goals.privateMB),
    goal: goals.privateMB,
    ok,
    privateWithFileMB,
    pssMB,
    startSeconds,
    goals,
    devices: logins.length,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok ? 0 : 1;
}

process.exitCode = await main();
