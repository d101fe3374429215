import assert from 'node:assert/strict';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { firmwareFileName, isFirmwareName, parseFirmwareFileName } from '@station/protocol/firmware';
import { maxDeviceTypeBytes } from '@station/protocol/device-types';
import { readFirmwareManifest } from '@station/protocol/firmware-manifest';
import { extent } from '../rig/extent.ts';
import { createRandom } from './choice.ts';
import { mutateDocument, toBytes } from './mutate.ts';

const manifestUrl = 'https://releases.test/firmware/manifest.json';
const lamp = { version: '1.2.3', file: 'lamp.bin', checksum: `sha256:${'ab'.repeat(32)}`, size: 1000, chip: 'esp32' };
const seeds = [
  { lamp, climate: { ...lamp, minVersion: '1.0.0' } },
  { 'esp32-lamp': lamp, 'esp32c3/lamp': { ...lamp, chip: 'esp32c3' } },
  {
    types: [
      { type: 'lamp', ...lamp },
      { type: 'esp32/relay', ...lamp, capabilities: [{ key: 'on', kind: 'boolean' }], names: { en: 'Relay' } },
      { type: 'climate', ...lamp, file: 'https://cdn.test/climate.bin' },
    ],
  },
];

const count = extent(6_000, 100_000);

test(`${count} mutated manifests: none throws, and nothing unsafe is accepted`, () => {
  const random = createRandom(11);
  const counts = { taken: 0, refused: 0, rejected: 0 };
  for (let index = 0; index < count; index += 1) {
    const text = mutateDocument(seeds[index % seeds.length], random);
    const reading = readFirmwareManifest(toBytes(text, random), { manifestUrl, maxBytes: 16 * 2 ** 20 });
    if (reading.kind === 'rejected') {
      assert.ok(reading.reason.length > 0, text);
      counts.rejected += 1;
      continue;
    }
    counts.refused += reading.refused.length;
    for (const { reason } of reading.refused) assert.ok(reason.length > 0 && reason.length < 300, text);
    const names = reading.entries.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length, text);
    for (const { type, ...more } of reading.deviceTypes) {
      assert.ok(isFirmwareName(String(type)) && !('file' in more), text);
      assert.ok(JSON.stringify(more).length <= maxDeviceTypeBytes);
    }
    for (const { name, version, url, checksum, size } of reading.entries) {
      counts.taken += 1;
      const file = firmwareFileName(name, version);
      assert.ok(isFirmwareName(name) && basename(join('/cache', file)) === file, text);
      assert.deepEqual(parseFirmwareFileName(file), { name, version }, text);
      assert.match(checksum, /^sha256:[0-9a-f]{64}$/);
      assert.ok(size === null || size <= 16 * 2 ** 20);
      const { protocol, origin, username } = new URL(url);
      assert.ok(protocol === 'https:' && username === '', text);
      assert.ok(origin === 'https://releases.test' || /https:\/\//i.test(text), text);
    }
  }
  for (const [name, met] of Object.entries(counts)) assert.ok(met > count / 30, `${name}: ${met}`);
});
