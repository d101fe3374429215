import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceCommand } from '@station/protocol/device-commands';
import type { Device } from '@station/protocol/devices';
import { Problem } from '../../api/request.ts';
import { createDeviceControl, giveUpAfterMs, readAfterMs, type Values } from './device-control.ts';

const at = '2026-03-01T12:00:00.000Z';
const turnOn = { action: 'set_power', params: { power: true } };

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
    action: 'set_power',
    status,
    reason: null,
  });
  const tell = (commandId: string, status: DeviceCommand['status']): void =>
    control.onMessage({ type: 'device_command', at, ...command(commandId, status) });
  /** Lets the timer that is due run. */
  const pass = (expectedMs: number): void => {
    const [[run, ms]] = [...timers] as [[() => void, number]];
    assert.equal(ms, expectedMs);
    timers.delete(run);
    run();
  };
  const see = (power: boolean, stateAt: string): void =>
    control.onDevices([{ id: 'lamp', state: { power, brightness: 40 }, stateAt } as Partial<Device> as Device]);
  return {
    pass,
    see,
    readings: () => readings,
    control,
    timers,
    confirmed,
    sent,
    command,
    tell,
    wish: () => control.commands.get().get('lamp'),
  };
}

test('a wish is shown at once and is true when the device confirms it', async () => {
  const { control, sent, command, tell, confirmed, wish, timers } = withControl();
  const asked = control.send('lamp', turnOn, { power: true });
  assert.deepEqual(wish(), { values: { power: true }, refusal: null });
  sent[0]?.resolve(command('c1', 'pending'));
  await asked;
  tell('another', 'expired');
  assert.deepEqual(wish()?.values, { power: true });
  tell('c1', 'confirmed');
  assert.equal(wish(), undefined);
  assert.deepEqual(confirmed, [['lamp', { power: true }]]);
  assert.equal(timers.size, 0);
});

test('a word of the device that comes before the answer of the station counts too', async () => {
  const { control, sent, command, tell, confirmed } = withControl();
  const asked = control.send('lamp', turnOn, { power: true });
  tell('c1', 'confirmed');
  sent[0]?.resolve(command('c1', 'pending'));
  await asked;
  assert.equal(confirmed.length, 1);
});

test('without confirmation the wish is taken back with the reason', async () => {
  for (const [status, because] of [
    ['expired', 'no_answer'],
    ['failed', 'refused'],
  ] as const) {
    const { control, sent, command, tell, wish, confirmed } = withControl();
    const asked = control.send('lamp', turnOn, { power: true });
    sent[0]?.resolve(command('c1', 'pending'));
    await asked;
    tell('c1', status);
    assert.deepEqual(wish(), { values: {}, refusal: { because } });
    assert.deepEqual(confirmed, []);
  }
});

test('a station that does not take the command, or never says how it went, ends the wish as well', async () => {
  const { control, sent, wish, pass, readings } = withControl();
  const asked = control.send('lamp', turnOn, { power: true });
  const problem = new Problem('no_answer', 'away');
  sent[0]?.reject(problem);
  await asked;
  assert.deepEqual(wish(), { values: {}, refusal: { because: 'not_sent', problem } });
  void control.send('lamp', turnOn, { power: true });
  pass(readAfterMs);
  assert.deepEqual([wish()?.refusal, readings()], [null, 1], 'it may have come true without a word of it');
  pass(giveUpAfterMs);
  assert.deepEqual(wish(), { values: {}, refusal: { because: 'no_answer' } });
});

test('a wish is true as well when the state says so, though the word of the command was missed', async () => {
  const { control, sent, command, wish, see, timers } = withControl();
  see(false, at);
  const asked = control.send('lamp', turnOn, { power: true });
  sent[0]?.resolve(command('c1', 'pending'));
  await asked;
  see(false, '2026-03-01T12:00:01.000Z');
  assert.deepEqual(wish(), { values: { power: true }, refusal: null });
  see(true, '2026-03-01T12:00:02.000Z');
  assert.equal(wish(), undefined);
  assert.equal(timers.size, 0);
});

test('a confirmation that comes after a newer state does not overwrite it', async () => {
  const { control, sent, command, tell, confirmed, wish, see } = withControl();
  see(false, at);
  const asked = control.send('lamp', turnOn, { power: true });
  sent[0]?.resolve(command('c1', 'pending'));
  await asked;
  // On and off again by its own switch, told at once.
  see(false, '2026-03-01T12:00:01.000Z');
  tell('c1', 'confirmed');
  assert.equal(wish(), undefined);
  assert.deepEqual(confirmed, []);
});

test('the state of before the tap does not make it true', () => {
  const { control, wish, see } = withControl();
  see(false, at);
  void control.send('lamp', turnOn, { power: true });
  void control.send('lamp', turnOn, { power: false });
  see(false, at);
  assert.deepEqual(wish(), { values: { power: false }, refusal: null });
});

test('what was given up and came true after all is not called unanswered any longer', async () => {
  for (const late of ['told', 'seen'] as const) {
    const { control, sent, command, wish, see, tell, pass } = withControl();
    const asked = control.send('lamp', turnOn, { power: true });
    sent[0]?.resolve(command('c1', 'pending'));
    await asked;
    pass(readAfterMs);
    pass(giveUpAfterMs);
    assert.equal(wish()?.refusal?.because, 'no_answer');
    if (late === 'told') tell('c1', 'confirmed');
    else see(true, at);
    assert.equal(wish(), undefined, late);
  }
});

test('of two commands in a row the later one counts, whatever becomes of the first', async () => {
  const { control, sent, command, tell, wish } = withControl();
  const first = control.send('lamp', turnOn, { power: true });
  const second = control.send('lamp', turnOn, { power: false });
  sent[0]?.reject(new Problem('no_answer', 'away'));
  await first;
  assert.deepEqual(wish(), { values: { power: false }, refusal: null });
  sent[1]?.resolve(command('c2', 'pending'));
  await second;
  tell('c1', 'expired');
  assert.deepEqual(wish(), { values: { power: false }, refusal: null });
  tell('c2', 'confirmed');
  assert.equal(wish(), undefined);
});
