import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';

/** Written in pieces, so that the last fsync does not stop everything else on an SD card for long. */
const syncEveryBytes = 32 * 1024 * 1024;

/**
 * Writes a new file that only its owner may read; what has its name is removed, and not written to. Resolved means that its content is on disk; its name is once the folder is synced.
 * @returns its size in bytes. @throws the file system's error, or that of `content`.
 */
export async function writeChunks(path: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  await rm(path, { force: true });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  await using file = await open(path, flags, 0o600);
  let written = 0;
  let unsynced = 0;
  for await (const chunk of content) {
    await writeAll(file, chunk);
    written += chunk.length;
    unsynced += chunk.length;
    if (unsynced < syncEveryBytes) continue;
    await file.datasync();
    unsynced = 0;
  }
  await file.sync();
  return written;
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length;) at += (await file.write(chunk, at)).bytesWritten;
}
