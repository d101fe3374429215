import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BackupDestination, DestinationFault } from '../core/backup-destination.ts';
import { hashFile } from './backup-hash.ts';

export type WebdavLogin = { url: string; username: string; password: string };

/** For a call other than the transfer of a file. */
const callMs = 30_000;

/**
 * A folder of a WebDAV server (RFC 4918), such as Nextcloud or a NAS. A file is uploaded under a temporary name and moved, so that an
 * interrupted upload leaves no file that looks complete. Each upload is read back and compared.
 * Private addresses are allowed: the owner of the station chose them.
 */
export function createWebdav(login: WebdavLogin, stationId: string): BackupDestination {
  const own = `/${stationId}`;
  const call = () => ({ signal: AbortSignal.timeout(callMs) });
  // Loaded only here: stations without such a destination do not need its memory.
  const open = async () => {
    const { AuthType, createClient } = await import('webdav');
    const { url, username, password } = login;
    if (username === '') return createClient(url, { authType: AuthType.None });
    const client = createClient(url, { authType: AuthType.Auto, username, password });
    // With Digest authentication the client takes a refused login for an answer. Other faults come with the call itself.
    const probe = client.customRequest('/', { method: 'PROPFIND', headers: { depth: '0' }, ...call() });
    const answer = await probe.catch(() => null);
    if (answer?.status === 401) throw new DestinationFault('login_refused');
    return client;
  };
  return {
    place: 'webdav',
    list: () =>
      asFault(async () => {
        const client = await open();
        if (!(await client.exists(own, call()))) return [];
        const entries = await client.getDirectoryContents(own, { ...call(), details: false });
        return entries
          .filter(({ type, basename }) => type === 'file' && basename.endsWith('.age'))
          .map(({ basename: name, size: bytes }) => ({ name, bytes }));
      }),
    put: (path, name, signal) =>
      asFault(async () => {
        const client = await open();
        if (!(await client.exists(own, call()))) await client.createDirectory(own, call());
        const { size } = await stat(path);
        const temporary = `${own}/.${name}.part`;
        const sent = await client.putFileContents(temporary, createReadStream(path), {
          contentLength: size,
          overwrite: true,
          signal,
        });
        if (!sent) throw new DestinationFault('failed');
        await client.moveFile(temporary, `${own}/${name}`, call());
        const content = client.createReadStream(`${own}/${name}`, { signal }) as Readable;
        const sums = await Promise.all([hashFile(createReadStream(path)), hashFile(content)]);
        if (sums[0] === sums[1]) return;
        await client.deleteFile(`${own}/${name}`, call());
        throw new DestinationFault('altered');
      }),
    read: (name) =>
      asFault(async () => {
        const client = await open();
        if (!(await client.exists(`${own}/${name}`, call()))) throw new DestinationFault('failed');
        const content = client.createReadStream(`${own}/${name}`) as Readable;
        const passed = new PassThrough();
        void pipeline(content, passed).catch(() => undefined);
        return passed;
      }),
    remove: (name) =>
      asFault(async () => {
        const client = await open();
        if (await client.exists(`${own}/${name}`, call())) await client.deleteFile(`${own}/${name}`, call());
      }),
  };
}

async function asFault<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof DestinationFault ? error : new DestinationFault(reasonOf(error), error);
  }
}

const certificateCodes = /^(CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

function reasonOf(error: unknown): DestinationFault['reason'] {
  const { status, code } = (error ?? {}) as { status?: unknown; code?: unknown };
  // The statuses are those of RFC 4918 and RFC 9110; 404 and 405 mean that the address is no folder of a WebDAV server.
  if (status === 401 || status === 403 || status === 404 || status === 405) return 'login_refused';
  if (status === 507 || status === 413) return 'no_space';
  if (typeof status === 'number') return 'failed';
  return typeof code === 'string' && certificateCodes.test(code) ? 'certificate' : 'unreachable';
}
