import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { recordedLog } from '../testing/recorded-log.ts';
import { until } from '../testing/until.ts';
import { createCommands, type PublishCommand } from './commands.ts';
import { createDeviceEvents, type CommandChange } from './device-events.ts';
import type { DeviceReport } from './device-report.ts';

function commandsFor(options: { publish?: PublishCommand; expiryMs?: number } = {}) {
  const published: { externalId: string; payload: Record<string, unknown> }[] = [];
  const told: CommandChange[] = [];
  const events = createDeviceEvents(recordedLog());
  events.subscribe((happening) => {
    if (happening.kind === 'command') told.push(happening.command);
  });
  const commands = createCommands({
    findDevice: async (id) => (id === 'gone' ? null : { id, externalId: `x-${id}`, type: 'light' }),
    publish: async (externalId, payload) => void published.push({ externalId, payload }),
    events,
    clock: systemClock,
    ...options,
  });
  const hear = (...reports: DeviceReport[]): void => events.tell({ kind: 'reports', reports });
  const send = async (deviceId: string): Promise<CommandChange> => {
    const result = await commands.send({ deviceId, action: 'set_power', params: { power: true }, userId: 'u' });
    assert.ok(result.kind === 'accepted');
    return result.command;
  };
  const statuses = (): string[] => told.map(({ status }) => status);
  return {
    commands,
    events,
    published,
    told,
    hear,
    send,
    statuses,
    [Symbol.dispose]: () => commands[Symbol.dispose](),
  };
}

const ack = (deviceId: string, commandId: unknown): DeviceReport => ({
  kind: 'event',
  deviceId,
  at: 1,
  eventKind: 'device_event',
  data: { action: 'command_ack', commandId },
});
const state = (deviceId: string): DeviceReport => ({ kind: 'state', deviceId, at: 1, state: { power: true } });

test('a command goes out with its id, is pending, and is confirmed by the device it was sent to', async () => {
  using all = commandsFor();
  const command = await all.send('a');
  assert.deepEqual(all.published, [
    { externalId: 'x-a', payload: { action: 'set_power', power: true, commandId: command.commandId } },
  ]);
  all.hear(ack('b', command.commandId), ack('a', 'another'), ack('a', 5));
  assert.deepEqual(all.statuses(), ['pending']);
  all.hear(ack('a', command.commandId), ack('a', command.commandId));
  assert.deepEqual(all.statuses(), ['pending', 'confirmed']);
  assert.equal(all.told[1]?.userId, 'u');
  assert.deepEqual(all.commands.pending(), []);
});

test('a device that never confirms by event does so by its next state or handshake; one that does, only so', async () => {
  using all = commandsFor();
  await all.send('a');
  all.hear(state('b'));
  assert.deepEqual(all.statuses(), ['pending']);
  all.hear(state('a'));
  assert.deepEqual(all.statuses(), ['pending', 'confirmed']);
  await all.send('a');
  all.hear({ kind: 'handshake', deviceId: 'a', at: 1, firmwareVersion: '1', chip: 'c', kitTag: null });
  assert.equal(all.statuses().at(-1), 'confirmed');
  const { commandId } = await all.send('a');
  all.hear(ack('a', commandId));
  await all.send('a');
  all.hear(state('a'));
  assert.equal(all.statuses().at(-1), 'pending');
});

test('a command that nobody confirms expires; a confirmation after that changes nothing', async () => {
  using all = commandsFor({ expiryMs: 10 });
  const { commandId } = await all.send('a');
  await until('it expires', () => all.statuses().length === 2);
  all.hear(ack('a', commandId), state('a'));
  assert.deepEqual(all.statuses(), ['pending', 'expired']);
});

test('a command that the broker does not take has failed at once, also when the device is removed meanwhile', async () => {
  using refused = commandsFor({ publish: () => Promise.reject(new Error('away')) });
  const command = await refused.send('a');
  assert.equal(command.status, 'failed');
  assert.deepEqual(refused.statuses(), ['pending', 'failed']);
  using removed = commandsFor();
  await removed.send('a');
  removed.events.tell({ kind: 'removed', deviceId: 'a', externalId: 'x-a' });
  assert.deepEqual(removed.statuses(), ['pending', 'failed']);
});

test('what the type does not understand is not sent, and it is said what is wrong', async () => {
  using all = commandsFor();
  const send = (deviceId: string, action: string, params: Record<string, unknown>) =>
    all.commands.send({ deviceId, action, params, userId: null });
  assert.deepEqual(await send('gone', 'reboot', {}), { kind: 'unknown_device' });
  const unknown = await send('a', 'dance', {});
  assert.ok(unknown.kind === 'unknown_action' && unknown.known.includes('set_brightness'));
  const bad = await send('a', 'set_brightness', { brightness: 500 });
  assert.ok(bad.kind === 'bad_params');
  assert.deepEqual(
    bad.faults.map(({ pointer }) => pointer),
    ['/brightness'],
  );
  assert.deepEqual([all.published, all.told], [[], []]);
});
