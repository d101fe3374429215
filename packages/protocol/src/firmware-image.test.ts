import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  buildBootloader,
  buildEsp8266Image,
  buildImage,
  mergeImages,
} from '@station/simulators/firmware/image-builder';
import { chipNames, inspectImage, normalizeChip, type ImageInspection } from './firmware-image.ts';

const inspect = (bytes: Uint8Array): ImageInspection =>
  inspectImage(bytes, (input) => createHash('sha256').update(input).digest());
const reasonOf = (bytes: Uint8Array): string => {
  const found = inspect(bytes);
  return found.kind === 'refused' ? found.reason : found.kind;
};
const recipe = { project: 'lamp', version: '1.2.3', bytes: 8192 };
const changed = (bytes: Uint8Array, change: (copy: Buffer) => void): Uint8Array => {
  const copy = Buffer.from(bytes);
  change(copy);
  return copy;
};

describe('an application', () => {
  for (const chip of Object.values(chipNames)) {
    it(`for ${chip} is recognised`, () => {
      assert.deepEqual(inspect(buildImage({ ...recipe, chip })), {
        kind: 'application',
        chip,
        project: 'lamp',
        descriptorVersion: '1.2.3',
      });
    });
  }

  it('of any size, with and without a hash, is recognised', () => {
    for (const bytes of [1024, 1031, 65_536, 1_200_000]) {
      for (const hashed of [true, false]) {
        assert.equal(inspect(buildImage({ ...recipe, bytes, hashed })).kind, 'application', `${bytes} ${hashed}`);
      }
    }
  });

  it('is recognised wherever it lies in memory, and not with one bit changed', () => {
    const image = buildImage({ ...recipe, bytes: 1031 });
    for (const offset of [0, 1, 2, 3]) {
      const moved = Buffer.alloc(image.length + offset).subarray(offset);
      moved.set(image);
      assert.equal(inspect(moved).kind, 'application', `${offset}`);
      for (const at of [600, 601, 602, 603]) {
        assert.match(reasonOf(changed(moved, (copy) => void (copy[at] = (copy[at] ?? 0) ^ 0x80))), /checksum/);
      }
    }
  });

  it('with a signature is recognised, unless the signature belongs to another image', () => {
    const signed = sign(buildImage({ ...recipe, bytes: 6000 }));
    assert.equal(inspect(signed).kind, 'application');
    for (const at of [signed.length - 4092, signed.length - 4097]) {
      assert.match(
        reasonOf(changed(signed, (copy) => void (copy[at] = ~(copy[at] ?? 0)))),
        /that of another image/,
        `byte ${at}`,
      );
    }
  });

  it('with a signature over SHA-384 is recognised: only the chip can tell whose it is', () => {
    const signed = Buffer.from(sign(buildImage({ ...recipe, chip: 'esp32c5', bytes: 6000 })));
    const sector = signed.length - 4096;
    signed.set([0xe7, 3, 1], sector);
    signed.set(createHash('sha384').update(signed.subarray(0, sector)).digest(), sector + 4);
    assert.equal(inspect(signed).kind, 'application');
  });

  it('is recognised whatever its loader ignores behind the end', () => {
    for (const hashed of [true, false]) {
      const image = Buffer.from(buildImage({ ...recipe, bytes: 6000, hashed }));
      const behind: Record<string, Uint8Array> = {
        'a signature of the first scheme': Buffer.concat([Buffer.alloc(4), Buffer.alloc(64, 0x5a)]),
        'padding to a sector with ones': Buffer.alloc(8192 - image.length, 0xff),
        'padding to a sector with zeros': Buffer.alloc(8192 - image.length),
        'padding to 16 bytes': Buffer.alloc(16, 0xff),
        'a text of the maker': Buffer.from('{"build":"2026-11-25T10:00:00Z"}\n'.repeat(3)),
        'a file system': Buffer.alloc(65_536, 0x20),
      };
      for (const [name, data] of Object.entries(behind))
        assert.equal(inspect(Buffer.concat([image, data])).kind, 'application', `${name}, hashed: ${hashed}`);
    }
  });

  it('is recognised when its code happens to have the first bytes of a partition table', () => {
    const image = buildImage({ ...recipe, bytes: 65_536, hashed: false });
    const alike = changed(image, (copy) => {
      const was = copy.subarray(0x8000, 0x8002).reduce((all, one) => all ^ one, 0);
      copy.set([0xaa, 0x50, (copy[0x8002] ?? 0) ^ was ^ 0xaa ^ 0x50], 0x8000);
    });
    assert.equal(inspect(alike).kind, 'application');
  });

  it('is described without terminal control characters', () => {
    const found = inspect(buildImage({ ...recipe, project: '\u001b[2Jlamp' }));
    assert.equal(found.kind === 'application' && found.project, '?[2Jlamp');
  });
});

