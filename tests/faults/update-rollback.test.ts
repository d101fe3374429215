import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runAgent, type Request } from './agent-run.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, scenarioNamed } from './scenarios.ts';
import { readFileNow } from './world.ts';

test('a second rollback does not install the release that was just left', async () => {
  const scenario = scenarioNamed('rollback-good');
  const world = await prepare(scenario);
  const ask = async (request: Request) => {
    const run = await runAgent(world, { request });
    assert.deepEqual(await judge(world, run, expectationOf(scenario, world.ids - 1)), []);
    return run.answer;
  };
  assert.equal((await ask({ kind: 'rollback' }))?.kind, 'started');
  assert.equal(readFileNow(world, 'current_version.txt'), '1.0.0\n');
  assert.equal(readFileNow(world, 'rollback.json'), null);

  const again = await ask({ kind: 'rollback' });
  assert.equal(again?.kind === 'refused' && again.code, 'nothing_to_roll_back');
  assert.equal(readFileNow(world, 'current_version.txt'), '1.0.0\n');

  const byName = await ask({ kind: 'update', version: '1.1.0', offered: '1.1.0' });
  assert.equal(byName?.kind, 'started');
  assert.equal(readFileNow(world, 'current_version.txt'), '1.1.0\n');
  assert.equal((await ask({ kind: 'rollback' }))?.kind, 'started');
  assert.equal(readFileNow(world, 'current_version.txt'), '1.0.0\n');
});
