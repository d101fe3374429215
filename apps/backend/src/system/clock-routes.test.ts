import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isoTime } from '@station/kit/clock';
import { jumpingStation } from '../../testing/jumping-station.ts';

const truth = Date.UTC(2026, 10, 23, 12);
const url = '/api/system/clock';

test('a person sets a clock that started in 1970', async () => {
  await using station = await jumpingStation(5_000, 'wrong');
  const before = await station.clock();
  assert.deepEqual([before.trusted, before.source, before.needsHelp], [false, 'none', true]);
  assert.notEqual(before.provisionalSince, null);
  // The agent sets the clock, and says from then on that it is right.
  station.machine.set(truth);
  station.agentSays('right');
  const { statusCode, body } = await station.call('POST', url, { now: isoTime(truth) });
  assert.equal(statusCode, 200, body);
  const after = await station.clock();
  assert.deepEqual([after.trusted, after.needsHelp, after.now], [true, false, isoTime(truth)]);
});

test('without an agent a person confirms the clock, but cannot set it', async () => {
  await using station = await jumpingStation(truth, null);
  await station.jump(truth + 400 * 24 * 3600_000, null);
  assert.deepEqual((await station.clock()).needsHelp, true);
  const other = await station.call('POST', url, { now: isoTime(truth) });
  assert.ok(other.statusCode >= 400, other.body);
  assert.equal((await station.clock()).trusted, false);
  const same = await station.call('POST', url, { now: isoTime(station.machine.now()) });
  assert.equal(same.statusCode, 200, same.body);
  const { trusted, source, needsHelp } = await station.clock();
  assert.deepEqual([trusted, source, needsHelp], [true, 'person', false]);
});

test('a time that is none is refused, and so is somebody without a log-in', async () => {
  await using station = await jumpingStation(truth, 'right');
  assert.equal((await station.call('POST', url, { now: 'soon' })).statusCode, 400);
  const { http } = station.running;
  assert.equal((await http.inject({ url })).statusCode, 401);
  assert.equal((await http.inject({ method: 'POST', url, payload: { now: isoTime(truth) } })).statusCode, 401);
  assert.equal((await station.clock()).now, isoTime(station.machine.now()));
});
