import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../testing/manual-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import { commandExpiryMs } from '../core/commands.ts';
import { type CallId, RpcError } from './rpc-server.ts';
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
  const key = commandKey('k', 1, content, 'a');
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 1 });
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 1 });
  all.clock.advance(25 * 60 * 60 * 1000);
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 2 });
});

test('setting the clock does not change the age of a command', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content, 'a');
  const other = commandKey('other', 2, content, 'a');
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
  const key = commandKey('k', 1, content, 'a');
  await all.remembered.once(key, all.act);
  const afterRestart = createRememberedCommands(all.parts);
  all.clock.set(dayMs);
  assert.deepEqual(await afterRestart.once(key, all.act), { n: 1 });
  all.clock.set(1);
  assert.deepEqual(await afterRestart.once(key, all.act), { n: 2 });
});

test('two concurrent calls with one key run once, and both get the outcome', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content, 'a');
  const both = await Promise.all([all.remembered.once(key, all.act), all.remembered.once(key, all.act)]);
  assert.deepEqual(both, [{ n: 1 }, { n: 1 }]);
});

test('without a key a call repeats one of the same id and request, on its connection, within the deadline', async () => {
  await using all = await setUp();
  const { remembered, act, clock, state } = all;
  const long = '01890000-0000-7000-8000-000000000000';
  for (const id of [7, long]) {
    state.done = 0;
    let repeats = 0;
    const run = (what: object, connectionId: string) =>
      remembered.once(commandKey(undefined, id, what, connectionId), act, () => (repeats += 1));
    await run(content, 'a');
    await run(content, 'a');
    assert.deepEqual([state.done, repeats], [1, 1]);
    await run({ ...content, deviceId: 'e' }, 'a');
    assert.deepEqual([state.done, repeats], [2, 1], 'another command under the same number');
    await run(content, 'b');
    assert.deepEqual([state.done, repeats], [3, 1], 'another connection');
    clock.advance(commandExpiryMs + 1);
    await run(content, 'a');
    assert.deepEqual([state.done, repeats], [4, 1], 'the deadline of the first is over');
  }
  const key = (id: CallId) => commandKey(undefined, id, content, 'a');
  assert.equal(key(undefined), null);
  assert.equal(key(null), null);
  assert.notEqual(key('7')?.text, key(7)?.text);
});

test('a refused command had no effect, and may be retried', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content, 'a');
  await assert.rejects(
    all.remembered.once(key, async () => Promise.reject(new RpcError(rpcErrors.failed, 'no broker'))),
  );
  assert.deepEqual(await all.remembered.once(key, all.act), { n: 1 });
});

test('after an interruption the outcome is unknown, and the command does not run again', async () => {
  await using all = await setUp();
  const key = commandKey('k', 1, content, 'a');
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
  const key = commandKey('k', 1, content, 'a');
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
