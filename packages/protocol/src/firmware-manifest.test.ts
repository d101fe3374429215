import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readFirmwareManifest, type FirmwareManifestReading } from './firmware-manifest.ts';
import { topLevelKeys } from './json-keys.ts';

const hex = 'ab'.repeat(32);
const manifestUrl = 'https://releases.example/station/firmware/manifest.json';
const lamp = { version: '1.2.3', file: 'lamp-1.2.3.bin', checksum: `sha256:${hex}` };
const encode = (value: unknown): Uint8Array =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const read = (value: unknown, url = manifestUrl): FirmwareManifestReading =>
  readFirmwareManifest(encode(value), { manifestUrl: url, maxBytes: 16 * 2 ** 20 });

/** Reasons by name; the names of the entries that were taken are in `taken`. */
function outcome(value: unknown, url?: string): { taken: string[]; refused: Record<string, string> } {
  const reading = read(value, url);
  assert.ok(reading.kind === 'ok', JSON.stringify(reading));
  return {
    taken: reading.entries.map(({ name }) => name),
    refused: Object.fromEntries(reading.refused.map(({ name, reason }) => [name, reason])),
  };
}

describe('both forms', () => {
  const entry = {
    name: 'lamp',
    version: '1.2.3',
    url: 'https://releases.example/station/firmware/lamp-1.2.3.bin',
    checksum: `sha256:${hex}`,
    size: null,
    chip: null,
    minVersion: null,
  };

  it('are read: a map by name', () => {
    assert.deepEqual(read({ lamp: { ...lamp, later: true } }), {
      kind: 'ok',
      entries: [entry],
      refused: [],
      deviceTypes: [],
    });
  });

  it('are read: a list of types', () => {
    assert.deepEqual(read({ generatedAt: 'now', types: [{ type: 'lamp', ...lamp }] }), {
      kind: 'ok',
      entries: [entry],
      refused: [],
      deviceTypes: [],
    });
  });

  it('with a plain checksum, a "v" before the version and all optional keys', () => {
    const full = {
      ...lamp,
      version: 'v1.2.3',
      checksum: hex.toUpperCase(),
      size: 10,
      chip: 'ESP32-S3',
      minVersion: 'v1.0.0',
    };
    const reading = read({ lamp: full });
    assert.deepEqual(reading.kind === 'ok' && reading.entries, [
      { ...entry, size: 10, chip: 'esp32s3', minVersion: '1.0.0' },
    ]);
  });

  it('with null for what is absent', () => {
    const reading = read({ lamp: { ...lamp, size: null, chip: null, minVersion: null } });
    assert.deepEqual(reading.kind === 'ok' && reading.entries, [entry]);
    assert.match(outcome({ lamp: { ...lamp, file: null } }).refused['lamp'] ?? '', /file/);
  });

  it('may be empty', () => {
    for (const empty of [{}, { types: [] }]) {
      assert.deepEqual(read(empty), { kind: 'ok', entries: [], refused: [], deviceTypes: [] });
    }
  });

  it('a firmware may have the name "types" or the name of an object property', () => {
    assert.deepEqual(outcome({ types: lamp, constructor: lamp }).taken, ['types', 'constructor']);
  });
});

describe('a name with a chip', () => {
  const entriesOf = (value: unknown) => {
    const reading = read(value);
    return reading.kind === 'ok' ? reading.entries.map(({ name, chip }) => [name, chip]) : [];
  };

  it('is read in both forms of the name, and names the chip of the image', () => {
    const expected = [
      ['esp32-lamp', 'esp32'],
      ['esp32c3-lamp', 'esp32c3'],
      ['lamp', null],
    ];
    assert.deepEqual(entriesOf({ 'esp32-lamp': lamp, 'esp32c3/lamp': { ...lamp, chip: 'ESP32-C3' }, lamp }), expected);
    const types = ['esp32/lamp', 'esp32c3-lamp', 'lamp'].map((type) => ({ type, ...lamp }));
    assert.deepEqual(entriesOf({ types }), expected);
  });

  it('is refused for another chip, in both forms at once, and with an unknown chip before a slash', () => {
    assert.match(outcome({ 'esp32-lamp': { ...lamp, chip: 'esp32c3' } }).refused['esp32-lamp'] ?? '', /says esp32$/);
    const twice = outcome({ 'esp32/lamp': lamp, 'esp32-lamp': lamp, climate: lamp });
    assert.deepEqual([twice.taken, Object.keys(twice.refused)], [['climate'], ['esp32-lamp']]);
    for (const name of ['stm32/lamp', 'esp32/', 'esp32/../lamp', 'esp32/lamp/x', '/lamp'])
      assert.deepEqual(outcome({ [name]: lamp }).taken, [], name);
  });
});

