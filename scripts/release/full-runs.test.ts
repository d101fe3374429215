import assert from 'node:assert/strict';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasSameProduct, readGoodRuns } from './full-runs.ts';
import { run } from './program.ts';

test('only runs in which tests passed and none failed count', () => {
  const page = `
| Date       | Commit       | Cores | Minutes | Passed | Failed | Flaky |
| ---------- | ------------ | ----- | ------- | ------ | ------ | ----- |
| 2026-11-25 | d17fe02c0ffe | 2     | 31      | 3938   | 0      | –     |
| 2026-11-26 | badbadbadbad | 2     | 31      | 3934   | 4      | –     |
| 2026-11-27 | 000000000000 | 2     | 1       | 0      | 0      | –     |
`;
  assert.deepEqual(readGoodRuns(page), ['d17fe02c0ffe']);
});

test('a later commit counts while the product is the same', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'full-runs-'));
  const git = (...args: string[]): Promise<string> =>
    run('git', ['-C', folder.path, '-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args]);
  const commit = async (file: string): Promise<string> => {
    await mkdir(join(folder.path, 'apps'), { recursive: true });
    await writeFile(join(folder.path, file), `${file}\n`);
    await git('add', '.');
    await git('commit', '-q', '-m', file);
    return (await git('rev-parse', 'HEAD')).trim();
  };
  await git('init', '-q');
  const tried = await commit('apps/a');
  await commit('README.md');
  assert.equal(await hasSameProduct([tried], folder.path), true);
  assert.equal(await hasSameProduct(['d17fe02c0ffe'], folder.path), false);
  await commit('apps/b');
  assert.equal(await hasSameProduct([tried], folder.path), false);
});
