import { join } from 'node:path';
import { readText, temporaryPath, writeDurable } from '@station/kit/durable-files';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { clearPath, type Patience } from './unreadable-files.ts';
import type { CacheDisk } from './firmware-ports.ts';

/** What must be known to go on with a download after the agent, or the machine, has ended in the middle of it. */
const Note = Type.Object({
  url: Type.String(),
  etag: Type.Union([Type.String(), Type.Null()]),
  totalBytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  /** Boot in which it was written. In a later one only what was synced is believed: the power may have been cut. */
  bootId: Type.String(),
  syncedBytes: Type.Integer({ minimum: 0 }),
});
export type PartialNote = Static<typeof Note>;

/** An unfinished download in the cache's folder: `.<sha256>.part` and its note. The name is the content it is to have. */
export type Partial = {
  path: string;
  /** Bytes that may be built on, and the note that belongs to them; the file is cut to them. A note that is lost takes them with it. */
  open(bootId: string, patience: Patience): Promise<{ bytes: number; note: PartialNote | null }>;
  note(note: PartialNote): Promise<void>;
  discard(): Promise<void>;
};

/** @param checksum 64 hex digits. */
export function createPartial(disk: CacheDisk, directory: string, checksum: string): Partial {
  const path = join(directory, `.${checksum}.part`);
  const notePath = `${path}.json`;
  const discard = async (): Promise<void> => {
    // The note last: without it the rest counts for nothing.
    await clearPath(disk, path);
    await clearPath(disk, temporaryPath(notePath));
    await clearPath(disk, notePath);
  };
  return {
    path,
    discard,
    note: (note) => writeDurable(disk, notePath, `${JSON.stringify(note)}\n`),
    open: async (bootId, patience) => {
      const reading = await patience(notePath, () => readNote(disk, notePath));
      if (reading.kind === 'lost') await discard();
      const note = reading.kind === 'lost' ? null : reading.value;
      const size = await disk.size(path);
      const kept =
        note === null || size === null ? 0 : note.bootId === bootId ? size : Math.min(note.syncedBytes, size);
      if (note !== null && kept > 0) {
        if (kept < (size ?? 0)) await disk.truncate(path, kept);
        return { bytes: kept, note };
      }
      if (size !== null) await clearPath(disk, path);
      return { bytes: 0, note: null };
    },
  };
}

/** Checksums of the unfinished downloads in a folder. */
export async function listPartials(disk: CacheDisk, directory: string): Promise<string[]> {
  const found = (await disk.list(directory)).map(
    (file) => /^\.{1,2}([0-9a-f]{64})\.part(\.json)?(\.tmp)?$/.exec(file)?.[1],
  );
  return [...new Set(found.filter((checksum) => checksum !== undefined))];
}

async function readNote(disk: CacheDisk, path: string): Promise<PartialNote | null> {
  try {
    const parsed: unknown = JSON.parse((await readText(disk, path)) ?? '');
    return Value.Check(Note, parsed) ? parsed : null;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}
