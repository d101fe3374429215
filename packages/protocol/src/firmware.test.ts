import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canonicalFirmwareName,
  firmwareFileName,
  firmwareNamesOf,
  isFirmwareName,
  parseFirmwareFileName,
  parseFirmwareName,
} from './firmware.ts';

test('reads back a file name of the cache', () => {
  for (const [name, version] of [
    ['lamp', '1.2.3'],
    ['switch-pir.v2', '1.0.0-rc.1+build.7'],
    ['esp32s3-light', '2.0.0'],
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

test('reads type and chip of a name', () => {
  const cases: [string, string, string | null][] = [
    ['light', 'light', null],
    ['switch-pir', 'switch-pir', null],
    ['esp32-light', 'light', 'esp32'],
    ['esp32s3-switch-pir', 'switch-pir', 'esp32s3'],
    ['esp8266-light', 'light', 'esp8266'],
    ['esp32', 'esp32', null],
    ['esp32x-light', 'esp32x-light', null],
    ['stm32-light', 'stm32-light', null],
  ];
  for (const [name, type, chip] of cases) {
    assert.ok(isFirmwareName(name), name);
    assert.deepEqual(parseFirmwareName(name), { type, chip }, name);
  }
});

test('a name has a type of at most 64 characters, also after a chip', () => {
  const longest = 'x'.repeat(64);
  for (const name of [longest, `esp32-${longest}`]) assert.ok(isFirmwareName(name));
  for (const name of [`${longest}x`, `esp32-${longest}x`, `stm32-${longest}`, 'esp32/light', 'Light'])
    assert.ok(!isFirmwareName(name), name);
});

test('the older form of a name is stored with a dash', () => {
  assert.equal(canonicalFirmwareName('esp32/light'), 'esp32-light');
  for (const text of ['light', 'esp32-light', 'stm32/light', 'esp32//light', '../light', 'esp32/../light'])
    assert.equal(canonicalFirmwareName(text), text);
});

test('firmware of its chip goes before one for every chip', () => {
  assert.deepEqual(firmwareNamesOf({ type: 'light', chip: 'ESP32-C3' }), ['esp32c3-light', 'light']);
  assert.deepEqual(firmwareNamesOf({ type: 'light', chip: null }), ['light']);
});
