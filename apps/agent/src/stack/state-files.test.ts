import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { nodeDisk } from '@station/kit/durable-files';
import type { Release } from '@station/protocol/release';
import { parse } from 'yaml';
import { emptyJournal, type Journal } from './journal.ts';
import { findStaleFiles, overrideFile, readOverride, stateFiles, wantedFiles, writeStateFiles } from './state-files.ts';

const id = (digit: string): string => `sha256:${digit.repeat(64)}`;
const release = (version: string | null, digit: string): Release => ({
  version,
  images: { frontend: `registry.test/frontend:${version}`, backend: `registry.test/backend:${version}` },
  imageIds: { frontend: id(digit), backend: id(digit) },
  digests: {},
  layers: {},
});
const old = release('1.0.0', 'a');
const next = release('2.0.0', 'b');
const journal: Journal = { ...emptyJournal, installed: next, kept: [{ release: old, at: '2026-06-01T03:00:00.000Z' }] };

describe('the files made from the journal', () => {
  test('show the version and the previous release, and pin both', () => {
    const files = wantedFiles(journal);
    assert.equal(files[stateFiles.currentVersion], '2.0.0\n');
    assert.deepEqual(JSON.parse(files[stateFiles.rollback] ?? ''), {
      version: '1.0.0',
      images: old.images,
      imageIds: old.imageIds,
      createdAt: '2026-06-01T03:00:00.000Z',
    });
    assert.equal(files[stateFiles.updateOverride], overrideFile(next));
    assert.equal(files[stateFiles.rollbackOverride], overrideFile(old));
  });

  test('leave out what is not known', () => {
    assert.deepEqual(wantedFiles(emptyJournal), {
      [stateFiles.currentVersion]: null,
      [stateFiles.rollback]: null,
      [stateFiles.updateOverride]: overrideFile(null),
      [stateFiles.rollbackOverride]: null,
    });
    assert.equal(wantedFiles({ ...journal, installed: release(null, 'c') })[stateFiles.currentVersion], null);
  });
});

describe('an override', () => {
  test('pins by image id and forbids pulling, in a form that Compose reads', () => {
    assert.deepEqual(parse(overrideFile(next)), {
      services: {
        backend: { image: id('b'), pull_policy: 'never' },
        frontend: { image: id('b'), pull_policy: 'never' },
      },
    });
  });

  test('is valid where nothing is pinned', () => {
    assert.deepEqual(parse(overrideFile(null)), { services: {} });
    assert.deepEqual(parse(overrideFile({ ...next, imageIds: {} })), { services: {} });
  });

  test('is the same for any order of the services', () => {
    const turned = { ...next, imageIds: { backend: id('b'), frontend: id('b') } };
    assert.equal(overrideFile(turned), overrideFile(next));
  });

  test('cannot be broken out of by a reference or a service name', () => {
    const images = { backend: 'x\n    privileged: true', 'a": {}\n#': 'y' };
    const nasty: Release = { ...next, images, imageIds: { backend: id('b'), 'a": {}\n#': id('c') } };
    assert.deepEqual(parse(overrideFile(nasty)), {
      services: {
        backend: { image: id('b'), pull_policy: 'never' },
        'a": {}\n#': { image: id('c'), pull_policy: 'never' },
      },
    });
  });

  test('gives its pins back', () => {
    assert.deepEqual(readOverride(overrideFile(next)), { backend: id('b'), frontend: id('b') });
    assert.deepEqual(readOverride(overrideFile({ ...next, images: {} })), { backend: id('b'), frontend: id('b') });
    assert.deepEqual(readOverride(overrideFile(null)), {});
  });

  test('that is foreign, damaged or missing gives none', () => {
    const others = 'services:\n  backend:\n    image: registry.test/backend:1.0.0\n';
    for (const text of [null, '', others, '{}', overrideFile(next).replaceAll('sha256', 'sha512')]) {
      assert.deepEqual(readOverride(text), {});
    }
  });
});

describe('on disk', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'state-'));
  });
  beforeEach(async () => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('they are stale until they are written, then not', async () => {
    const stale = await findStaleFiles(nodeDisk, folder, journal);
    assert.deepEqual(stale, wantedFiles(journal));
    await writeStateFiles(nodeDisk, folder, stale);
    assert.deepEqual(await findStaleFiles(nodeDisk, folder, journal), {});
    assert.deepEqual((await readdir(folder)).sort(), Object.values(stateFiles).sort());
  });

  test('one that is not to be is removed', async () => {
    await writeStateFiles(nodeDisk, folder, wantedFiles(journal));
    const stale = await findStaleFiles(nodeDisk, folder, { ...journal, kept: [] });
    assert.deepEqual(stale, { [stateFiles.rollback]: null, [stateFiles.rollbackOverride]: null });
    await writeStateFiles(nodeDisk, folder, stale);
    assert.deepEqual((await readdir(folder)).sort(), [stateFiles.updateOverride, stateFiles.currentVersion].sort());
  });

  test('a changed one is stale, also when it is no text', async () => {
    await writeStateFiles(nodeDisk, folder, wantedFiles(journal));
    await writeFile(join(folder, stateFiles.currentVersion), Uint8Array.of(0xff, 0xfe));
    assert.deepEqual(Object.keys(await findStaleFiles(nodeDisk, folder, journal)), [stateFiles.currentVersion]);
  });

  test('one that cannot be read is replaced', async () => {
    await writeStateFiles(nodeDisk, folder, wantedFiles(journal));
    const worn = {
      ...nodeDisk,
      read: async (path: string) => {
        if (path.endsWith(stateFiles.rollback)) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        return nodeDisk.read(path);
      },
    };
    assert.deepEqual(Object.keys(await findStaleFiles(worn, folder, journal)), [stateFiles.rollback]);
    assert.deepEqual(Object.keys(await findStaleFiles(worn, folder, { ...journal, kept: [] })), [
      stateFiles.rollback,
      stateFiles.rollbackOverride,
    ]);
  });

  test('they can be read by everybody, since they are no secret', async () => {
    await writeStateFiles(nodeDisk, folder, wantedFiles(journal));
    for (const name of Object.values(stateFiles)) assert.equal((await stat(join(folder, name))).mode & 0o777, 0o644);
  });
});
