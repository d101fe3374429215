import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { nodeDisk } from '@station/kit/durable-files';
import { emptyJournal, readJournal, writeJournal, type Journal } from './journal.ts';

const journal: Journal = {
  ...emptyJournal,
  installed: {
    version: '1.0.0',
    images: { backend: 'b:1' },
    imageIds: { backend: 'sha256:b' },
    digests: {},
    layers: {},
  },
  upInBoot: 'boot',
};

describe('journal.json', () => {
  let folder: string;
  let path: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
    path = join(folder, 'journal.json');
  });
  beforeEach(() => rm(path, { force: true }));
  after(() => rm(folder, { recursive: true }));

  test('is read as it was written', async () => {
    await writeJournal(nodeDisk, folder, journal);
    assert.deepEqual(await readJournal(nodeDisk, folder), { kind: 'ok', journal });
  });

  test('may be missing', async () => {
    assert.deepEqual(await readJournal(nodeDisk, folder), { kind: 'missing' });
    assert.deepEqual(await readJournal(nodeDisk, join(folder, 'nowhere')), { kind: 'missing' });
  });

  const damages: readonly [string, (text: string) => string | Uint8Array][] = [
    ['empty', () => ''],
    ['truncated', (text) => text.slice(0, text.length / 2)],
    ['no text', () => Uint8Array.of(0xff, 0xfe, 0x00)],
    ['no JSON', () => 'installed: 1.0.0'],
    ['another JSON', () => '[]'],
    ['of another version', () => '{"format":2,"sha256":"","journal":{}}'],
    ['changed manually', (text) => text.replace('1.0.0', '1.0.1')],
    ['without a field', (text) => JSON.stringify({ ...JSON.parse(text), journal: { format: 1 } })],
  ];
  for (const [name, damage] of damages) {
    test(`is damaged when it is ${name}`, async () => {
      await writeJournal(nodeDisk, folder, journal);
      await writeFile(path, damage(await readFile(path, 'utf8')));
      const reading = await readJournal(nodeDisk, folder);
      assert.equal(reading.kind, 'damaged');
      assert.ok(reading.kind === 'damaged' && reading.reason.length > 0);
    });
  }

  test('is damaged when it is whole but means nothing to this version', async () => {
    await writeJournal(nodeDisk, folder, { ...journal, format: 2 } as unknown as Journal);
    const reading = await readJournal(nodeDisk, folder);
    assert.deepEqual(reading, { kind: 'damaged', reason: 'not of the expected form' });
  });
});
