/**
 * `npm run bench -- backend-footprint [--devices 500] [--seconds 60] [--starts 5]`
 *
 * The built backend as its image runs it: how long it takes from the start of the process to the first good answer of /api/health, and what
 * memory it has after a while with so many virtual devices connected to its embedded broker, from /proc/PID/smaps_rollup.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { startFleet } from '@station/simulators/devices/fleet';
import { waitFor } from '../rig/program.ts';
import { createWorkspace } from '../rig/workspace.ts';
import { needTwoCores } from './load/pinned.ts';
import { memoryOf } from './load/process-facts.ts';
import { buildBackend, startStationBackend, stationId } from './load/station-backend.ts';
import { median, round } from './load/statistics.ts';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '60' },
    starts: { type: 'string', default: '5' },
  },
});
const goals = { privateMiB: 45, pssMiB: 110, startSeconds: 1.5 };

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
  await waitFor('all devices to be known', () => fleet.known() === logins.length, 60_000);
  process.stdout.write(`${logins.length} devices are connected; idle for ${values.seconds} s …\n`);
  await sleep(Number(values.seconds) * 1000);
  const memory = await memoryOf(backend.daemon.pid);
  const startSeconds = round(median(starts));
  const rows: [string, number, number, string][] = [
    ['private', round(memory.private, 1), goals.privateMiB, 'MiB'],
    ['of it written', round(memory.privateDirty, 1), goals.privateMiB, 'MiB'],
    ['PSS', round(memory.pss, 1), goals.pssMiB, 'MiB'],
    ['start to ready, median', startSeconds, goals.startSeconds, 's'],
  ];
  for (const [name, value, goal, unit] of rows)
    process.stdout.write(`${name.padEnd(24)} ${value} ${unit} (goal ${goal})\n`);
  const ok = memory.private <= goals.privateMiB && memory.pss <= goals.pssMiB && startSeconds <= goals.startSeconds;
  const result = {
    bench: 'backend-footprint',
    value: round(memory.private, 1),
    unit: 'MiB private, idle',
    ratio: round(memory.private / goals.privateMiB),
    goal: goals.privateMiB,
    ok,
    writtenMiB: round(memory.privateDirty, 1),
    pssMiB: round(memory.pss, 1),
    startSeconds,
    goals,
    devices: logins.length,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok ? 0 : 1;
}

process.exitCode = await main();
