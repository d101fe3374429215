import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../testing/manual-clock.ts';
import { openTestStore } from '../testing/test-store.ts';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import { RpcError } from './rpc-server.ts';
import { commandKey, createRememberedCommands } from './remembered-commands.ts';

/** A clock whose wall time the test can set, as NTP does. */
function settableClock() {
  const clock = manualClock();
  const wall = { setBy: 0 };
  const set = (ms: number): void => void (wall.setBy += ms);
  return { ...clock, now: () => clock.now() + wall.setBy, set };
}

async function setUp() {
  const store = await openTestStore();
  const clock = settableClock();
  const faults: unknown[] = [];
  const parts = { db: store.db, onFault: (error: unknown) => void faults.push(error), clock };
  const remembered = createRememberedCommands(parts);
  const state = { done: 0 };
  const act = async (): Promise<{ n: number }> => ({ n: ++state.done });
  return {
    store,
    parts,
    faults,
    clock,
    remembered,
    state,
    act,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
const dayMs = 24 * 60 * 60 * 1000;
const content = { deviceId: 'd', command: { action: 'reboot' } };

test('a repeated key has no second effect, for a day', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content);
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 1 });
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 1 });
  all.clock.advance(25 * 60 * 60 * 1000);
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 2 });
});

test('setting the clock does not change the age of a command', async () => {
  await using all = await setUp();
  const [key, other] = [commandKey('k', 1, content), commandKey('other', 2, content)];
  await all.remembered.once(key, all.act);
  all.clock.set(2 * dayMs);
  // Another command makes the station delete old keys.
  await all.remembered.once(other, all.act);
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 1 });
  all.clock.set(-4 * dayMs);
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 1 });
  all.clock.advance(dayMs + 1);
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 3 });
});

test('commands from before a restart age by the wall clock', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content);
  await all.remembered.once(key, all.act);
  const afterRestart = createRememberedCommands(all.parts);
  all.clock.set(dayMs);
  assert.deepEqual(await afterRestart.once(key, all.act), { n: 1 });
  all.clock.set(1);
  assert.deepEqual(await afterRestart.once(key, all.act), { n: 2 });
});

test('two concurrent calls with one key run once, and both get the outcome', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content);
  const both = await Promise.all([all.remembered.once(key, all.act), all.remembered.once(key, all.act)]);
  assert.deepEqual(both, [{ n: 1 }, { n: 1 }]);
});

test('without a key, id and request count as the key; a short id for two minutes', async () => {
  await using all = await setUp();
  const { remembered, act, clock, state } = all;
  await remembered.once(commandKey(undefined, 7, content), act);
  await remembered.once(commandKey(undefined, 7, content), act);
  assert.equal(state.done, 1);
  await remembered.once(commandKey(undefined, 7, { ...content, deviceId: 'e' }), act);
  assert.equal(state.done, 2, 'another command under the same number');
  clock.advance(121_000);
  await remembered.once(commandKey(undefined, 7, content), act);
  assert.equal(state.done, 3, 'the number is used anew');
  const long = commandKey(undefined, '01890000-0000-7000-8000-000000000000', content);
  await remembered.once(long, act);
  clock.advance(3_600_000);
  await remembered.once(long, act);
  assert.equal(state.done, 4);
  assert.equal(commandKey(undefined, undefined, content), null);
  assert.equal(commandKey(undefined, null, content), null);
});

test('a refused command had no effect, and may be retried', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content);
  await assert.rejects(
    all.remembered.once(key, async () => Promise.reject(new RpcError(rpcErrors.failed, 'no broker'))),
  );
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 1 });
});

test('after an interruption the outcome is unknown, and the command does not run again', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content);
  await new Promise<void>((isRunning) => {
    const neverEnds = (): Promise<never> => {
      isRunning();
      return new Promise(() => undefined);
    };
    void all.remembered.once(key, neverEnds).catch(() => undefined);
  });
  const afterRestart = createRememberedCommands(all.parts);
  await assert.rejects(afterRestart.once(key, all.act), (error: RpcError) => error.code === rpcErrors.outcomeUnknown);
  assert.equal(all.state.done, 0);
});

test('a command whose outcome could not be stored does not run again', async () => {
  await using all = await setUp();
  const { schema } = all.store.db;
  const key = commandKey('k', 1, content);
  const actAndBreak = async () => {
    await schema.alterTable('cloud_commands').renameColumn('outcome', 'away').execute();
    return all.act();
  };
  assert.deepEqual(await all.remembered.once(key, actAndBreak), { n: 1 }, 'it had its effect, and the cloud is told');
  assert.equal(all.faults.length, 1);
  await schema.alterTable('cloud_commands').renameColumn('away', 'outcome').execute();
  await assert.rejects(all.remembered.once(key, all.act), (error: RpcError) => error.code === rpcErrors.outcomeUnknown);
  assert.equal(all.state.done, 1);
});
