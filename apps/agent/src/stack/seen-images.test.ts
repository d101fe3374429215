import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk, type Disk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { events as catalogue } from '@station/protocol/events';
import type { Release } from '@station/protocol/release';
import { releaseOf } from './release-decide.ts';
import { createSeenImages, mostVersions } from './seen-images.ts';

const tag = 'registry.test/backend:2.0.0';
const digest = (digit: string): string => `registry.test/backend@sha256:${digit.repeat(64)}`;
const fetched = (version: string, image: string, seen: string): Release => ({
  ...releaseOf(version, { backend: image }),
  digests: { backend: seen },
});
const openFolder = () => mkdtempDisposable(join(tmpdir(), 'seen-images-'));

/** As a new process of the agent: it knows only what is on disk. */
function open(dataDir: string, disk: Disk = nodeDisk) {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const logger = createLogger({ catalogue, clock: systemClock, level: 'info', secrets: [], write });
  const seen = createSeenImages({ disk, dataDir, logger });
  const wants = async (version: string, image: string) =>
    (await seen.pin(releaseOf(version, { backend: image }))).digests;
  return { ...seen, wants, lines };
}

describe('the images seen first', () => {
  const cases: { name: string; version: string; image: string; wanted: Record<string, string> }[] = [
    { name: 'the same version', version: '2.0.0', image: tag, wanted: { backend: digest('a') } },
    { name: 'another version under the same tag', version: '3.0.0', image: tag, wanted: {} },
    { name: 'another name in the same version', version: '2.0.0', image: 'mirror.test/backend:2.0.0', wanted: {} },
    { name: 'a reference with its own digest', version: '2.0.0', image: digest('c'), wanted: {} },
  ];
  for (const { name, version, image, wanted } of cases) {
    it(`${name}, asked for after a restart`, async () => {
      await using folder = await openFolder();
      await open(folder.path).remember([
        fetched('2.0.0', tag, digest('a')),
        fetched('2.1.0', digest('c'), digest('c')),
      ]);
      assert.deepEqual(await open(folder.path).wants(version, image), wanted);
    });
  }

  it('stay when a tag has moved', async () => {
    await using folder = await openFolder();
    const { remember, wants } = open(folder.path);
    await remember([fetched('2.0.0', tag, digest('a'))]);
    await remember([fetched('2.0.0', tag, digest('b'))]);
    assert.deepEqual(await wants('2.0.0', tag), { backend: digest('a') });
  });

  it('win over what a release brings along', async () => {
    await using folder = await openFolder();
    const { remember, pin } = open(folder.path);
    await remember([fetched('2.0.0', tag, digest('a'))]);
    assert.deepEqual((await pin(fetched('2.0.0', tag, digest('b')))).digests, { backend: digest('a') });
  });

  it('are bounded: the oldest are forgotten', async () => {
    await using folder = await openFolder();
    const { remember, wants } = open(folder.path);
    const versions = Array.from({ length: mostVersions + 1 }, (_, at) => `1.0.${at}`);
    await remember(versions.map((version) => fetched(version, tag, digest('a'))));
    assert.deepEqual(await wants('1.0.0', tag), {});
    assert.deepEqual(await wants('1.0.1', tag), { backend: digest('a') });
  });

  it('are learned anew when the file is damaged', async () => {
    await using folder = await openFolder();
    const path = join(folder.path, 'seen-images.json');
    await open(folder.path).remember([fetched('2.0.0', tag, digest('a'))]);
    await writeFile(path, (await readFile(path, 'utf8')).replaceAll('aaaa', 'bbbb'));
    const after = open(folder.path);
    assert.deepEqual(await after.wants('2.0.0', tag), {});
    assert.ok(after.lines.some((line) => line.includes('state_repaired')));
    await after.remember([fetched('2.0.0', tag, digest('a'))]);
    assert.deepEqual(await open(folder.path).wants('2.0.0', tag), { backend: digest('a') });
  });

  it('are not believed before they are on disk', async () => {
    await using folder = await openFolder();
    const full = async (): Promise<never> => {
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    };
    const { remember, wants } = open(folder.path, { ...nodeDisk, write: full });
    await assert.rejects(remember([fetched('2.0.0', tag, digest('a'))]), { code: 'ENOSPC' });
    assert.deepEqual(await wants('2.0.0', tag), {});
  });

  it('an unreadable file stops the agent only for some tries', async () => {
    await using folder = await openFolder();
    const worn = async (): Promise<never> => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    const { wants } = open(folder.path, { ...nodeDisk, read: worn });
    for (let tries = 1; tries < 4; tries += 1) await assert.rejects(wants('2.0.0', tag), { code: 'EIO' });
    assert.deepEqual(await wants('2.0.0', tag), {});
  });
});
