import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extent } from '../rig/extent.ts';
import { runSchedule } from './wifi-schedules.ts';

const homes = extent(60, 1_000);

test(`in ${homes} random homes the station ends online or with its hotspot, and in a consistent state`, async () => {
  const ends = new Map<string, number>();
  const faults: string[] = [];
  let processes = 0;
  for (let seed = 1; seed <= homes; seed += 1) {
    const schedule = await runSchedule(seed);
    ends.set(schedule.end, (ends.get(schedule.end) ?? 0) + 1);
    processes += schedule.processes;
    faults.push(...schedule.faults.map((fault) => `seed ${seed}: ${fault}`));
  }
  assert.deepEqual(faults, []);
  assert.ok(
    (ends.get('CONNECTED') ?? 0) > homes / 10 && (ends.get('HOTSPOT_ACTIVE') ?? 0) > homes / 10,
    JSON.stringify([...ends]),
  );
  assert.ok(processes > homes * 1.5, `only ${processes} processes: hardly any was ended`);
});
