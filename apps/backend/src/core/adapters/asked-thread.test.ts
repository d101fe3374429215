import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { until } from '../../../testing/until.ts';
import { type AskedThread, createAskedThread } from './asked-thread.ts';

const source = `
import { threadId } from 'node:worker_threads';
import { readFileSync } from 'node:fs';
import { answerQuestions } from '${new URL('asked-thread.ts', import.meta.url).href}';
const answers = {
  which: () => threadId,
  niceness: () => Number(readFileSync('/proc/thread-self/stat', 'utf8').split(') ')[1].split(' ')[16]),
  fail: () => { throw new Error('no such page'); },
  end: () => process.exit(1),
  hang: () => new Promise(() => undefined),
};
answerQuestions({ niceness: 10, open: () => async (question) => answers[question](), given: () => [] });
`;

async function openThread(t: TestContext, idleMs = 60_000): Promise<AskedThread<string, number>> {
  const folder = await temporaryFolder();
  t.after(() => folder[Symbol.asyncDispose]());
  const program = join(folder.path, 'thread.mjs');
  await writeFile(program, source);
  const thread = createAskedThread<string, number>({ program: () => program, data: null, idleMs });
  t.after(() => thread[Symbol.asyncDispose]());
  return thread;
}

test('a thread answers in turn, at its own priority', async (t) => {
  const before = getPriority();
  const thread = await openThread(t);
  const [first, second] = await Promise.all([thread.ask('which'), thread.ask('which')]);
  assert.equal(first, second);
  assert.equal(await thread.ask('niceness'), 10);
  assert.equal(getPriority(), before, 'the others keep theirs');
});

test('a question that cannot be answered costs no other one', async (t) => {
  const thread = await openThread(t);
  const [first] = await Promise.all([thread.ask('which'), assert.rejects(thread.ask('fail'), /no such page/)]);
  assert.equal(await thread.ask('which'), first);
});

test('a thread that ends rejects what waits, and the next question starts another', async (t) => {
  const thread = await openThread(t);
  const first = await thread.ask('which');
  const hanging = assert.rejects(thread.ask('hang'), /ended early/);
  await assert.rejects(thread.ask('end'), /ended early/);
  await hanging;
  assert.notEqual(await thread.ask('which'), first);
});

test('a thread without questions ends, and one that is closed rejects what waits', async (t) => {
  const thread = await openThread(t, 1);
  const first = await thread.ask('which');
  await until('another thread', async () => (await thread.ask('which')) !== first);
  const hanging = assert.rejects(thread.ask('hang'), /was ended/);
  await thread[Symbol.asyncDispose]();
  await hanging;
});
