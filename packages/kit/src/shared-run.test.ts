import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareRun } from './shared-run.ts';

test('however many ask at once, one run answers them; the next one asks anew', async () => {
  let runs = 0;
  let end = Promise.withResolvers<void>();
  const ask = shareRun(async () => {
    runs += 1;
    const mine = runs;
    await end.promise;
    return mine;
  });
  const many = Array.from({ length: 250 }, ask);
  end.resolve();
  assert.deepEqual(new Set(await Promise.all(many)), new Set([1]));
  end = Promise.withResolvers<void>();
  const next = ask();
  end.reject(new Error('no answer'));
  await assert.rejects(next, /no answer/);
  end = Promise.withResolvers<void>();
  end.resolve();
  assert.equal(await ask(), 3);
});
