import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceCommand } from '@station/protocol/device-commands';
import type { Device } from '@station/protocol/devices';
import { Problem } from '../../api/request.ts';
import { createDeviceControl, giveUpAfterMs, readAfterMs, type Values } from './device-control.ts';

const at = '2026-03-01T12:00:00.000Z';
const turnOn = { action: 'turn_on' };

function withControl() {
  const timers = new Map<() => void, number>();
  const confirmed: [string, Values][] = [];
  let readings = 0;
  const sent: PromiseWithResolvers<DeviceCommand>[] = [];
  const control = createDeviceControl({
    send: () => {
      const answer = Promise.withResolvers<DeviceCommand>();
      sent.push(answer);
      return answer.promise;
    },
    onConfirmed: (id, values) => confirmed.push([id, values]),
    readDevices: () => (readings += 1),
    after: (ms, run) => {
      timers.set(run, ms);
      return () => void timers.delete(run);
    },
  });
  const command = (commandId: string, status: DeviceCommand['status']): DeviceCommand => ({
    commandId,
    deviceId: 'lamp',
    action: 'turn_on',
    status,
    reason: null,
  });
  const report = (commandId: string, status: DeviceCommand['status']): void =>
    control.onMessage({ type: 'device_command', at, ...command(commandId, status) });
  /** Lets the timer that is due run. */
  const pass = (expectedMs: number): void => {
    const [[run, ms]] = [...timers] as [[() => void, number]];
    assert.equal(ms, expectedMs);
    timers.delete(run);
    run();
  };
  const see = (on: boolean, stateAt: string): void =>
    control.onDevices([{ id: 'lamp', state: { on, brightness: 40 }, stateAt } as Partial<Device> as Device]);
  return {
    pass,
    see,
    readings: () => readings,
    control,
    timers,
    confirmed,
    sent,
    command,
    report,
    shown: () => control.commands.get().get('lamp'),
  };
}

test('a command is shown at once and is done when the device confirms it', async () => {
  const { control, sent, command, report, confirmed, shown, timers } = withControl();
  const asked = control.send('lamp', turnOn, { on: true });
  assert.deepEqual(shown(), { values: { on: true }, refusal: null });
  sent[0]?.resolve(command('c1', 'pending'));
  await asked;
  report('another', 'expired');
  assert.deepEqual(shown()?.values, { on: true });
  report('c1', 'confirmed');
  assert.equal(shown(), undefined);
  assert.deepEqual(confirmed, [['lamp', { on: true }]]);
  assert.equal(timers.size, 0);
});

test('a result of the device that comes before the response of the station counts too', async () => {
  const { control, sent, command, report, confirmed } = withControl();
  const asked = control.send('lamp', turnOn, { on: true });
  report('c1', 'confirmed');
  sent[0]?.resolve(command('c1', 'pending'));
  await asked;
  assert.equal(confirmed.length, 1);
});

test('without confirmation the command is taken back with the reason', async () => {
  for (const [status, because] of [
    ['expired', 'no_answer'],
    ['failed', 'refused'],
  ] as const) {
    const { control, sent, command, report, shown, confirmed } = withControl();
    const asked = control.send('lamp', turnOn, { on: true });
    sent[0]?.resolve(command('c1', 'pending'));
    await asked;
    report('c1', status);
    assert.deepEqual(shown(), { values: {}, refusal: { because } });
    assert.deepEqual(confirmed, []);
  }
});

test('a command that the station refuses, or never answers, is taken back too', async () => {
  const { control, sent, shown, pass, readings } = withControl();
  const asked = control.send('lamp', turnOn, { on: true });
  const problem = new Problem('no_answer', 'away');
  sent[0]?.reject(problem);
  await asked;
  assert.deepEqual(shown(), { values: {}, refusal: { because: 'not_sent', problem } });
  void control.send('lamp', turnOn, { on: true });
  pass(readAfterMs);
  assert.deepEqual([shown()?.refusal, readings()], [null, 1], 'it may have taken effect without a message');
  pass(giveUpAfterMs);
  assert.deepEqual(shown(), { values: {}, refusal: { because: 'no_answer' } });
});

