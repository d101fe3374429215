import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import {
  DestinationFault,
  isBackupFileName,
  listedBackups,
  type StorageTarget,
  type StoredBackup,
} from '../../core/backup-destination.ts';
import { hashFile } from './backup-hash.ts';
import { AnswerRefusedError, silenceMs, withoutSilence } from './limited-fetch.ts';
import type { StorageDriver, TransferOptions } from './storage-driver.ts';
import { faultOfCode } from './webdav-fault-decide.ts';
import { createWebdavFolder, type WebdavFolder } from './webdav-folder.ts';
import type { WebdavEntry } from './webdav-listing.ts';

/** A process that was cancelled is killed after 5 s. */
const clearMs = 4_000;
const mostListings = 4;
const betweenListingsMs = 1_000;
const probeText = 'The station tries whether backups can be kept here.\n';

/**
 * While a backup is not complete, a file of this name says so. It has no dot in front and the ending of a backup, because servers forbid
 * names: `.part` in Nextcloud and ownCloud, a dot in front at many others.
 */
const uploadOf = (name: string): string => `upload-${name}`;
const uploadPattern = /^upload-(?<name>station-.*)$/;
/** What earlier releases left behind. */
const formerPattern = /^\.(?<name>station-.*\.age)\.part$/;
const probesOf = (prefix: string) => ({ first: `${prefix}-1.age`, second: `${prefix}-2.age` });
const uploadProbe = 'upload-test';

/**
 * A folder of a WebDAV server (RFC 4918), such as Nextcloud or a NAS. A backup is uploaded under another name and renamed where the server
 * can do that, else under its own name beside a mark; what was interrupted is removed. Each upload is read back and compared.
 * Private addresses are allowed: the owner of the station chose them. The server itself may be hostile: see `limited-fetch.ts`.
 */
export function createWebdav(target: Extract<StorageTarget, { kind: 'webdav' }>): StorageDriver {
  const open = (ending?: AbortSignal): WebdavFolder => createWebdavFolder(target.url, target.stationId, target, ending);
  return {
    prepare: () => asFault(() => open().make()),
    check: () =>
      asFault(async () => {
        const folder = open();
        await folder.make();
        await probe(folder, 'save-test', new AbortController().signal);
      }),
    tidy: () => asFault(() => tidy(open())),
    list: () => asFault(() => list(open())),
    put: (path, name, options) => asFault(() => put(open(options.signal), path, name, options)),
    read: (name, options) => asFault(() => contentOf(open(), name, options.signal)),
    remove: (name) => asFault(() => open().remove(name)),
    state: async () => 'ready',
    mark: async () => '',
  };
}

async function list(folder: WebdavFolder): Promise<StoredBackup[]> {
  const sized: WebdavEntry[] = [];
  for (const file of (await folder.files()) ?? [])
    if (isBackupFileName(file.name)) sized.push(await folder.sized(file));
  return listedBackups(sized);
}

/** Writes, renames, lists, reads and removes a small file. @returns whether the server renames. @throws what it cannot do else. */
async function probe(folder: WebdavFolder, prefix: string, signal: AbortSignal): Promise<boolean> {
  const { first, second } = probesOf(prefix);
  try {
    await folder.write(first, probeText);
    const isAnswered = await folder.rename(first, second).catch((error: unknown) => {
      if (error instanceof DestinationFault) throw error;
      return false;
    });
    const sizes = await sizesWith(folder, isAnswered ? second : first);
    const isRenamed = isAnswered && sizes.has(second) && !sizes.has(first);
    const kept = isRenamed ? second : first;
    if (!sizes.has(kept)) throw new DestinationFault('not_webdav');
    const content = await contentOf(folder, kept, signal);
    const read = await text(atMost(content, probeText.length, () => undefined));
    const size = sizes.get(kept) ?? Number.NaN;
    if (read === probeText && Number.isNaN(size)) throw new DestinationFault('no_sizes');
    if (read !== probeText || size !== probeText.length) throw new DestinationFault('altered');
    for (const name of [first, second]) if (sizes.has(name)) await folder.remove(name);
    return isRenamed;
  } catch (error) {
    await clear(folder, [first, second]);
    throw error;
  }
}

/** Sizes of the files by name. Some clouds list a new file, or its size, a moment later. */
async function sizesWith(folder: WebdavFolder, expected: string): Promise<Map<string, number>> {
  for (let tries = 1; ; tries++) {
    const sizes = new Map<string, number>();
    for (const file of (await folder.files()) ?? []) {
      const { name, bytes } = file.name === expected ? await folder.sized(file) : file;
      sizes.set(name, bytes);
    }
    if (!Number.isNaN(sizes.get(expected) ?? Number.NaN) || tries === mostListings) return sizes;
    await pause(betweenListingsMs);
  }
}

