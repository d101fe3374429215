import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readOptions } from './options.ts';
import { writeManifests, writeScripts } from './site.ts';

const keyOf = (byte: number): string => Buffer.concat([Buffer.from('Ed'), Buffer.alloc(40, byte)]).toString('base64');
const present = keyOf(1);
const next = keyOf(2);
const images = { backend: 'registry.test/backend:1.2.3', frontend: 'registry.test/frontend:1.2.3' };

test('the next key is in the manifest, and install.sh has both keys', async () => {
  for (const [args, keys, named] of [
    [[], present, undefined],
    [['--next-key', next], `${present},${next}`, next],
  ] as const) {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'site-'));
    const options = readOptions(['v1.2.3', '--dry-run', '--output', folder.path, ...args], null);
    const signed: string[] = [];
    const signer = { publicKey: present, sign: async (file: string) => void signed.push(file) };
    const site = { options, signer, date: new Date(0) };
    await writeScripts(site);
    await writeManifests(site, images);
    const read = (name: string): Promise<string> => readFile(join(folder.path, name), 'utf8');
    for (const name of ['manifest.json', 'releases/1.2.3.json']) {
      assert.equal((JSON.parse(await read(name)) as { nextPublicKey?: string }).nextPublicKey, named);
      assert.ok(signed.includes(join(folder.path, name)));
    }
    // Byte 1 eight times is the id of the present key.
    const kept = `keys/${'01'.repeat(8).replace(/^0/, '')}.json`;
    assert.equal(signed.includes(join(folder.path, kept)), named !== undefined);
    if (named !== undefined) assert.equal(await read(kept), await read('manifest.json'));
    assert.ok((await read('install.sh')).includes(`\nupdate_public_key='${keys}'\n`));
  }
});
