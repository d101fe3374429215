import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firmwareFileName, parseFirmwareFileName } from './firmware.ts';

test('reads back a file name of the cache', () => {
  for (const [name, version] of [
    ['lamp', '1.2.3'],
    ['switch-pir.v2', '1.0.0-rc.1+build.7'],
  ] as const) {
    assert.deepEqual(parseFirmwareFileName(firmwareFileName(name, version)), { name, version });
  }
});

test('ignores other file names in the cache', () => {
  for (const file of [
    'lamp.json',
    'lamp@1.2.bin',
    'Lamp@1.2.3.bin',
    '.lamp@1.2.3.bin.part',
    'lamp@v1.2.3.bin',
    '@1.2.3.bin',
  ]) {
    assert.equal(parseFirmwareFileName(file), null, file);
  }
});
