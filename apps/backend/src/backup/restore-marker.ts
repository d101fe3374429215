import { Type, type Static } from 'typebox';
import { dirname } from 'node:path';
import { type Disk, removeDurable } from '@station/kit/durable-files';
import { createJsonFile } from '@station/kit/durable-json';
import { RestorePart } from '@station/protocol/backups';
import type { BackupPlaces } from './backup-places.ts';

/** How far a restore is; `restore-decide.ts` has what follows. */
export const RestoreMarker = Type.Object({
  phase: Type.Enum(['ready', 'moving_in', 'trial', 'undoing', 'moving_back']),
  /** Null: everything. */
  parts: Type.Union([Type.Array(RestorePart), Type.Null()]),
  /** Starts with the restored data that did not succeed. */
  starts: Type.Integer(),
  backup: Type.Object({ stationId: Type.String(), createdAt: Type.String(), version: Type.String() }),
  at: Type.String(),
});
export type RestoreMarker = Static<typeof RestoreMarker>;

export type RestoreMarkerFile = {
  /** Null: there is no restore. */
  read(): Promise<RestoreMarker | null>;
  /** Resolved means on disk. */
  write(marker: RestoreMarker): Promise<void>;
  remove(): Promise<void>;
};

export function openRestoreMarker(disk: Disk, { marker: path }: Pick<BackupPlaces, 'marker'>): RestoreMarkerFile {
  const file = createJsonFile({ disk, path, schema: RestoreMarker });
  return {
    read: async () => {
      const reading = await file.read();
      // It is replaced by a rename, so only a damaged disk leaves a part. Neither side may be guessed then.
      if (reading.kind === 'damaged') {
        throw new Error(
          `restore.json is damaged (${reading.reason}). Restore the backup again into an empty DATA_DIR, or remove the file to start with the data as it is`,
        );
      }
      return reading.kind === 'ok' ? reading.value : null;
    },
    write: (marker) => file.write(marker),
    remove: async () => {
      if ((await disk.list(dirname(path))).length > 0) await removeDurable(disk, path);
    },
  };
}
