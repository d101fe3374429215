/** A nearly full disk and the database on it; bytes. */
export type ShortageFacts = {
  /** How much more should be free. */
  missingBytes: number;
  fileBytes: number;
  /** Pages of the file without rows. */
  freeBytes: number;
  /** Of copies that are not the newest. */
  spareCopyBytes: number;
  /** What the history takes, as counted. */
  historyBytes: number;
  /** The same when the disk became nearly full. */
  startedBytes: number;
  /** How much the rows may take by the budget. */
  roomBytes: number;
};

const mebibyte = 1024 * 1024;
/** A day of a hundred values a minute. A small budget keeps half of its room instead. */
const leastHistoryBytes = 16 * mebibyte;

/**
 * How much the rows may take while the disk is nearly full. History gives way for as much as is missing, but at most half of it goes for one full
 * disk: what else fills the disk would take the space of all of it.
 *
 * Space that becomes free in the file counts too, although a database that cannot shrink does not return it: new rows use it.
 */
export function decideShortage(facts: ShortageFacts): number {
  const { fileBytes, freeBytes, historyBytes } = facts;
  const wanted = fileBytes - Math.max(0, facts.missingBytes - facts.spareCopyBytes);
  const mayGo = Math.max(0, historyBytes - keptHistory(facts));
  return Math.max(0, wanted, fileBytes - freeBytes - mayGo);
}

/** What the history keeps. */
const keptHistory = ({ startedBytes, roomBytes }: ShortageFacts): number =>
  Math.max(startedBytes / 2, Math.min(leastHistoryBytes, roomBytes / 2));
