import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { WebDAVClient } from 'webdav';
import { DestinationFault, listedBackups, type StorageTarget } from '../core/backup-destination.ts';
import { hashFile } from './backup-hash.ts';
import { AnswerRefusedError, limitedFetch, silenceMs, withoutSilence } from './limited-fetch.ts';
import type { StorageDriver, TransferOptions } from './storage-driver.ts';

/** For a call other than the transfer of a file. */
const callMs = 30_000;

/**
 * A folder of a WebDAV server (RFC 4918), such as Nextcloud or a NAS. A file is uploaded under a temporary name and moved, so that an
 * interrupted upload leaves no file that looks complete. Each upload is read back and compared.
 * Private addresses are allowed: the owner of the station chose them. The server itself may be hostile: see `limited-fetch.ts`.
 */
export function createWebdav(target: Extract<StorageTarget, { kind: 'webdav' }>): StorageDriver {
  const own = `/${target.stationId}`;
  const call = () => ({ signal: AbortSignal.timeout(callMs) });
  const prepare = async (client: WebDAVClient): Promise<void> => {
    if (!(await client.exists(own, call()))) await client.createDirectory(own, call());
  };
  return {
    prepare: () => asFault(async () => prepare(await open(target))),
    list: () =>
      asFault(async () => {
        const client = await open(target);
        if (!(await client.exists(own, call()))) return [];
        const entries = await client.getDirectoryContents(own, { ...call(), details: false });
        return listedBackups(
          entries
            .filter(({ type, filename, basename }) => type === 'file' && filename === `${own}/${basename}`)
            .map(({ basename: name, size: bytes }) => ({ name: String(name), bytes })),
        );
      }),
    put: (path, name, options) =>
      asFault(async () => {
        const client = await open(target);
        await prepare(client);
        const { size } = await stat(path);
        const temporary = `${own}/.${name}.part`;
        const source = Readable.from(counted(createReadStream(path), options));
        const headers = { 'Content-Length': String(size) };
        const sent = await client.putFileContents(temporary, source, { headers, signal: options.signal });
        if (!sent) throw new DestinationFault('failed');
        await client.moveFile(temporary, `${own}/${name}`, call());
        const content = await contentOf(client, `${own}/${name}`, options);
        const sums = await Promise.all([hashFile(createReadStream(path)), hashFile(atMost(content, size, options))]);
        if (sums[0] === sums[1]) return;
        await client.deleteFile(`${own}/${name}`, call());
        throw new DestinationFault('altered');
      }),
    read: (name, options) =>
      asFault(async () => {
        const client = await open(target);
        return contentOf(client, `${own}/${name}`, options);
      }),
    remove: (name) =>
      asFault(async () => {
        const client = await open(target);
        if (await client.exists(`${own}/${name}`, call())) await client.deleteFile(`${own}/${name}`, call());
      }),
    state: async () => 'ready',
    mark: async () => '',
  };
}

async function open({ url, username, password }: Extract<StorageTarget, { kind: 'webdav' }>): Promise<WebDAVClient> {
  // Loaded only here: stations without such a destination do not need its memory.
  const { AuthType, createClient, getPatcher } = await import('webdav');
  getPatcher().patch('fetch', limitedFetch as never);
  if (username === '') return createClient(url, { authType: AuthType.None });
  const client = createClient(url, { authType: AuthType.Auto, username, password });
  // With Digest authentication the client takes a refused login for an answer. Other faults come with the call itself.
  const signal = AbortSignal.timeout(callMs);
  const probe = client.customRequest('/', { method: 'PROPFIND', headers: { depth: '0' }, signal });
  const answer = await probe.catch((error: unknown) => {
    if (error instanceof AnswerRefusedError) throw error;
    return null;
  });
  if (answer?.status === 401) throw new DestinationFault('login_refused');
  return client;
}

/** The content of a file; an error when the server is silent for a minute. */
async function contentOf(client: WebDAVClient, path: string, { signal }: TransferOptions): Promise<Readable> {
  const begun = AbortSignal.timeout(silenceMs);
  const ending = new AbortController();
  const stop = (): void => ending.abort(new Error('The server does not answer'));
  begun.addEventListener('abort', stop);
  const answered = client.customRequest(path, { method: 'GET', signal: AbortSignal.any([signal, ending.signal]) });
  const response = (await answered) as unknown as Response;
  begun.removeEventListener('abort', stop);
  if (!response.ok || response.body === null) throw new DestinationFault('failed');
  return Readable.from(withoutSilence(response.body, silenceMs), { objectMode: false });
}

/** A file that does not end is another one. */
async function* atMost(
  content: AsyncIterable<Buffer>,
  bytes: number,
  { onProgress }: TransferOptions,
): AsyncGenerator<Buffer> {
  let done = 0;
  for await (const chunk of content) {
    done += chunk.length;
    if (done > bytes) throw new DestinationFault('altered');
    onProgress(done);
    yield chunk;
  }
}

async function* counted(content: AsyncIterable<Buffer>, { onProgress }: TransferOptions): AsyncGenerator<Buffer> {
  let done = 0;
  for await (const chunk of content) {
    done += chunk.length;
    onProgress(done);
    yield chunk;
  }
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
  if (error instanceof AnswerRefusedError) return 'failed';
  const { status } = (error ?? {}) as { status?: unknown };
  // The statuses are those of RFC 4918 and RFC 9110; 404 and 405 mean that the address is no folder of a WebDAV server.
  if (status === 401 || status === 403 || status === 404 || status === 405) return 'login_refused';
  if (status === 507 || status === 413) return 'no_space';
  if (typeof status === 'number') return 'failed';
  return certificateCodes.test(codeOf(error)) ? 'certificate' : 'unreachable';
}

/** `fetch` has it in the cause. */
function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) if ('code' in at) return String(at.code);
  return '';
}