describe('these images are refused', () => {
  const image = buildImage(recipe);
  const hashless = buildImage({ ...recipe, hashed: false });
  const cases: Record<string, [Uint8Array, RegExp]> = {
    'no bytes': [new Uint8Array(0), /empty/],
    'a header alone': [image.subarray(0, 24), /shorter than/],
    'a bootloader': [buildBootloader(), /bootloader/],
    'an image without descriptor': [changed(image, (copy) => copy.writeUInt32LE(1, 0x20)), /descriptor/],
    'a merged image that begins with empty flash': [mergeImages(image), /merged/],
    'a merged image that begins with a bootloader': [mergeImages(image, 'esp32s3'), /merged/],
    'a damaged first byte': [changed(image, (copy) => void (copy[0] = 0xe8)), /first byte/],
    'an unknown chip': [changed(image, (copy) => copy.writeUInt16LE(0x4321, 0x0c)), /chip \(0x4321\)/],
    'no segment': [changed(image, (copy) => void (copy[1] = 0)), /0 segments/],
    'too many segments': [changed(image, (copy) => void (copy[1] = 17)), /17 segments/],
    'a segment beyond the end': [changed(image, (copy) => copy.writeUInt32LE(0x7ffffffc, 0x1c)), /in segment 1/],
    'a segment whose length is not a multiple of four': [
      changed(image, (copy) => copy.writeUInt32LE(1001, 0x1c)),
      /multiple of four/,
    ],
    'a first segment shorter than the descriptor': [
      changed(image, (copy) => copy.writeUInt32LE(252, 0x1c)),
      /too short for the descriptor/,
    ],
    'a segment count that is one too high': [changed(hashless, (copy) => void (copy[1] = 4)), /segment 4 of 4/],
    'a damaged segment': [changed(hashless, (copy) => void (copy[3000] = ~(copy[3000] ?? 0))), /checksum/],
    'a damaged hash': [changed(image, (copy) => void (copy[copy.length - 1] = ~(copy.at(-1) ?? 0))), /hash at its end/],
    'a changed header under the hash': [changed(image, (copy) => void (copy[3] = 0x1f)), /hash at its end/],
    'an invalid hash flag': [changed(image, (copy) => void (copy[0x17] = 2)), /hash flag/],
    'a hash without its flag in the header': [changed(image, (copy) => void (copy[0x17] = 0)), /flag of its hash/],
    'a missing hash': [changed(hashless, (copy) => void (copy[0x17] = 1)), /in its hash/],
    'a missing last segment': [image.subarray(0, 6000), /in segment/],
    'a missing checksum': [hashless.subarray(0, hashless.length - 1), /before its checksum/],
  };
  for (const [name, [bytes, reason]] of Object.entries(cases)) {
    it(`is ${name}`, () => assert.match(reasonOf(bytes), reason));
  }
});

describe('an image of an ESP8266', () => {
  const image = Buffer.from(buildEsp8266Image());
  // The code that stays in flash, then the header of the first format.
  const second = Buffer.concat([
    Buffer.from([0xea, 4, 0, 0, 0x10, 0, 0x10, 0x40, 0, 0, 0, 0, 0x40, 0, 0, 0]),
    Buffer.alloc(64, 7),
    image.subarray(4096),
  ]);

  // The SDK of Espressif with FreeRTOS writes the header of an ESP32, without a chip.
  const third = Buffer.concat([image.subarray(4096, 4096 + 8), Buffer.alloc(16), image.subarray(4096 + 8)]);

  it('is recognised in all three formats, with data behind it', () => {
    for (const each of [image, image.subarray(4096), second, third, Buffer.concat([image, Buffer.alloc(500, 1)])])
      assert.deepEqual(inspect(each), { kind: 'esp8266' });
  });

  it('is refused when it is cut off or loaded to where no memory is', () => {
    for (const each of [image.subarray(0, -300), image.subarray(0, 4100)])
      assert.equal(inspect(each).kind, 'refused', 'the application behind the loader of Arduino');
    for (const each of [image.subarray(0, 6), image.subarray(0, 300), second.subarray(0, 12), second.subarray(0, 60)])
      assert.equal(inspect(each).kind, 'refused');
    assert.equal(inspect(changed(image, (copy) => copy.writeUInt32LE(0x20000000, 8))).kind, 'refused');
    assert.equal(inspect(changed(image, (copy) => copy.writeUInt32LE(0xfffffff0, 12))).kind, 'refused');
  });
});

it('what no chip loads is refused by its name', () => {
  const cases: [string | Buffer, RegExp][] = [
    ['<!doctype html><title>Sign in</title>', /page of text/],
    ['\u{feff}\r\n  <html>', /page of text/],
    ['{"message":"Not Found"}', /a text/],
    ['UF2\nWQ]\u009e', /UF2/],
    ['\x7fELF\x01\x01\x01', /ELF/],
    ['PK\x03\x04', /ZIP/],
    [':100000000C9434000C9446000C9446000C9446006A', /Intel HEX/],
    [Buffer.from([0x1f, 0x8b, 8, 0]), /compressed/],
    [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 4]), /compressed/],
    [Buffer.from([0xcf, 0xb6, 0x88, 0x07, 1]), /^encrypted/],
    [Buffer.from([0x1e, 0xf1, 0xee, 0x0b, 0]), /Zigbee/],
    ['S00F000068656C6C6F202020202000003C', /S-record/],
    [createHash('shake256', { outputLength: 70_000 }).update('random').digest(), /no known form/],
    ['UBI# an image of another chip', /no known form/],
  ];
  for (const [content, reason] of cases) assert.match(reasonOf(Buffer.from(content as string)), reason);
});

it('chip names are compared without punctuation', () => {
  assert.deepEqual(['ESP32-S3', 'esp32_s3', 'Esp32 S3'].map(normalizeChip), ['esp32s3', 'esp32s3', 'esp32s3']);
});

/** Pads and appends as `espsecure sign_data` does; the key and the signature are not checked. */
function sign(image: Uint8Array): Uint8Array {
  const filled = Buffer.alloc(Math.ceil(image.length / 4096) * 4096, 0xff);
  filled.set(image);
  const sector = Buffer.alloc(4096, 0xff);
  sector.set([0xe7, 2, 0, 0]);
  sector.set(createHash('sha256').update(filled).digest(), 4);
  return Buffer.concat([filled, sector]);
}