/** As far as it can be done before the process is killed; the next upload does the rest. */
async function clear(folder: WebdavFolder, names: readonly string[]): Promise<void> {
  const limit = AbortSignal.timeout(clearMs);
  for (const name of names) {
    const isGone = await folder.remove(name, limit).then(
      () => true,
      () => false,
    );
    // The mark goes last: without it a part would look complete.
    if (!isGone) return;
  }
}

async function put(folder: WebdavFolder, path: string, name: string, options: TransferOptions): Promise<void> {
  const { signal, onProgress } = options;
  await folder.make();
  onProgress(0);
  await tidy(folder);
  onProgress(0);
  const isRenamed = await probe(folder, uploadProbe, signal);
  onProgress(0);
  const upload = uploadOf(name);
  try {
    const bytes = await send(folder, path, { upload, name, isRenamed }, options);
    const content = await contentOf(folder, name, signal);
    const sums = await Promise.all([hashFile(createReadStream(path)), hashFile(atMost(content, bytes, onProgress))]);
    if (sums[0] !== sums[1]) throw new DestinationFault('altered');
    // The mark, or what a server that copies to rename has left.
    if ((await folder.files())?.some((file) => file.name === upload) === true) await folder.remove(upload);
  } catch (error) {
    await clear(folder, [name, upload]);
    throw error;
  }
}

/** Each step counts as progress: a server may be slow at every one of them. @returns the size of the file. */
async function send(
  folder: WebdavFolder,
  path: string,
  { upload, name, isRenamed }: { upload: string; name: string; isRenamed: boolean },
  { signal, onProgress }: TransferOptions,
): Promise<number> {
  const { size: bytes } = await stat(path);
  const body = { open: () => Readable.from(reported(createReadStream(path), onProgress)), bytes };
  await folder.write(upload, isRenamed ? body : probeText, signal);
  onProgress(bytes);
  if (!isRenamed || !(await folder.rename(upload, name))) await folder.write(name, body, signal);
  onProgress(bytes);
  return bytes;
}

/** Removes what interrupted uploads left, also those of a process that was killed. */
async function tidy(folder: WebdavFolder): Promise<void> {
  const names = (await folder.files())?.map(({ name }) => name) ?? [];
  const probes = Object.values(probesOf(uploadProbe));
  for (const found of names) {
    const whole = uploadPattern.exec(found)?.groups?.['name'] ?? '';
    if (isBackupFileName(whole) && names.includes(whole)) await folder.remove(whole);
    const former = formerPattern.exec(found)?.groups?.['name'] ?? '';
    if (isBackupFileName(whole) || isBackupFileName(former) || probes.includes(found)) await folder.remove(found);
  }
}

/** The content of a file; an error when the server is silent for a minute. */
async function contentOf(folder: WebdavFolder, name: string, signal: AbortSignal): Promise<Readable> {
  const begun = AbortSignal.timeout(silenceMs);
  const ending = new AbortController();
  const stop = (): void => ending.abort(new Error('The server does not answer'));
  begun.addEventListener('abort', stop);
  const content = await folder.read(name, AbortSignal.any([signal, ending.signal]));
  begun.removeEventListener('abort', stop);
  return Readable.from(withoutSilence(content, silenceMs), { objectMode: false });
}

/** A file that does not end is another one. */
async function* atMost(
  content: AsyncIterable<Buffer>,
  bytes: number,
  onProgress: TransferOptions['onProgress'],
): AsyncGenerator<Buffer> {
  for await (const { chunk, done } of counted(content)) {
    if (done > bytes) throw new DestinationFault('altered');
    onProgress(done);
    yield chunk;
  }
}

async function* reported(
  content: AsyncIterable<Buffer>,
  onProgress: TransferOptions['onProgress'],
): AsyncGenerator<Buffer> {
  for await (const { chunk, done } of counted(content)) {
    onProgress(done);
    yield chunk;
  }
}

async function* counted(content: AsyncIterable<Buffer>): AsyncGenerator<{ chunk: Buffer; done: number }> {
  let done = 0;
  for await (const chunk of content) {
    done += chunk.length;
    yield { chunk, done };
  }
}

async function asFault<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof DestinationFault ? error : new DestinationFault(reasonOf(error), error);
  }
}

function reasonOf(error: unknown): DestinationFault['reason'] {
  if (error instanceof AnswerRefusedError) return 'failed';
  return faultOfCode(codeOf(error));
}

/** `fetch` has it in the cause. */
function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) if ('code' in at) return String(at.code);
  return '';
}
