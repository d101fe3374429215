import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@station/kit/clock';
import { type CommandChange, createDeviceEvents, type DeviceEvent, type DeviceReport } from '../core/device-events.ts';
import { builtInTypes } from '../../testing/built-in-types.ts';
import { createCommandStore, localCommandTransaction } from '../store/command-store.ts';
import type { Store } from '../store/database.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createCommands } from './device-commands.ts';
import { commandsKeptMs, createHistoryStore } from '../history/history-store.ts';
import { commandExpiryMs, type PublishCommand } from '../core/commands.ts';

type Options = { publish?: PublishCommand; expiryMs?: number; on?: Store; type?: string; before?: DeviceState };

async function commandsFor(options: Options = {}) {
  await using starting = new AsyncDisposableStack();
  const { on, type = 'light', before = {}, ...settings } = options;
  const { db } = on ?? starting.use(await openTestStore());
  const published: { externalId: string; payload: Record<string, unknown>; expiresInMs: number }[] = [];
  const changes: CommandChange[] = [];
  const events = createDeviceEvents(recordedLog());
  events.subscribe((event) => {
    if (event.kind === 'command') changes.push(event.command);
  });
  const store = createCommandStore({ db, transact: localCommandTransaction(db, events) });
  const commands = starting.use(
    createCommands({
      stationId: 's',
      findDevice: async (id) => (id === 'gone' ? null : { id, externalId: `x-${id}`, type, state: before }),
      types: builtInTypes,
      publish: async (externalId, payload, expiresInMs) => void published.push({ externalId, payload, expiresInMs }),
      store,
      events,
      clock: systemClock,
      logger: recordedLog(),
      ...settings,
    }),
  );
  /** Until what it ends is on disk: queries follow one another. */
  const emit = async (event: DeviceEvent): Promise<void> => {
    events.emit(event);
    await store.pending();
  };
  const report = (...reports: DeviceReport[]): Promise<void> => emit({ kind: 'reports', reports });
  const sendAs = async (userId: string | null, deviceId: string, action = 'turn_on', params: object = {}) => {
    const result = await commands.send({ deviceId, action, params: { ...params }, userId });
    assert.ok(result.kind === 'accepted');
    return result.command;
  };
  const send = sendAs.bind(null, 'u');
  const statuses = (): string[] => changes.map(({ status }) => status);
  const all = starting.move();
  return {
    commands,
    store,
    published,
    changes,
    emit,
    report,
    send,
    sendAs,
    statuses,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

type DeviceState = Readonly<Record<string, unknown>>;
const ack = (deviceId: string, commandId: unknown): DeviceReport => ({
  kind: 'event',
  deviceId,
  at: 1,
  eventKind: 'device_event',
  data: { action: 'command_ack', commandId },
});
const state = (deviceId: string, values: DeviceState = { on: true }): DeviceReport => ({
  kind: 'state',
  deviceId,
  at: 1,
  state: values,
});
const handshake = (deviceId: string): DeviceReport => {
  return { kind: 'handshake', deviceId, at: 1, firmwareVersion: '1', chip: 'c', kitTag: null };
};

describe('somebody who floods devices with commands', () => {
  it('keeps nobody else from one device, and no device from the other commands', async () => {
    await using all = await commandsFor();
    for (let count = 0; count < 100; count += 1) assert.equal((await all.send('lamp')).status, 'pending');
    assert.equal((await all.send('lamp')).status, 'failed');
    assert.equal((await all.send('pump')).status, 'pending');
    for (const other of ['owner', null]) assert.equal((await all.sendAs(other, 'lamp')).status, 'pending');
    assert.equal(all.published.length, 103);
    await all.report(...all.changes.slice(0, 1).map(({ commandId }) => ack('lamp', commandId)));
    assert.equal((await all.send('lamp')).status, 'pending', 'there is room again');
  });

  it('keeps nobody else from any device', async () => {
    await using all = await commandsFor();
    for (let count = 0; count < 2_000; count += 1) await all.send(`lamp ${count % 20}`);
    const late = await all.send('pump');
    assert.equal(late.reason, 'Too many commands wait for an answer of their devices.');
    for (const other of ['owner', null]) assert.equal((await all.sendAs(other, 'pump')).status, 'pending');
  });
});

test('a command goes out with its id, is pending, and is confirmed by the device it was sent to', async () => {
  await using all = await commandsFor();
  const command = await all.send('a');
  assert.deepEqual(all.published, [
    {
      externalId: 'x-a',
      payload: { action: 'turn_on', commandId: command.commandId },
      expiresInMs: commandExpiryMs,
    },
  ]);
  await all.report(ack('b', command.commandId), ack('a', 'another'), ack('a', 5));
  assert.deepEqual(all.statuses(), ['pending']);
  await all.report(ack('a', command.commandId), ack('a', command.commandId));
  assert.deepEqual(all.statuses(), ['pending', 'confirmed']);
  assert.equal(all.changes[1]?.userId, 'u');
  assert.deepEqual(all.commands.pending(), []);
});

test('a device that never confirms by event confirms by its next state; others confirm by event only', async () => {
  await using all = await commandsFor();
  await all.send('a');
  await all.report(state('b'));
  assert.deepEqual(all.statuses(), ['pending']);
  await all.report(state('a'));
  assert.deepEqual(all.statuses(), ['pending', 'confirmed']);
  const { commandId } = await all.send('a');
  await all.report(ack('a', commandId));
  await all.send('a');
  await all.report(state('a'));
  assert.equal(all.statuses().at(-1), 'pending');
});

test('an answer without the id of a command of the device says nothing about how it confirms', async () => {
  await using all = await commandsFor();
  const ofOther = await all.send('b');
  const first = await all.send('a');
  await all.report(ack('a', undefined), ack('a', null), ack('a', 'unknown'), ack('a', ofOther.commandId));
  await all.report(state('a'));
  assert.deepEqual(all.statuses(), ['pending', 'pending', 'confirmed']);
  assert.equal(all.changes.at(-1)?.commandId, first.commandId);
  // It comes after the end, and changes nothing of it.
  await all.report(ack('a', first.commandId));
  assert.deepEqual(all.statuses(), ['pending', 'pending', 'confirmed']);
});

test('a state other than the requested one confirms nothing', async () => {
  await using all = await commandsFor();
  await all.send('a');
  await all.report(state('a', { on: false, brightness: 5 }));
  assert.deepEqual(all.statuses(), ['pending']);
  await all.report(state('a', { brightness: 5 }));
  assert.deepEqual(all.statuses(), ['pending']);
  await all.report(state('a', { on: true }));
  assert.deepEqual(all.statuses(), ['pending', 'confirmed']);
  await all.send('a', 'set_brightness', { brightness: 40 });
  await all.report(state('a', { brightness: 60 }));
  assert.equal(all.statuses().at(-1), 'pending');
  // A lamp with 255 steps.
  await all.report(state('a', { brightness: 39.6 }));
  assert.equal(all.statuses().at(-1), 'confirmed');
});

test('a lamp with coarse steps confirms with the step nearest to the requested value', async () => {
  await using all = await commandsFor();
  for (const [requested, reported] of [
    [43, 40],
    [49, 40],
    [43, 46.7],
  ]) {
    await all.send('a', 'set_brightness', { brightness: requested });
    await all.report(state('a', { brightness: reported }));
    assert.equal(all.statuses().at(-1), 'confirmed', `${reported} for ${requested}`);
  }
});

test('a handshake confirms commands that restart a device, and no others', async () => {
  await using all = await commandsFor();
  const turnOn = await all.send('a');
  const reboot = await all.send('a', 'reboot', {});
  await all.report(handshake('a'));
  const ended = all.changes.filter(({ status }) => status === 'confirmed').map(({ commandId }) => commandId);
  assert.deepEqual(ended, [reboot.commandId]);
  assert.deepEqual(
    all.commands.pending().map(({ commandId }) => commandId),
    [turnOn.commandId],
  );
});

test('after a restart it is known which devices confirm by event', async () => {
  await using on = await openTestStore();
  {
    await using before = await commandsFor({ on });
    const { commandId } = await before.send('a');
    await before.report(ack('a', commandId));
    assert.deepEqual([before.statuses(), before.changes[1]?.reason], [['pending', 'confirmed'], null]);
  }
  await using after = await commandsFor({ on });
  await after.commands.load();
  await after.send('a');
  await after.send('b');
  await after.report(state('a'), state('b'));
  const ended = after.changes.filter(({ status }) => status === 'confirmed').map(({ deviceId }) => deviceId);
  assert.deepEqual(ended, ['b']);
});

test('another value or a handshake does not confirm a command of an earlier run', async () => {
  await using on = await openTestStore();
  {
    await using before = await commandsFor({ on });
    await before.send('a');
  }
  await using after = await commandsFor({ on });
  await after.commands.load();
  await after.report(handshake('a'), state('a', { on: false }));
  assert.deepEqual(after.statuses(), []);
  assert.equal(after.commands.pending().length, 1);
});

test('a command without confirmation expires; a later confirmation changes nothing', async () => {
  await using all = await commandsFor({ expiryMs: 10 });
  const { commandId } = await all.send('a');
  await until('it expires', () => all.statuses().length === 2);
  await all.report(ack('a', commandId), state('a'));
  assert.deepEqual(all.statuses(), ['pending', 'expired']);
});

test('a command that the broker refuses fails immediately, also when the device is removed meanwhile', async () => {
  await using refused = await commandsFor({ publish: () => Promise.reject(new Error('offline')) });
  const command = await refused.send('a');
  assert.equal(command.status, 'failed');
  assert.deepEqual(refused.statuses(), ['pending', 'failed']);
  await using removed = await commandsFor();
  await removed.send('a');
  await removed.emit({ kind: 'removed', deviceId: 'a', externalId: 'x-a' });
  assert.deepEqual(removed.statuses(), ['pending', 'failed']);
});

test('a command that the type does not support is not sent, and the error names the fault', async () => {
  await using all = await commandsFor();
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
  assert.deepEqual([all.published, all.changes], [[], []]);
});

test('a command that is pending when the backend ends is tracked by the next run until confirmed or expired', async () => {
  await using on = await openTestStore();
  const sent: CommandChange[] = [];
  {
    await using before = await commandsFor({ on });
    sent.push(await before.send('a'), await before.send('b'));
  }
  const ends = ({ changes }: { changes: CommandChange[] }) =>
    changes.map(({ deviceId, status, userId }) => [deviceId, status, userId]);
  {
    await using next = await commandsFor({ on });
    await next.commands.load();
    // Both may have been sent in the same millisecond, and have no order then.
    assert.deepEqual(
      next.commands
        .pending()
        .map(({ commandId }) => commandId)
        .sort(),
      sent.map(({ commandId }) => commandId).sort(),
    );
    await next.report(ack('a', sent[0]?.commandId));
    assert.deepEqual(ends(next), [['a', 'confirmed', 'u']]);
  }
  // A run of its own, so that the confirmation above has no deadline of milliseconds.
  await using last = await commandsFor({ on, expiryMs: 10 });
  await last.commands.load();
  await until('the other one expires', () => last.changes.length > 0);
  assert.deepEqual(ends(last), [['b', 'expired', 'u']]);
  assert.deepEqual(await last.store.pending(), []);
});

test('of two replicas that track the same command one ends it, and only that one emits it', async () => {
  await using on = await openTestStore();
  await using one = await commandsFor({ on });
  await using other = await commandsFor({ on });
  const { commandId } = await one.send('a');
  await other.commands.load();
  await Promise.all([one.report(ack('a', commandId)), other.report(ack('a', commandId))]);
  assert.deepEqual([...one.statuses(), ...other.statuses()].sort(), ['confirmed', 'pending']);
});

test('finished commands are deleted after some days, pending ones are not', async () => {
  await using on = await openTestStore();
  await using all = await commandsFor({ on });
  const { commandId } = await all.send('a');
  await all.report(ack('a', commandId));
  const waiting = await all.send('b');
  const kept = async (): Promise<string[]> => {
    const rows = await on.db.selectFrom('device_commands').select('id').orderBy('at').execute();
    return rows.map(({ id }) => id);
  };
  const later = (ms: number) => ({ ...systemClock, now: () => Date.now() + ms });
  await createHistoryStore({ store: on, clock: later(commandsKeptMs - 60_000) }).downsample();
  assert.equal((await kept()).length, 2);
  await createHistoryStore({ store: on, clock: later(commandsKeptMs + 60_000) }).downsample();
  assert.deepEqual(await kept(), [waiting.commandId]);
});

test('a command that met a restarting device is sent again once, with the same id and the rest of its time', async () => {
  await using all = await commandsFor({ expiryMs: 600_000 });
  const { commandId } = await all.send('a');
  await all.report(handshake('b'));
  assert.equal(all.published.length, 1, 'another device restarted');
  await sleep(20);
  await all.report(handshake('a'));
  await all.report(handshake('a'));
  assert.deepEqual(
    all.published.map(({ payload }) => payload),
    Array.from({ length: 2 }, () => ({ action: 'turn_on', commandId })),
  );
  const [first, second] = all.published.map(({ expiresInMs }) => expiresInMs);
  assert.ok(first === 600_000 && second !== undefined && second > 0 && second < first, `${second} ms`);
  assert.deepEqual(all.statuses(), ['pending'], 'a handshake does not confirm it');
  await all.report(state('a'));
  assert.deepEqual(all.statuses(), ['pending', 'confirmed']);
});

test('a confirmed or an expired command is not sent again', async () => {
  await using confirming = await commandsFor();
  await confirming.send('a');
  await confirming.report(state('a'));
  await confirming.report(handshake('a'));
  assert.deepEqual([confirming.statuses(), confirming.published.length], [['pending', 'confirmed'], 1]);
  await using expiring = await commandsFor({ expiryMs: 30 });
  await expiring.send('b');
  await until('it expires', () => expiring.statuses().includes('expired'));
  await expiring.report(handshake('b'));
  assert.equal(expiring.published.length, 1);
});

test('a report and the handshake in one batch: the confirmed command is not sent again', async () => {
  await using all = await commandsFor();
  await all.send('a');
  await all.report(handshake('a'), state('a'));
  assert.deepEqual([all.statuses(), all.published.length], [['pending', 'confirmed'], 1]);
});

test('toggle is not sent again, and after a restart of the device only its acknowledgement confirms it', async () => {
  await using on = await openTestStore();
  let commandId: string;
  {
    await using all = await commandsFor({ on, type: 'light', before: { on: false } });
    ({ commandId } = await all.send('a', 'toggle', {}));
    await all.report(state('a', { on: false }), state('a', { brightness: 5 }));
    await all.report(handshake('a'));
    // A lamp that is on after each restart.
    await all.report(state('a', { on: true }));
    assert.deepEqual([all.statuses(), all.published.length], [['pending'], 1]);
  }
  await using next = await commandsFor({ on, type: 'light' });
  await next.commands.load();
  await next.report(state('a', { on: true }));
  assert.deepEqual(next.statuses(), []);
  await next.report(ack('a', commandId));
  assert.deepEqual(next.statuses(), ['confirmed']);
});

test('toggle is confirmed by the other value, and by nothing while the value before is unknown', async () => {
  await using known = await commandsFor({ type: 'light', before: { on: false } });
  await known.send('a', 'toggle', {});
  await known.report(state('a', { on: false }));
  assert.deepEqual(known.statuses(), ['pending']);
  await known.report(state('a', { on: true }));
  assert.deepEqual(known.statuses(), ['pending', 'confirmed']);
  await using unknown = await commandsFor({ type: 'light' });
  await unknown.send('a', 'toggle', {});
  await unknown.report(state('a', { on: false }), state('a', { on: true }));
  assert.deepEqual(unknown.statuses(), ['pending']);
});

test('a report that waited at the broker confirms nothing', async () => {
  await using all = await commandsFor();
  await all.send('a');
  const at = all.changes[0]?.at ?? 0;
  await all.report({ ...state('a'), sentAt: at - 1 } as DeviceReport);
  assert.deepEqual(all.statuses(), ['pending']);
  await all.report({ ...state('a'), sentAt: at } as DeviceReport);
  assert.deepEqual(all.statuses(), ['pending', 'confirmed']);
});

test('a command of an earlier run of the backend is confirmed by the value that was asked for', async () => {
  await using on = await openTestStore();
  {
    await using before = await commandsFor({ on });
    await before.send('a');
  }
  await using after = await commandsFor({ on });
  await after.commands.load();
  await after.report(handshake('a'));
  assert.deepEqual(after.published, [], 'its parameters are not stored, so it is not sent again');
  await after.report(state('a', { on: false }));
  assert.deepEqual(after.statuses(), []);
  await after.report(state('a'));
  assert.deepEqual(after.statuses(), ['confirmed']);
});

test('a command that is larger than a device can receive is neither stored nor sent', async () => {
  await using on = await openTestStore();
  await using all = await commandsFor({ on });
  const send = (length: number) =>
    all.commands.send({
      deviceId: 'a',
      action: 'ota_update',
      params: { url: `http://${'x'.repeat(length)}`, version: '1', checksum: 'a'.repeat(64), size: 1 },
      userId: null,
    });
  const refused = await send(900);
  assert.ok(refused.kind === 'too_large');
  assert.deepEqual([all.published, await on.db.selectFrom('device_commands').selectAll().execute()], [[], []]);
  const longest = 900 - (refused.bytes - 900);
  assert.equal((await send(longest)).kind, 'accepted');
  assert.deepEqual(await send(longest + 1), { kind: 'too_large', bytes: 901 });
});
