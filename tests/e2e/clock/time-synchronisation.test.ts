import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemTime } from '@station/agent/clock/adapters/timedate';
import { systemClock } from '@station/kit/clock';
import { startPrivateBus } from '../../rig/private-bus.ts';
import { startFakeTimedate } from './fake-timedate.ts';

const yearMs = 365 * 24 * 3_600_000;
const nearMs = 60_000;

/** The agent's adapter, and a fake systemd-timedated on a real bus. */
async function createScene(service: Parameters<typeof startFakeTimedate>[1]) {
  await using starting = new AsyncDisposableStack();
  const bus = starting.use(await startPrivateBus());
  const timedate = starting.use(await startFakeTimedate(bus.address, service));
  const limits = { callMs: 60_000, switchMs: 500 };
  const system = starting.use(createSystemTime({ clock: systemClock, busAddress: bus.address, limits }));
  const all = starting.move();
  return { timedate, system, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

test('a person sets the clock while time synchronisation stops slowly, and it goes on afterwards', async () => {
  await using scene = await createScene({ stopMs: 300, answersSwitchOff: true });
  const wanted = Date.now() + yearMs;
  await scene.system.set(wanted);
  const [set = 0] = scene.timedate.times;
  assert.ok(set >= wanted && set < wanted + nearMs, `${set - wanted} ms from what was asked for`);
  assert.ok(scene.timedate.refused() > 1, 'it was refused while the service stopped');
  assert.equal(scene.timedate.isNtpOn(), true);
});

for (const [what, service] of [
  ['does not stop', { stopMs: Infinity, answersSwitchOff: true }],
  ['does not answer that it stops', { stopMs: Infinity, answersSwitchOff: false }],
] as const) {
  test(`time synchronisation that ${what} is reported, and stays on`, async () => {
    await using scene = await createScene(service);
    await assert.rejects(scene.system.set(Date.now() + yearMs));
    assert.deepEqual(scene.timedate.times, []);
    assert.equal(scene.timedate.isNtpOn(), true);
  });
}
