import { isFolder, lockFolder, makeFolder, removeTree } from './adapters/backup-files.ts';
import { type BackupPlaces, placesIn } from './backup-places.ts';

/**
 * Runs an action that may use the scratch folder. It is empty at the start: what an interrupted job left is removed. It is removed at the end.
 * @returns null when another process has the folder.
 */
export async function withScratch<T>(
  { work, scratch }: BackupPlaces,
  action: () => Promise<T>,
  { waitMs, signal }: { waitMs: number; signal?: AbortSignal },
): Promise<T | null> {
  await makeFolder(work);
  using lock = await lockFolder(work, waitMs, signal);
  if (lock === null) return null;
  await removeTree(scratch);
  await makeFolder(scratch);
  try {
    return await action();
  } finally {
    await removeTree(scratch);
  }
}

/** Removes what an interrupted job left, unless another process works there. */
export async function removeLeftovers(dataDir: string): Promise<void> {
  const places = placesIn(dataDir);
  if (await isFolder(places.scratch)) await withScratch(places, async () => undefined, { waitMs: 0 });
}
