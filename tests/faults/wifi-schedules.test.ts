import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSchedule } from './wifi-schedules.ts';

test('in 200 random homes the station ends online or with its hotspot, and in a consistent state', async () => {
  const ends = new Map<string, number>();
  const faults: string[] = [];
  let processes = 0;
  for (let seed = 1; seed <= 200; seed += 1) {
    const schedule = await runSchedule(seed);
    ends.set(schedule.end, (ends.get(schedule.end) ?? 0) + 1);
    processes += schedule.processes;
    faults.push(...schedule.faults.map((fault) => `seed ${seed}: ${fault}`));
  }
  assert.deepEqual(faults, []);
  assert.ok((ends.get('CONNECTED') ?? 0) > 20 && (ends.get('HOTSPOT_ACTIVE') ?? 0) > 20, JSON.stringify([...ends]));
  assert.ok(processes > 300, `only ${processes} processes: hardly one was ended`);
});
