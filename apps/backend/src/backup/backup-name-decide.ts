/** Names of backup files: `station-<name>-<time>.age`, of which the time sorts. */

const namePattern = /^station-([a-z0-9-]{1,60})-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z\.age$/;
const maxNameLength = 40;

/** @param at ISO 8601 in UTC. */
export function backupFileName(stationName: string, at: string): string {
  const name = stationName
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, maxNameLength)
    .replaceAll(/^-+|-+$/g, '');
  return `station-${name === '' ? 'backup' : name}-${at.replaceAll(/[-:]|\.\d+/g, '')}.age`;
}

/** When a file of this name was made, as ISO 8601 in UTC; null when it is not the name of a backup. */
export function readBackupName(file: string): { madeAt: string } | null {
  const match = namePattern.exec(file);
  if (match === null) return null;
  const [, , year, month, day, hour, minute, second] = match;
  const madeAt = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const ms = Date.parse(madeAt);
  // 30 February is read as 2 March, and others as no time at all.
  return Number.isNaN(ms) || new Date(ms).toISOString() !== madeAt ? null : { madeAt };
}
