import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { isWebStale } from './web-build.ts';

describe('the built web page', () => {
  it('is stale when it is missing or older than a source', async () => {
    const root = await mkdtemp(join(tmpdir(), 'station-web-'));
    const write = async (path: string, at: number): Promise<void> => {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), '');
      await utimes(join(root, path), at, at);
    };
    try {
      await write('apps/web/src/pages/home.tsx', 1000);
      await write('package-lock.json', 1000);
      assert.equal(await isWebStale(root), true);
      await write('dist/web/index.html', 2000);
      assert.equal(await isWebStale(root), false);
      await write('apps/web/node_modules/.vite/cache', 3000);
      assert.equal(await isWebStale(root), false);
      await write('packages/protocol/src/rest.ts', 3000);
      assert.equal(await isWebStale(root), true);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});
