import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import { type PublishCommand, UnansweredError } from '../core/commands.ts';
import { createDeviceEvents } from '../core/device-events.ts';
import { createCommands } from '../devices/device-commands.ts';
import { createCommandStore, localCommandTransaction } from '../store/command-store.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { builtInTypes } from '../../testing/built-in-types.ts';
import { createMethods } from './methods.ts';
import { createRememberedCommands } from './remembered-commands.ts';
import type { RpcError } from './rpc-server.ts';

async function deviceCommand(publish: PublishCommand) {
  await using starting = new AsyncDisposableStack();
  const { db } = starting.use(await openTestStore());
  const clock = systemClock;
  const logger = recordedLog();
  const devices = createDeviceStore({ db, clock });
  const { id } = await devices.provision({ externalId: 'x', type: 'light', name: 'Lamp', zoneId: null });
  await db.updateTable('devices').set({ status: 'online' }).execute();
  const events = createDeviceEvents(logger);
  const store = createCommandStore({ db, transact: localCommandTransaction(db, events) });
  const findDevice = async () => ({ id, externalId: 'x', type: 'light', state: {} });
  const commands = starting.use(
    createCommands({ stationId: 's', findDevice, types: builtInTypes, publish, store, events, clock, logger }),
  );
  const remembered = createRememberedCommands({ db, onFault: assert.ifError, clock });
  const methods = createMethods({
    devices,
    types: builtInTypes,
    commands,
    scenes: { list: async () => [], run: async () => ({ sent: [], failed: [] }) },
    remembered,
    setChannels: async () => undefined,
  });
  const params = { deviceId: id, command: { action: 'turn_on' }, idempotencyKey: 'k' };
  const call = async (): Promise<unknown> => {
    try {
      return await methods['device.command'].run(params as never, 1, 'a');
    } catch (error) {
      return (error as RpcError).code;
    }
  };
  const all = starting.move();
  return { call, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

test('a command that was sent to the broker without an answer is not sent again under its key', async () => {
  let sent = 0;
  await using all = await deviceCommand(async () => {
    sent += 1;
    throw new UnansweredError();
  });
  assert.equal(await all.call(), rpcErrors.outcomeUnknown);
  assert.equal(await all.call(), rpcErrors.outcomeUnknown);
  assert.equal(sent, 1);
});

test('a command that was never sent to the broker may be retried', async () => {
  let sent = 0;
  await using all = await deviceCommand(async () => {
    sent += 1;
    if (sent === 1) throw new Error('away');
  });
  assert.equal(await all.call(), rpcErrors.failed);
  assert.deepEqual(await all.call(), { status: 'ok' });
  assert.equal(sent, 2);
});
