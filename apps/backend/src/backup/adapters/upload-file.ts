import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Writes a piece at its place in a file that only its owner may read; what was behind it is cut off. */
export async function writePieceAt(path: string, offset: number, piece: Uint8Array): Promise<void> {
  await using file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  await file.truncate(offset);
  for (let at = 0; at < piece.length;) at += (await file.write(piece, at, piece.length - at, offset + at)).bytesWritten;
}
