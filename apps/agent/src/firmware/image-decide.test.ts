import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { buildEsp8266Image, buildImage, checksumOfFile } from '@station/simulators/firmware/image-builder';
import { gunzip, sha256 } from './firmware-cache.ts';
import { verifyFirmware } from './image-decide.ts';

const verify = (bytes: Uint8Array, chip: string | null) =>
  verifyFirmware(
    { bytes, sha256, gunzip },
    {
      name: 'lamp',
      version: '1.0.0',
      url: 'https://releases.test/lamp.bin',
      checksum: checksumOfFile(bytes),
      size: null,
      chip,
      minVersion: null,
    },
    null,
  );
const esp32c5 = buildImage({ project: 'lamp', version: '1.0.0', chip: 'esp32c5' });
const esp8266 = buildEsp8266Image();

describe('an image', () => {
  it('is taken for the chip that the manifest names', () => {
    assert.deepEqual(verify(esp32c5, 'esp32c5'), { kind: 'ok', chip: 'esp32c5', project: 'lamp' });
    for (const chip of ['esp8266', null])
      for (const bytes of [esp8266, gzipSync(esp8266)])
        assert.deepEqual(verify(bytes, chip), { kind: 'ok', chip: 'esp8266', project: null });
  });

  it('is refused for another chip', () => {
    const cases: [Uint8Array, string | null, RegExp][] = [
      [esp32c5, 'esp32c3', /for esp32c5 instead of esp32c3/],
      [esp32c5, 'esp8266', /for esp32c5 instead of esp8266/],
      [esp8266, 'esp32', /for esp8266 instead of esp32/],
      [gzipSync(esp32c5), null, /which only an ESP8266 loads/],
      [gzipSync(Buffer.alloc(17 * 1024 * 1024)), null, /cannot be unpacked/],
      [gzipSync(esp8266).subarray(0, 900), 'esp8266', /cannot be unpacked/],
      [Buffer.from('text'), null, /not an image/],
      [Buffer.from('text'), 'esp8266', /not an image/],
    ];
    for (const [bytes, chip, reason] of cases) {
      const verdict = verify(bytes, chip);
      assert.match(verdict.kind === 'refused' ? verdict.reason : verdict.kind, reason);
    }
  });
});
