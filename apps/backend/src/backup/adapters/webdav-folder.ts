import { DestinationFault } from '../../core/backup-destination.ts';
import { createWebdavClient, type Webdav, type WebdavRequest } from './webdav-client.ts';
import { faultOfStatus, type WebdavStep } from './webdav-fault-decide.ts';
import { filesOf, listingRequest, listsOnlyMissing, type WebdavEntry } from './webdav-listing.ts';
import type { WebdavLogin } from './webdav-login.ts';

/** For a call other than the transfer of a file. A NAS may have to start its disks first. */
const callMs = 30_000;
/** Some servers copy a whole file to rename it; the process is killed after 90 s without progress. */
const renameMs = 80_000;

/** One folder of a WebDAV server. @throws DestinationFault, or the error of a request. */
export type WebdavFolder = {
  /** Makes it, with the folders above it. */
  make(): Promise<void>;
  /** Its files; null: there is no such folder. Sizes that the listing does not have are NaN. */
  files(): Promise<WebdavEntry[] | null>;
  /** The same file with the size that the server tells of it alone; NaN: not there either. */
  sized(file: WebdavEntry): Promise<WebdavEntry>;
  write(name: string, body: NonNullable<WebdavRequest['body']>, signal?: AbortSignal): Promise<void>;
  /** Whether the server did it. */
  rename(from: string, to: string): Promise<boolean>;
  read(name: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /** Nothing happens when there is no such file. */
  remove(name: string, signal?: AbortSignal): Promise<void>;
};

/** @param base address with a slash at its end. @param name of the folder in it, in ASCII. @param ending ends every call. */
export function createWebdavFolder(base: string, name: string, login: WebdavLogin, ending?: AbortSignal): WebdavFolder {
  const folder = new URL(`${name}/`, base);
  const send = createWebdavClient(login, { isSecure: folder.protocol === 'https:' });
  const at = (file: string): URL => new URL(file, folder);
  const within = (mostMs = callMs): AbortSignal =>
    AbortSignal.any([AbortSignal.timeout(mostMs), ...(ending === undefined ? [] : [ending])]);
  const look = (url: URL, depth: '0' | '1'): Promise<Response> =>
    send('PROPFIND', url, {
      headers: { depth, 'content-type': 'application/xml; charset=utf-8' },
      body: listingRequest,
      signal: within(),
    });
  return {
    make: () => makeFolder(folder, { send, look, within }),
    files: async () => {
      const answer = await look(folder, '1');
      if (isMissing(answer)) return null;
      expectStatus('look', answer, answer.status === 207);
      return filesOf(await answer.text(), folder);
    },
    sized: async (file) => {
      if (!Number.isNaN(file.bytes)) return file;
      const { ok, headers } = await send('HEAD', at(file.name), { signal: within() });
      const length = ok ? headers.get('content-length') : null;
      return { name: file.name, bytes: Number(length ?? Number.NaN) };
    },
    write: async (file, body, signal) => {
      const headers = { 'content-type': 'application/octet-stream' };
      expectStatus('write', await send('PUT', at(file), { headers, body, signal: signal ?? within() }));
    },
    rename: async (from, to) => {
      const headers = { destination: at(to).href, overwrite: 'T' };
      const { ok, status } = await send('MOVE', at(from), { headers, signal: within(renameMs) });
      if (status === 401 || status === 507) throw new DestinationFault(faultOfStatus('write', status));
      return ok && status !== 207;
    },
    read: async (file, signal) => {
      const answer = await send('GET', at(file), { signal });
      expectStatus('read', answer);
      return (answer.body ?? []) as AsyncIterable<Buffer>;
    },
    remove: async (file, signal) => {
      const answer = await send('DELETE', at(file), { signal: signal ?? within() });
      expectStatus('remove', answer, (answer.ok && answer.status !== 207) || isMissing(answer));
    },
  };
}

/** 409: nginx and others say so of what is in a folder that is not there. */
const isMissing = ({ status }: Response): boolean => status === 404 || status === 409 || status === 410;

function expectStatus(step: WebdavStep, { ok, status }: Response, isRight = ok): void {
  if (!isRight) throw new DestinationFault(faultOfStatus(step, status));
}

type Calls = { send: Webdav; look: (url: URL, depth: '0') => Promise<Response>; within: () => AbortSignal };

/** Only folders that are missing are made: the upper ones of a server often may not even be looked at. */
async function makeFolder(url: URL, calls: Calls): Promise<void> {
  const there = await calls.look(url, '0');
  if (!isMissing(there)) {
    expectStatus('look', there, there.status === 207);
    if (!(await listsOnlyMissing(await there.text()))) return;
  }
  const open = async (): Promise<Response> => calls.send('MKCOL', url, { signal: calls.within() });
  const made = await open();
  if (!isMissing(made)) {
    // 405 is the answer for a folder that is there (RFC 4918, section 9.3.1), made by somebody else meanwhile.
    const isThere = made.status === 405 && !isMissing(await calls.look(url, '0'));
    return expectStatus('open', made, made.ok || isThere);
  }
  const above = new URL('..', url);
  if (above.href === url.href) throw new DestinationFault('not_found');
  await makeFolder(above, calls);
  expectStatus('open', await open());
}
