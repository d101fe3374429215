import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSyncSetting } from './engine-checks.ts';

test('the setting of containerd for files of images, and not the one of Kubernetes', () => {
  const kubernetes = "  [plugins.'io.containerd.cri.v1.images']\n    image_pull_with_sync_fs = true\n";
  const diff = (value: boolean): string =>
    `  [plugins.'io.containerd.service.v1.diff-service']\n    sync_fs = ${value}\n`;
  assert.equal(readSyncSetting(kubernetes + diff(false)), false);
  assert.equal(readSyncSetting(kubernetes + diff(true)), true);
  assert.equal(readSyncSetting(kubernetes), null);
});
