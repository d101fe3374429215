import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { noProxy } from '@station/kit/outgoing-proxy';
import { createStorageProcess } from '@station/backend/backup/adapters/storage-process';
import { storageHere } from '@station/backend/backup/adapters/storage-here';
import { readWebdavAddress } from '@station/backend/backup/webdav-address-decide';
import { DestinationFault, type StorageTarget } from '@station/backend/core/backup-destination';
import { run } from '../../rig/program.ts';
import {
  login,
  startApacheWebdav,
  startLighttpdWebdav,
  startNginxWebdav,
  startRcloneWebdav,
  startSabreWebdav,
  startTlsProxy,
  type WebdavServer,
} from '../../rig/webdav-server.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';

// The servers that people have, and what they do otherwise than RFC 4918 says: each is a report of somebody whose backups failed.

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const name = 'station-x-20260101T000000Z.age';
const later = 'station-x-20260102T000000Z.age';
const options = () => ({ signal: new AbortController().signal });
const reasonOf = (error: unknown): string => (error instanceof DestinationFault ? error.reason : String(error));

describe('WebDAV servers', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  const usualAuthorities = getCACertificates('default');
  let workspace: Workspace;
  let path = '';
  let content = Buffer.alloc(0);

  before(async () => {
    workspace = life.use(await createWorkspace());
    path = join(workspace.folder, 'backup.age');
    content = randomBytes(700_000);
    await writeFile(path, content);
  });
  after(async () => {
    setDefaultCACertificates(usualAuthorities);
    await life.disposeAsync();
  });

  /** @param typed as a person types the address, below that of the server. */
  const targetAt = (server: Pick<WebdavServer, 'url'>, typed = '', account = login): StorageTarget => {
    const url = readWebdavAddress(`${server.url}${typed}`)?.url ?? '';
    return { kind: 'webdav', url, ...account, stationId };
  };
  const put = (target: StorageTarget, file = name) => storageHere.ask(target, 'put', { path, name: file }, options());
  const faultOf = (target: StorageTarget, call: 'check' | 'list' = 'check') =>
    storageHere.ask(target, call, {}, options()).then(() => 'none', reasonOf);
  const filesIn = async ({ files }: WebdavServer): Promise<string[]> => {
    const found = await readdir(files, { recursive: true, withFileTypes: true });
    return found.filter((entry) => entry.isFile() && !entry.parentPath.includes('/.')).map((entry) => entry.name);
  };
  const keepAndRestore = async (server: WebdavServer, typed = '', names = [name]): Promise<void> => {
    const target = targetAt(server, typed);
    assert.equal(await faultOf(target), 'none');
    for (const file of names) await put(target, file);
    const bytes = content.length;
    const listed = names.map((file) => ({ name: file, bytes })).toReversed();
    assert.deepEqual(await storageHere.ask(target, 'list', {}, options()), listed);
    assert.deepEqual((await filesIn(server)).toSorted(), names, 'nothing else stays');
    assert.ok((await buffer(await storageHere.read(target, name, options()))).equals(content));
    for (const file of names) await storageHere.ask(target, 'remove', { name: file }, options());
    assert.deepEqual(await storageHere.ask(target, 'list', {}, options()), []);
    assert.deepEqual(await filesIn(server), []);
  };

  /** As people type them: folders that are not there yet, in their own letters, with and without slashes. */
  const addresses = [
    'Sicherungen/Häuser [alt]',
    'Sicherungen/Häuser%20%5Balt%5D/',
    '/Резервні копії//станція',
    "50% neu+alt#2 & 'alt'/100%25 sicher (1);=@,~!",
    'not there/yet/at/all/',
  ];
  const [first = ''] = addresses;
  const kinds: readonly (readonly [string, (workspace: Workspace) => Promise<WebdavServer>, readonly string[]])[] = [
    ['Apache with Basic', (here) => startApacheWebdav(here), addresses],
    ['Apache with Digest', (here) => startApacheWebdav(here, { login: 'Digest' }), [first]],
    ['nginx, which gives no name with a dot in front', (here) => startNginxWebdav(here), addresses.slice(2, 4)],
    ['lighttpd with Basic', (here) => startLighttpdWebdav(here), addresses.slice(2, 4)],
    ['lighttpd with Digest and SHA-256', (here) => startLighttpdWebdav(here, { login: 'Digest' }), [first]],
    ['rclone', startRcloneWebdav, addresses],
    ["sabre/dav with Nextcloud's rules for names", (here) => startSabreWebdav(here), addresses],
    ['sabre/dav with Digest', (here) => startSabreWebdav(here, { login: 'Digest' }), [first]],
  ];
  for (const [kind, start, typedOnes] of kinds)
    it(`keep a backup, list it, give it back and remove it: ${kind}`, async () => {
      await using server = await start(workspace);
      await keepAndRestore(server, '', [name, later]);
      const wrong = { ...login, password: 'wrong' };
      assert.equal(await faultOf(targetAt(server, '', wrong)), 'login_refused');
      assert.equal(await faultOf(targetAt(server, '', wrong), 'list'), 'login_refused');
      for (const typed of typedOnes) await keepAndRestore(server, typed);
    });

  it('behind a proxy that ends TLS they keep backups, also the one that takes no address of https to rename', async () => {
    for (const start of [startSabreWebdav, startApacheWebdav]) {
      await using behind = await start(workspace);
      await using server = await startTlsProxy(workspace, behind);
      assert.equal(await faultOf(targetAt(server)), 'certificate');
      const authorities = getCACertificates('default');
      setDefaultCACertificates([...authorities, await readFile(server.authority, 'utf8')]);
      await keepAndRestore(server, 'station/дім');
      setDefaultCACertificates(authorities);
      if (start === startApacheWebdav)
        assert.equal(await inProcess({ NODE_EXTRA_CA_CERTS: server.authority }, targetAt(server)), 'none');
      const renames = (await behind.requests()).filter((line) => line.startsWith('MOVE '));
      if (start === startApacheWebdav)
        assert.ok(
          renames.every((line) => / 502 /.test(line)),
          renames.join('\n'),
        );
    }
  });

  const refused = [400, 403, 405, 409, 412, 415, 423, 500, 501, 502, 503];
  it('that refuse to rename get the file under its own name, and keep no part of it', async () => {
    const settings = refused.flatMap((status) => [
      'RewriteCond %{REQUEST_METHOD} =MOVE',
      `RewriteRule ^/renames-${status}/ - [R=${status}]`,
    ]);
    await using server = await startApacheWebdav(workspace, { settings: ['RewriteEngine On', ...settings].join('\n') });
    for (const status of refused) {
      const typed = `renames-${status}`;
      await put(targetAt(server, typed));
      assert.deepEqual(await readdir(join(server.files, typed, stationId)), [name]);
    }
    // What was interrupted has a mark beside it; the next upload removes both.
    const target = targetAt(server, 'renames-405');
    const own = join(server.files, 'renames-405', stationId);
    const left = [`upload-${later}`, later, `.${later}.part`, 'upload-test-1.age'];
    for (const file of left) await writeFile(join(own, file), 'a part');
    await writeFile(join(own, 'of somebody else.age'), '');
    await allow(server.files);
    await put(target);
    assert.deepEqual((await readdir(own)).toSorted(), ['of somebody else.age', name].toSorted());
  });

  it('keep nothing of an upload that is cancelled', async () => {
    const settings = 'RewriteEngine On\nRewriteCond %{REQUEST_METHOD} =MOVE\nRewriteRule ^/own/ - [R=405]';
    await using server = await startApacheWebdav(workspace, { settings });
    const large = join(workspace.folder, 'large.age');
    await writeFile(large, randomBytes(20_000_000));
    for (const typed of ['renamed', 'own']) {
      const ending = new AbortController();
      const onProgress = (done: number): void => {
        if (done > 0) ending.abort(new Error('Cancelled'));
      };
      const given = { path: large, name };
      await assert.rejects(
        storageHere.ask(targetAt(server, typed), 'put', given, { signal: ending.signal, onProgress }),
      );
      assert.deepEqual(await filesIn(server), []);
    }
  });

  it('keep nothing of an upload whose process was killed, once the next one begins', async () => {
    const settings = 'RewriteEngine On\nRewriteCond %{REQUEST_METHOD} =MOVE\nRewriteRule ^/ - [R=405]';
    await using server = await startApacheWebdav(workspace, { settings });
    // Far more than is sent before the process ends.
    const large = join(workspace.folder, 'large.age');
    await writeFile(large, '');
    await truncate(large, 2 ** 30);
    const target = targetAt(server);
    const onProgress = (done: number): void => {
      if (done > 0) killUploads();
    };
    const given = { path: large, name };
    await assert.rejects(createStorageProcess(noProxy).ask(target, 'put', given, { ...options(), onProgress }));
    assert.ok((await filesIn(server)).includes(`upload-${name}`), 'its mark is there');
    await storageHere.ask(target, 'tidy', {}, options());
    assert.deepEqual(await filesIn(server), []);
  });

  it('that take no file of this size, or have no room for it, say so', async () => {
    const limits = { mostBytes: 100_000 };
    for (const [expected, start] of [
      ['size_limit', () => startApacheWebdav(workspace, limits)],
      ['size_limit', () => startNginxWebdav(workspace, limits)],
      ['size_limit', () => startLighttpdWebdav(workspace, limits)],
      ['no_space', () => startSabreWebdav(workspace, { quotaBytes: 100_000 })],
    ] as const) {
      await using server = await start();
      const target = targetAt(server);
      assert.equal(await put(target).then(String, reasonOf), expected);
      assert.deepEqual(await filesIn(server), []);
    }
  });

  it('say what is wrong, and it is told apart', async () => {
    const answers = [
      ['PROPFIND', 405, 'not_webdav'],
      ['PROPFIND', 501, 'not_webdav'],
      ['PROPFIND', 403, 'forbidden'],
      ['PROPFIND', 502, 'proxy'],
      ['PROPFIND', 503, 'server_busy'],
      ['MKCOL', 403, 'forbidden'],
      ['MKCOL', 507, 'no_space'],
      ['MKCOL', 400, 'name_refused'],
      ['PUT', 400, 'name_refused'],
      ['PUT', 403, 'forbidden'],
      ['PUT', 405, 'forbidden'],
      ['PUT', 413, 'size_limit'],
      ['PUT', 423, 'locked'],
      ['PUT', 500, 'server_failed'],
      ['PUT', 504, 'proxy'],
      ['PUT', 507, 'no_space'],
      ['GET', 403, 'forbidden'],
      ['DELETE', 403, 'forbidden'],
    ] as const;
    const settings = answers.flatMap(([method, status]) => [
      `RewriteCond %{REQUEST_METHOD} =${method}`,
      `RewriteRule ^/${method}-${status}/ - [R=${status}]`,
    ]);
    const more = ['RewriteEngine On', ...settings, 'RewriteRule ^/elsewhere/(.*) https://localhost/$1 [R=301]'];
    await using server = await startApacheWebdav(workspace, { settings: more.join('\n') });
    for (const [method, status, expected] of answers)
      assert.equal(await faultOf(targetAt(server, `${method}-${status}`)), expected, `${method} ${status}`);
    assert.equal(await faultOf(targetAt(server, 'elsewhere/')), 'redirected');
    assert.equal(await faultOf(targetAt({ url: 'http://no-such-server.invalid/' })), 'host_unknown');
    assert.equal(await faultOf(targetAt({ url: 'http://127.0.0.1:9/' })), 'unreachable');
    assert.equal(await faultOf(targetAt({ url: server.url.replace('http', 'https') })), 'no_tls');
    await using page = await startNginxWebdav(workspace, { settings: 'location /page/ { return 200 "hello"; }' });
    assert.equal(await faultOf(targetAt(page, 'page')), 'not_webdav');
  });

  it('get the password only as Digest where they take that, and a length with each file', async () => {
    await using server = await startApacheWebdav(workspace, { login: 'Digest' });
    await put(targetAt(server));
    const requests = await server.requests();
    assert.ok(requests.some((line) => line.startsWith(`PUT /${stationId}/upload-${name} 201 Digest `)));
    for (const line of requests) assert.doesNotMatch(line, /Basic|chunked/);
    for (const line of requests.filter((one) => one.startsWith('PUT '))) assert.match(line, / length=[1-9]\d*$/);
  });
});

/** The process of a storage has no environment, and trusts what its parent trusts. */
function inProcess(env: Record<string, string>, target: StorageTarget): Promise<string> {
  const job = `
    const { createStorageProcess } = await import('@station/backend/backup/adapters/storage-process');
    const ask = createStorageProcess(${JSON.stringify(noProxy)}).ask(${JSON.stringify(target)}, 'check', {}, { signal: new AbortController().signal });
    console.log(await ask.then(() => 'none', ({ reason }) => reason));`;
  return run(process.execPath, ['--input-type=module', '-e', job], { cwd: import.meta.dirname, env });
}

/** The servers run as nobody. */
async function allow(folder: string): Promise<void> {
  if (process.getuid?.() === 0) await run('chown', ['-R', '65534:65534', folder]);
}

function killUploads(): void {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ');
  for (const child of children)
    if (readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('urgent-job')) process.kill(Number(child), 'SIGKILL');
}
