import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { openSecretBox } from '../store/secret-box.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createCloudConfigStore } from './cloud-config-store.ts';

test('concurrent requests for the station code get the same one, also after the key was lost', async () => {
  await using folder = await temporaryFolder();
  await using store = await openTestStore();
  const open = async (key: string) => {
    const box = await openSecretBox({ disk: nodeDisk, path: join(folder.path, key) });
    return createCloudConfigStore({ db: store.db, box, clock: systemClock });
  };
  const codes: string[] = [];
  for (const key of ['key', 'another-key']) {
    const one = await open(key);
    const two = await open(key);
    const both = await Promise.all([one.claimSecret(), two.claimSecret()]);
    assert.equal(both[0], both[1]);
    assert.equal(await one.claimSecret(), both[0]);
    codes.push(both[0]);
  }
  assert.notEqual(codes[0], codes[1]);
});
