import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { nodeDisk } from './durable-files.ts';
import { createJsonFile } from './durable-json.ts';

const schema = Type.Object({ name: Type.String() });

describe('a JSON file', () => {
  it('reads back the written value, with and without a checksum', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'json-'));
    for (const checksumKey of [undefined, 'note']) {
      const path = join(folder.path, `${checksumKey}.json`);
      const file = createJsonFile({ disk: nodeDisk, path, schema, ...(checksumKey ? { checksumKey } : {}) });
      assert.deepEqual(await file.read(), { kind: 'missing' });
      await file.write({ name: 'ä' });
      assert.deepEqual(await file.read(), { kind: 'ok', value: { name: 'ä' } });
    }
    assert.deepEqual(JSON.parse(await readFile(join(folder.path, 'note.json'), 'utf8')), {
      sha256: '7cc55a2b3267a50619c0c721741ad731f099d395047357a153d429484e3107ea',
      note: { name: 'ä' },
    });
  });

  const damages: [string, string | Buffer, string, string?][] = [
    ['not text', Buffer.from([0xff, 0xfe]), 'not text'],
    ['empty', '', 'not JSON'],
    ['cut off', '{"name":"a', 'not JSON'],
    ['of another form', '{"name":1}', 'not of the expected form'],
    ['without its checksum', '{"name":"a"}', 'not of the expected form', 'note'],
    ['an array', '[]', 'not of the expected form', 'note'],
    ['changed manually', '{"sha256":"00","note":{"name":"a"}}', 'checksum does not match', 'note'],
  ];
  for (const [title, content, reason, checksumKey] of damages) {
    it(`is damaged when it is ${title}`, async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'json-'));
      const path = join(folder.path, 'file.json');
      await writeFile(path, content);
      const file = createJsonFile({ disk: nodeDisk, path, schema, ...(checksumKey ? { checksumKey } : {}) });
      assert.deepEqual(await file.read(), { kind: 'damaged', reason });
    });
  }
});
