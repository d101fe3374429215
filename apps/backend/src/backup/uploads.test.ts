import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { exists } from '@station/kit/durable-files';
import { pause } from '@station/kit/timers';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';
import { openUploads } from './uploads.ts';

test('an upload, or a copy, that nobody comes back to is removed; one in use stays', async () => {
  await using temporary = await temporaryFolder();
  const folder = join(temporary.path, 'uploads');
  const uploads = await openUploads(folder, 200);
  const id = await uploads.begin(10);
  for (let offset = 0; offset < 10; offset += 1) {
    await pause(50);
    assert.equal(await uploads.append(id, offset, Buffer.from('x')), offset + 1);
  }
  await until('the upload is removed', async () => !(await exists(folder)));
  await assert.rejects(uploads.complete(id), { code: 'not_found' });

  await mkdir(folder);
  await writeFile(join(folder, 'nas-station.age'), 'a copy');
  uploads.use();
  await until('the copy is removed', async () => !(await exists(folder)));
});
