import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from './within.ts';

test('an answer in time is passed on, and leaves no timer', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  assert.equal(await within(1_000, Promise.resolve('here')), 'here');
  await assert.rejects(within(1_000, Promise.reject(new Error('refused'))), /refused/);
});

test('a late answer is null, and its failure afterwards is ignored', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const answer = Promise.withResolvers<string>();
  const asked = within(1_000, answer.promise);
  context.mock.timers.tick(1_000);
  assert.equal(await asked, null);
  answer.reject(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve));
});
