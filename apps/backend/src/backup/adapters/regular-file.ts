import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * Opens a file to read it. A link, a device or a pipe is refused: it may wait for ever, never end, or be somebody else's file.
 * @throws the file system's error; ELOOP for a link, EINVAL for what is no file.
 */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw Object.assign(new Error('This is not a regular file'), { code: 'EINVAL' });
}