describe('a description of a device type', () => {
  const described = (value: unknown): unknown[] => {
    const reading = read(value);
    return reading.kind === 'ok' ? reading.deviceTypes : [];
  };
  const capabilities = [{ key: 'on', kind: 'boolean' }];

  it('is taken from an entry without the keys of the firmware, once for each type', () => {
    const entry = { ...lamp, chip: 'esp32', size: 10, later: true, capabilities, names: { en: 'Relay' } };
    const types = [
      { type: 'esp32-relay', ...entry },
      { type: 'esp32c3-relay', ...entry, chip: 'esp32c3', names: { en: 'Another' } },
      { type: 'lamp', ...lamp },
    ];
    assert.deepEqual(described({ types }), [{ type: 'relay', capabilities, names: { en: 'Relay' } }]);
    assert.deepEqual(described({ relay: entry }), [{ type: 'relay', capabilities, names: { en: 'Relay' } }]);
  });

  it('does not depend on the firmware of its entry', () => {
    assert.deepEqual(described({ types: [{ type: 'relay', capabilities }] }), [{ type: 'relay', capabilities }]);
  });

  it('is left out when its name is invalid or when it is too large', () => {
    const icon = 'x'.repeat(40_000);
    assert.deepEqual(
      described({
        types: [
          { type: 'Relay', capabilities },
          { type: 'relay', capabilities, icon },
        ],
      }),
      [],
    );
  });
});

describe('a manifest is rejected as a whole', () => {
  for (const [name, [body, reason]] of Object.entries<[unknown, RegExp]>({
    'that is not JSON': ['{"lamp":', /not JSON/],
    'that is a list': [[], /not a JSON object/],
    'that is empty': ['null', /not a JSON object/],
    'of more than 1 MiB': [{ lamp, padding: 'x'.repeat(2 ** 20) }, /larger than 1048576/],
    'with too many entries': [
      Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`n${index}`, 1])),
      /more than 1000/,
    ],
  })) {
    it(name, () => {
      const reading = read(body);
      assert.match(reading.kind === 'rejected' ? reading.reason : '', reason);
    });
  }
});