test('a command is done too when the state shows it, though its result was missed', async () => {
  const { control, sent, command, shown, see, timers } = withControl();
  see(false, at);
  const asked = control.send('lamp', turnOn, { on: true });
  sent[0]?.resolve(command('c1', 'pending'));
  await asked;
  see(false, '2026-03-01T12:00:01.000Z');
  assert.deepEqual(shown(), { values: { on: true }, refusal: null });
  see(true, '2026-03-01T12:00:02.000Z');
  assert.equal(shown(), undefined);
  assert.equal(timers.size, 0);
});

test('a confirmation that comes after a newer state does not overwrite it', async () => {
  const { control, sent, command, report, confirmed, shown, see } = withControl();
  see(false, at);
  const asked = control.send('lamp', turnOn, { on: true });
  sent[0]?.resolve(command('c1', 'pending'));
  await asked;
  // On and off again by its own switch, reported at once.
  see(false, '2026-03-01T12:00:01.000Z');
  report('c1', 'confirmed');
  assert.equal(shown(), undefined);
  assert.deepEqual(confirmed, []);
});

test('the state of before the tap does not make it true', () => {
  const { control, shown, see } = withControl();
  see(false, at);
  void control.send('lamp', turnOn, { on: true });
  void control.send('lamp', turnOn, { on: false });
  see(false, at);
  assert.deepEqual(shown(), { values: { on: false }, refusal: null });
});

test('a command that takes effect after its time-out is no longer shown as unanswered', async () => {
  for (const late of ['result', 'state'] as const) {
    const { control, sent, command, shown, see, report, pass } = withControl();
    const asked = control.send('lamp', turnOn, { on: true });
    sent[0]?.resolve(command('c1', 'pending'));
    await asked;
    pass(readAfterMs);
    pass(giveUpAfterMs);
    assert.equal(shown()?.refusal?.because, 'no_answer');
    if (late === 'result') report('c1', 'confirmed');
    else see(true, at);
    assert.equal(shown(), undefined, late);
  }
});

test('of two commands in a row the later one counts, whatever the result of the first', async () => {
  const { control, sent, command, report, shown } = withControl();
  const first = control.send('lamp', turnOn, { on: true });
  const second = control.send('lamp', turnOn, { on: false });
  sent[0]?.reject(new Problem('no_answer', 'away'));
  await first;
  assert.deepEqual(shown(), { values: { on: false }, refusal: null });
  sent[1]?.resolve(command('c2', 'pending'));
  await second;
  report('c1', 'expired');
  assert.deepEqual(shown(), { values: { on: false }, refusal: null });
  report('c2', 'confirmed');
  assert.equal(shown(), undefined);
});

test('when the station becomes silent, a command that it has not answered is not shown as done any more', async () => {
  const all = withControl();
  const done = all.control.send('lamp', turnOn, { on: true });
  assert.deepEqual(all.shown(), { values: { on: true }, refusal: null });
  all.control.doubt();
  assert.deepEqual(all.shown(), { values: {}, refusal: { because: 'no_answer' } });
  assert.equal(all.timers.size, 0);
  // It comes back and has done it after all.
  all.sent[0]?.resolve(all.command('1', 'pending'));
  await done;
  all.report('1', 'confirmed');
  assert.equal(all.shown(), undefined);
});

test('what the station has taken waits for the device, also while the page does not hear of it', async () => {
  const all = withControl();
  const done = all.control.send('lamp', turnOn, { on: true });
  all.sent[0]?.resolve(all.command('1', 'pending'));
  await done;
  all.control.doubt();
  assert.deepEqual(all.shown(), { values: { on: true }, refusal: null });
});
