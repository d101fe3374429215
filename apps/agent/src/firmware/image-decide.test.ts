import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildImage, checksumOfFile } from '@station/simulators/firmware/image-builder';
import { sha256 } from './firmware-cache.ts';
import { verifyFirmware } from './image-decide.ts';

const verify = (bytes: Uint8Array, chip: string | null) =>
  verifyFirmware(
    { bytes, sha256 },
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
const esp8266 = Buffer.concat([Buffer.from([0xe9, 2, 0, 0x20]), Buffer.alloc(4_000, 7)]);

describe('an image', () => {
  it('is taken for the chip that the manifest names', () => {
    assert.deepEqual(verify(esp32c5, 'esp32c5'), { kind: 'ok', chip: 'esp32c5', project: 'lamp' });
    assert.deepEqual(verify(esp8266, 'esp8266'), { kind: 'ok', chip: 'esp8266', project: null });
  });

  it('is refused for another chip', () => {
    const cases: [Uint8Array, string, RegExp][] = [
      [esp32c5, 'esp32c3', /for esp32c5 instead of esp32c3/],
      [esp32c5, 'esp8266', /for esp32c5 instead of esp8266/],
      [esp8266, 'esp32', /descriptor/],
      [Buffer.from('text'), 'esp8266', /not an image for esp8266/],
    ];
    for (const [bytes, chip, reason] of cases) {
      const verdict = verify(bytes, chip);
      assert.match(verdict.kind === 'refused' ? verdict.reason : verdict.kind, reason);
    }
  });
});