describe('one entry is refused, the others stay', () => {
  for (const [name, [change, reason]] of Object.entries<[object, RegExp]>({
    'a path to a parent folder': [{ file: '../../etc/passwd' }, /leads out/],
    'a path with a parent folder in its middle': [{ file: 'a/../../b.bin' }, /leads out/],
    'an encoded path to a parent folder': [{ file: '%2e%2E/b.bin' }, /leads out/],
    'an encoded slash': [{ file: '..%2fb.bin' }, /leads out/],
    'a backslash': [{ file: '..\\b.bin' }, /backslashes/],
    'a zero byte in the name': [{ file: 'a\u0000b' }, /control characters/],
    'a file URL': [{ file: 'file:///etc/passwd' }, /neither at the origin/],
    'a data URL': [{ file: 'data:,x' }, /neither at the origin/],
    'a plain http URL of another origin': [{ file: 'http://elsewhere.example/x.bin' }, /neither at the origin/],
    'another machine without a scheme': [{ file: '//elsewhere.example/x.bin' }, /neither at the origin/],
    'a user name in the URL': [{ file: 'https://a:b@elsewhere.example/x.bin' }, /user name/],
    'a version that is not SemVer': [{ version: '1.2' }, /SemVer/],
    'a version with a path': [{ version: '1.2.3/../../x' }, /SemVer/],
    'a version that is a number': [{ version: 2 }, /\/version/],
    'a short checksum': [{ checksum: hex.slice(2) }, /checksum/],
    'a checksum of another kind': [{ checksum: `md5:${hex}` }, /checksum/],
    'a file of 1 GB': [{ size: 2 ** 30 }, /larger than/],
    'an invalid size': [{ size: 0 }, /\/size/],
    'an invalid minimum version': [{ minVersion: 'old' }, /minVersion/],
    'a missing file': [{ file: undefined }, /file/],
  })) {
    it(name, () => {
      const { taken, refused } = outcome({ lamp: { ...lamp, ...change }, climate: lamp });
      assert.deepEqual(taken, ['climate']);
      assert.match(refused['lamp'] ?? '', reason);
    });
  }

  it('with an invalid name', () => {
    for (const name of ['../lamp', 'Lamp', '', '.lamp', 'x'.repeat(65), 'la mp', 'lamp@1', '__proto__', 'lamp/']) {
      const { taken, refused } = outcome(`{${JSON.stringify(name)}: ${JSON.stringify(lamp)}}`);
      assert.deepEqual(taken, []);
      assert.equal(Object.keys(refused).length, 1, name);
    }
  });

  it('with a value that is not an entry', () => {
    assert.deepEqual(Object.keys(outcome({ lamp: '1.2.3', climate: null }).refused), ['lamp', 'climate']);
    assert.deepEqual(Object.keys(outcome({ types: [null, 'lamp', { ...lamp }] }).refused), ['']);
  });

  it('with a duplicate name, in either form', () => {
    const entry = JSON.stringify(lamp);
    assert.match(outcome(`{"lamp": ${entry}, "lamp": ${entry}}`).refused['lamp'] ?? '', /more than once/);
    assert.match(outcome(`{"lamp": ${entry}, "l\\u0061mp": ${entry}}`).refused['lamp'] ?? '', /more than once/);
    const typed = { type: 'lamp', ...lamp };
    assert.match(outcome({ types: [typed, { ...typed, version: '1.2.4' }] }).refused['lamp'] ?? '', /more than once/);
  });

  it('with names that differ only in capitals', () => {
    const { taken, refused } = outcome({ lamp, LAMP: lamp, climate: lamp });
    assert.deepEqual([taken, Object.keys(refused)], [['climate'], ['lamp', 'LAMP']]);
  });
});

describe('the file of an entry is resolved', () => {
  const urlOf = (file: string, url?: string): string | undefined => {
    const reading = read({ lamp: { ...lamp, file } }, url);
    return reading.kind === 'ok' ? reading.entries[0]?.url : undefined;
  };

  it('beside the manifest, at its origin, or at an https URL', () => {
    assert.equal(urlOf('sub/a+b.bin?x=1#y'), 'https://releases.example/station/firmware/sub/a+b.bin?x=1');
    assert.equal(urlOf('/other/a.bin'), 'https://releases.example/other/a.bin');
    assert.equal(urlOf('https://cdn.example/a.bin'), 'https://cdn.example/a.bin');
    assert.equal(urlOf('http://127.0.0.1:8080/a.bin', 'http://127.0.0.1:8080/m.json'), 'http://127.0.0.1:8080/a.bin');
  });

  it('never over a less secure scheme than that of the manifest', () => {
    assert.equal(urlOf('http://releases.example/a.bin'), undefined);
  });

  it('on a USB stick only below the folder of the manifest', () => {
    const stick = 'file:///media/stick/firmware/manifest.json';
    assert.equal(urlOf('sub/a.bin', stick), 'file:///media/stick/firmware/sub/a.bin');
    for (const file of ['/etc/passwd', 'file:///etc/passwd', '//server/a.bin'])
      assert.equal(urlOf(file, stick), undefined);
    assert.equal(urlOf('https://cdn.example/a.bin', stick), 'https://cdn.example/a.bin');
  });
});

it('lists the keys of the outermost object only', () => {
  const text = '{"a": {"b": 1, "c": ["d", {"e": "f"}]}, "g": "h,{\\"i\\": 1}", "j": [1, "k"], "a": null, "l": "m"}';
  assert.deepEqual(topLevelKeys(text), ['a', 'g', 'j', 'a', 'l']);
});
