import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { startWebdavServer } from '../../../testing/backup/webdav-server.ts';
import { DestinationFault, type StorageTarget } from '../../core/backup-destination.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { storageHere } from './storage-here.ts';

const name = 'station-x-20260101T000000Z.age';
const options = () => ({ signal: new AbortController().signal });
const login = { username: 'station', password: 'secret of the NAS' };

/** The usual server behind one that answers some requests itself. @param answer a status, or a listing; null: it passes the request on. */
async function relayed(answer: (method: string, path: string, count: number) => number | string | null) {
  const server = await startWebdavServer(login);
  const counts = new Map<string, number>();
  const relay = createServer((request, response) => {
    const pass = async (): Promise<void> => {
      const method = request.method ?? '';
      const depth = String(request.headers['depth'] ?? '');
      const kind = method === 'PROPFIND' ? `${method} ${depth}` : method;
      const body = await buffer(request);
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      const own = answer(kind, request.url ?? '', count);
      if (own !== null) {
        response.writeHead(typeof own === 'string' ? 207 : own).end(typeof own === 'string' ? own : '');
        return;
      }
      const headers = {
        authorization: request.headers.authorization ?? '',
        depth,
        destination: String(request.headers['destination'] ?? ''),
      };
      const init = { method, headers, ...(body.length > 0 ? { body: new Uint8Array(body) } : {}) };
      const given = await fetch(`${new URL(server.url).origin}${request.url}`, init);
      const content = Buffer.from(await given.arrayBuffer());
      const challenge = given.headers.get('www-authenticate');
      response.writeHead(given.status, challenge === null ? {} : { 'www-authenticate': challenge }).end(content);
    };
    pass().catch(() => response.destroy());
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}/dav/`;
  const target: StorageTarget = { kind: 'webdav', url, ...login, stationId: 'id' };
  return {
    files: server.files,
    target,
    [Symbol.asyncDispose]: async () => {
      relay.closeAllConnections();
      relay.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function putTo(target: StorageTarget): Promise<string> {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'a.age');
  await writeFile(path, Buffer.alloc(100_000, 7));
  return await storageHere.ask(target, 'put', { path, name }, options()).then(
    () => 'kept',
    (error: unknown) => (error instanceof DestinationFault ? error.reason : String(error)),
  );
}

const kept = (files: Map<string, Buffer>): (string | undefined)[] =>
  [...files.keys()].map((path) => path.split('/').at(-1));

test('a cloud that lists a new file a moment later keeps backups', async () => {
  // The second listing is the one after the small file was written: it is as before.
  await using server = await relayed((kind, _path, count) => (kind === 'PROPFIND 1' && count === 2 ? 404 : null));
  assert.equal(await putTo(server.target), 'kept');
  assert.deepEqual(kept(server.files), [name]);
});

const listed = (path: string, status: string, size = ''): string =>
  `<d:multistatus xmlns:d="DAV:"><d:response><d:href>${path}</d:href><d:propstat><d:prop><d:resourcetype/>${size}</d:prop><d:status>HTTP/1.1 ${status}</d:status></d:propstat></d:response></d:multistatus>`;

test('a server that still works on what was uploaded is waited for', async () => {
  // As OpenCloud: 425 in place of the file, and in the listing in place of its properties.
  await using server = await relayed((kind, path, count) => {
    if (kind === 'PROPFIND 1' && count === 2)
      return listed(`${path}upload-test-2.age`, '425 Too Early', '<d:getcontentlength>52</d:getcontentlength>');
    return (kind === 'GET' || kind === 'PUT') && count % 2 === 1 ? 425 : null;
  });
  assert.equal(await putTo(server.target), 'kept');
  assert.deepEqual(kept(server.files), [name]);
});

test('a server that says only in its listing that a folder is not there gets the folder', async () => {
  await using server = await relayed((kind, path, count) =>
    kind === 'PROPFIND 0' && count === 1 ? listed(path, '404 Not Found') : null,
  );
  assert.equal(await putTo(server.target), 'kept');
  assert.deepEqual(kept(server.files), [name]);
});

test('a server that only lets read is told as that, not as one without the folder', async () => {
  // As rclone: it knows no way to make the folder that is missing.
  await using server = await relayed((kind) => (kind === 'MKCOL' ? 405 : null));
  assert.equal(await putTo(server.target), 'forbidden');
});

test('a server that renames a small file, but not a large one, gets the backup under its own name', async () => {
  await using server = await relayed((kind, path) => (kind === 'MOVE' && !path.includes('test') ? 504 : null));
  assert.equal(await putTo(server.target), 'kept');
  assert.deepEqual(kept(server.files), [name]);
});

test('a server that says it has renamed, but has not, gets the backup under its own name', async () => {
  await using server = await relayed((kind) => (kind === 'MOVE' ? 201 : null));
  assert.equal(await putTo(server.target), 'kept');
  assert.deepEqual(kept(server.files), [name]);
});

test('an upload that fails leaves nothing behind, and says why', async () => {
  for (const [method, status, reason] of [
    ['PUT', 500, 'server_failed'],
    ['PUT', 413, 'size_limit'],
    ['GET', 403, 'forbidden'],
  ] as const) {
    await using server = await relayed((kind, path) => (kind === method && !path.includes('test') ? status : null));
    assert.equal(await putTo(server.target), reason);
    assert.deepEqual(kept(server.files), []);
  }
});

test('a server whose listing has no sizes is asked for the size of each file', async () => {
  await using server = await startWebdavServer(login, 'head');
  const target: StorageTarget = { kind: 'webdav', url: `${server.url}/`, ...login, stationId: 'id' };
  assert.equal(await putTo(target), 'kept');
  assert.deepEqual(await storageHere.ask(target, 'list', {}, options()), [{ name, bytes: 100_000 }]);
});

test('a server that says no size anywhere is told as that, not as one that altered a file', async () => {
  await using server = await startWebdavServer(login, 'nowhere');
  const target: StorageTarget = { kind: 'webdav', url: `${server.url}/`, ...login, stationId: 'id' };
  assert.equal(await putTo(target), 'no_sizes');
  assert.deepEqual(kept(server.files), []);
});
