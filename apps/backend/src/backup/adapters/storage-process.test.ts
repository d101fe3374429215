import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Hostility, startHostileWebdav } from '../../../testing/backup/hostile-webdav.ts';
import { DestinationFault, type StorageTarget } from '../../core/backup-destination.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { copyExactly } from './limited-copy.ts';
import { noProxy } from '@station/kit/outgoing-proxy';
import { createStorageProcess } from './storage-process.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const listed = 'station-x-20260101T000000Z.age';
/** A process needs minutes to start beside programs that never pause. */
const patience = { timeout: 900_000 };
const reasonOf = (error: unknown): string => (error instanceof DestinationFault ? error.reason : String(error));
const options = () => ({ signal: new AbortController().signal });
const login = { username: 'station', password: 'secret of the NAS' };
/** Limits that a hostile storage reaches at once, and no other one. */
const impatient = createStorageProcess(noProxy, { callMs: 8_000, silenceMs: 8_000 });
const patient = createStorageProcess(noProxy);

describe('a hostile server', patience, () => {
  for (const [what, expected] of [
    ['endless listing', 'failed'],
    ['entities', 'failed'],
    ['deep listing', 'failed'],
    ['many files', 'failed'],
    ['odd names', [listed]],
    ['none', []],
  ] as const satisfies readonly (readonly [Hostility, unknown])[])
    test(`its listing: ${what}`, async () => {
      await using server = await startHostileWebdav();
      server.do(what);
      const target: StorageTarget = { kind: 'webdav', url: server.url, ...login, stationId };
      const list = patient.ask(target, 'list', {}, options());
      assert.deepEqual(await list.then((files) => files.map(({ name }) => name), reasonOf), expected);
    });

  test('a listing that never ends is given up', async () => {
    await using server = await startHostileWebdav();
    server.do('silent listing');
    const target: StorageTarget = { kind: 'webdav', url: server.url, ...login, stationId };
    assert.equal(await impatient.ask(target, 'list', {}, options()).then(String, reasonOf), 'unreachable');
  });

  test('a redirect to another address gets no request and no log-in', async () => {
    await using elsewhere = await startHostileWebdav();
    await using server = await startHostileWebdav({ elsewhere: elsewhere.url.slice(0, -1) });
    server.do('redirect');
    const target: StorageTarget = { kind: 'webdav', url: server.url, ...login, stationId };
    assert.equal(await patient.ask(target, 'list', {}, options()).then(String, reasonOf), 'redirected');
    assert.deepEqual(elsewhere.requests, []);
    assert.ok(server.requests.length > 0);
  });

  test('an upload that is never answered ends when it is silent for too long, and when it is cancelled', async () => {
    await using server = await startHostileWebdav();
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'a.age');
    await writeFile(path, Buffer.alloc(100_000));
    server.do('silent upload');
    const target: StorageTarget = { kind: 'webdav', url: server.url, ...login, stationId };
    const given = { path, name: listed };
    assert.equal(await impatient.ask(target, 'put', given, options()).then(String, reasonOf), 'unreachable');
    const ending = new AbortController();
    const sending = patient.ask(target, 'put', given, { signal: ending.signal, onProgress: () => ending.abort() });
    await assert.rejects(sending, DestinationFault);
    server.do('none');
    assert.deepEqual(await patient.ask(target, 'list', {}, options()), []);
  });

  for (const what of ['endless file', 'silent file'] as const)
    test(`${what}: no more is written than was listed, and nothing stays`, async () => {
      await using server = await startHostileWebdav();
      await using folder = await temporaryFolder();
      server.do(what);
      const target: StorageTarget = { kind: 'webdav', url: server.url, ...login, stationId };
      const ending = new AbortController();
      if (what === 'silent file') setTimeout(() => ending.abort(new Error('Cancelled')), 3_000);
      const copy = async (): Promise<void> => {
        const content = await patient.read(target, listed, { signal: ending.signal });
        await copyExactly(content, join(folder.path, 'copy'), { bytes: 1000, signal: ending.signal });
      };
      await assert.rejects(copy());
      assert.deepEqual(await readdir(folder.path), []);
    });
});

describe('a stick of a stranger', patience, () => {
  async function stick() {
    const folder = await temporaryFolder();
    const own = join(folder.path, stationId);
    await mkdir(own);
    const target: StorageTarget = { kind: 'folder', folder: folder.path, stationId, mark: null };
    return { path: folder.path, own, target, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  }
  const named = (letter: string): string => listed.replace('-x-', `-${letter}-`);

  test('pipes, links, devices, folders and other names are neither listed nor opened', async () => {
    await using there = await stick();
    const { own, target } = there;
    await writeFile(join(own, named('a')), 'content');
    await writeFile(join(own, 'station-../x-20260101T000000Z.age'.replace('/', '_')), '');
    execFileSync('mkfifo', [join(own, named('b'))]);
    await symlink('/etc/passwd', join(own, named('c')));
    await symlink('/dev/zero', join(own, named('d')));
    await mkdir(join(own, named('e')));
    await writeFile(join(own, named('f')), '');
    await truncate(join(own, named('f')), 8 * 2 ** 40).catch(() => truncate(join(own, named('f')), 2 ** 40));
    const files = await patient.ask(target, 'list', {}, options());
    assert.deepEqual(files.map(({ name }) => name).sort(), [named('a'), named('f')]);
    for (const letter of ['b', 'c', 'd', 'e']) {
      const read = patient.read(target, named(letter), options());
      assert.equal(await read.then(() => 'was opened', reasonOf), 'failed', letter);
    }
  });

  test('a mark that is a pipe, a device or endless is no mark', async () => {
    for (const make of [
      (path: string) => execFileSync('mkfifo', [path]),
      (path: string) => symlink('/dev/zero', path),
      (path: string) => writeFile(path, Buffer.alloc(10_000_000, 32)),
    ]) {
      await using there = await stick();
      await make(join(there.path, '.station-backups.json'));
      const marked = { ...there.target, mark: 'the mark' } as StorageTarget;
      assert.equal(await patient.ask(marked, 'state', {}, options()), 'not_mounted');
      const list = patient.ask(marked, 'list', {}, options());
      assert.equal(await list.then(String, reasonOf), 'not_mounted');
      // One of its own replaces it.
      assert.match(await patient.ask(there.target, 'mark', {}, options()), /^[0-9a-f-]{36}$/);
    }
  });

  test('a folder of the station that is a link is not used', async () => {
    await using there = await stick();
    await using other = await temporaryFolder();
    await writeFile(join(other.path, listed), 'of the machine');
    await symlink(other.path, join(there.path, 'linked'));
    const target: StorageTarget = { kind: 'folder', folder: there.path, stationId: 'linked', mark: null };
    for (const call of ['list', 'prepare', 'remove'] as const)
      assert.equal(
        await patient.ask(target, call, { name: listed }, options()).then(() => call, reasonOf),
        'not_writable',
      );
    assert.deepEqual(await readdir(other.path), [listed]);
  });

  test('of very many files the newest thousand are listed', async () => {
    await using there = await stick();
    for (let at = 0; at < 1_200; at++) {
      const day = String(20250101 + (at % 28)).padStart(8, '0');
      await writeFile(join(there.own, `station-x-${day}T${String(at).padStart(6, '0')}Z.age`), '');
    }
    for (let at = 0; at < 2_000; at++) await writeFile(join(there.own, `other-${at}.age`), '');
    await writeFile(join(there.own, listed), '');
    const files = await patient.ask(there.target, 'list', {}, options());
    assert.deepEqual([files.length, files[0]?.name], [1_000, listed]);
  });
});
