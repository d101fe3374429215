import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readOptions, Refusal } from './options.ts';

const complete = ['--site', 'https://station.example/', '--images', 'ghcr.io/owner/station', '--key', '/tmp/key'];

describe('what a release is asked to be', () => {
  test('a tag names the version, and whether it is only the agent', () => {
    const stack = readOptions(['v1.2.3', ...complete], null);
    assert.deepEqual([stack.kind, stack.version, stack.stationVersion], ['stack', '1.2.3', '1.2.3']);
    assert.deepEqual([stack.site, stack.push, stack.dryRun], ['https://station.example', false, false]);
    const agent = readOptions(['agent-v1.3.0-rc.1', ...complete], 'v1.2.3');
    assert.deepEqual([agent.kind, agent.version, agent.stationVersion], ['agent', '1.3.0-rc.1', '1.2.3']);
  });

  test('a dry run needs nothing but the version', () => {
    const { site, keyFile } = readOptions(['v1.2.3', '--dry-run'], null);
    assert.deepEqual([new URL(site).hostname, keyFile], ['station.invalid', null]);
  });

  const key = Buffer.concat([Buffer.from('Ed'), Buffer.alloc(40, 7)]).toString('base64');

  test('the next key is the key itself, or its file', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'next-key-'));
    const file = join(folder.path, 'next.pub');
    await writeFile(file, `untrusted comment: minisign public key 0707070707070707\n${key}\n`);
    for (const given of [key, file])
      assert.equal(readOptions(['v1.2.3', ...complete, '--next-key', given], null).nextKey, key);
    assert.equal(readOptions(['v1.2.3', ...complete], null).nextKey, null);
    await writeFile(file, `${key}\n${key}\n`);
    assert.throws(() => readOptions(['v1.2.3', ...complete, '--next-key', file], null), /minisign public key/);
  });

  const refused: [string, string[], RegExp][] = [
    ['no version', complete, /name a release/],
    ['two versions', ['v1.0.0', 'v1.0.1', ...complete], /name a release/],
    ['a version that is not SemVer', ['v1.2', ...complete], /name a release/],
    ['a version without its v', ['1.2.3', ...complete], /name a release/],
    ['build metadata, which a tag of an image cannot have', ['v1.2.3+4', ...complete], /build metadata/],
    ['an unknown option', ['v1.2.3', '--force'], /--force/],
    ['no key', ['v1.2.3', ...complete.slice(0, 4)], /--key/],
    ['a next key that is no key and no file', ['v1.2.3', ...complete, '--next-key', 'RWQ'], /--next-key/],
    ['no site', ['v1.2.3', ...complete.slice(2)], /--site/],
    ['no repository of images', ['v1.2.3', ...complete.slice(0, 2), ...complete.slice(4)], /--images/],
    ['a site that would end a quoted text', ['v1.2.3', '--site', "https://a'b", ...complete.slice(2)], /--site/],
    ['an agent without a stack to install', ['agent-v1.2.3', ...complete], /--station-version/],
    ['a dry run that would publish', ['v1.2.3', ...complete, '--dry-run', '--push'], /dry run/],
  ];
  for (const [what, args, why] of refused) {
    test(`refuses ${what}`, () => {
      assert.throws(
        () => readOptions(args, null),
        (error) => error instanceof Refusal && why.test(error.message),
      );
    });
  }
});
