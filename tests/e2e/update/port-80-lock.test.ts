import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../../rig/program.ts';
import { createSmallRig } from '../../rig/small-rig.ts';
import { engineOf } from './engine-of.ts';

test('only the proxy is stopped and started unchanged, and an up starts it again', async () => {
  await using rig = await createSmallRig({ proxy: true });
  await rig.stack.writeProject(await rig.release({ version: '1.0.0' }));
  await rig.stack.up();
  await waitFor('the stack to be healthy', () => rig.stack.health());
  using engine = engineOf(rig);
  const of = async (service: string) => (await rig.stack.containers()).find((one) => one.service === service);
  const before = await Promise.all(['proxy', 'backend', 'frontend'].map(of));
  for (const running of [false, false]) await engine.setRunning('proxy', running);
  assert.equal((await of('proxy'))?.state, 'exited');
  assert.equal(await rig.stack.health(), null);
  for (const running of [true, true]) await engine.setRunning('proxy', running);
  await waitFor('the stack to answer', () => rig.stack.health());
  assert.equal((await of('proxy'))?.id, before[0]?.id);
  // The other services kept running.
  assert.deepEqual([await of('backend'), await of('frontend')], before.slice(1));
  await engine.setRunning('nobody', false);
  await engine.setRunning('proxy', false);
  assert.equal((await engine.up(new AbortController().signal)).kind, 'ok');
  await waitFor('the stack to answer', () => rig.stack.health());
});
