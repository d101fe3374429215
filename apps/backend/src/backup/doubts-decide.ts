import type { RestoreDoubt } from '@station/protocol/backup-api';

/** Between the choice of a name and the making of the backup. */
const graceMs = 60_000;

/**
 * What a person must know before a backup is restored. A storage can offer another backup with the same passphrase under any name: of
 * another station, or an old one. What is encrypted tells the truth.
 * @param own id of the station; null: it has no owner yet, and becomes the one of the backup.
 * @param namedAt time in the name of the file, ISO 8601; null: the name has none.
 */
export function doubtsOf(
  manifest: { stationId: string; createdAt: string },
  { own, namedAt }: { own: string | null; namedAt: string | null },
): RestoreDoubt[] {
  const doubts: RestoreDoubt[] = [];
  if (own !== null && manifest.stationId !== own) doubts.push('other_station');
  const offMs = namedAt === null ? 0 : Date.parse(manifest.createdAt) - Date.parse(namedAt);
  if (offMs < -graceMs) doubts.push('older_than_name');
  if (offMs > graceMs) doubts.push('newer_than_name');
  return doubts;
}
