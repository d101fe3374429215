/** What the database takes and may take; bytes. `DatabaseSizes` in `store/database-space.ts` explains the sizes. */
export type StorageFacts = {
  budgetBytes: number;
  fileBytes: number;
  freeBytes: number;
  diskBytes: number;
  logBytes: number;
  /** Newest first. */
  copies: readonly { path: string; bytes: number }[];
  /** Whether the database is copied regularly. */
  isCopied: boolean;
  canShrink: boolean;
  /** Whether there is history to drop. */
  hasHistory: boolean;
  /** Few messages wait to be written. */
  isQuiet: boolean;
  /** History is being dropped: it goes on a little further, so that it does not begin again at once. */
  isShedding: boolean;
  /** What else the disk needs, because it is nearly full. The rows may take at most this much; null: as much as the budget allows. */
  mostRowBytes: number | null;
};

export type StorageStep =
  | { kind: 'remove_copy'; path: string }
  | { kind: 'shed' }
  | { kind: 'give_back' }
  | { kind: 'checkpoint' }
  | { kind: 'wait'; isOverBudget: boolean };

const mebibyte = 1024 * 1024;
/** The write-ahead log stays this long (`journal_size_limit` of `core/adapters/sqlite.ts`), or a quarter of a small database. */
const mostLogBytes = 16 * mebibyte;
/** Fewer free pages are soon used again. */
const keptFreeBytes = mebibyte;
/** Shares of the room at which dropping begins and ends. */
const full = 0.95;
const fullEnough = 0.92;

/** Default of STORAGE_MAX_MB: a quarter of the disk, at most 4 GiB. Less than 16 MiB would hold no history at all. */
export const defaultBudget = (diskBytes: number): number =>
  Math.max(16 * mebibyte, Math.min(4096 * mebibyte, Math.floor(diskBytes / 4)));

/** The file, its newest copy, and the next one while it is made share the budget. */
const partsOfBudget = 3;

/** How much the log and the rows with their pages may take. */
export function roomOf({ budgetBytes, isCopied }: Pick<StorageFacts, 'budgetBytes' | 'isCopied'>): {
  logBytes: number;
  rowBytes: number;
} {
  const ofDatabase = Math.floor(isCopied ? budgetBytes / partsOfBudget : budgetBytes);
  const logBytes = isCopied ? Math.min(mostLogBytes, Math.floor(ofDatabase / 4)) : 0;
  return { logBytes, rowBytes: ofDatabase - logBytes };
}

/** How much of the rows may be messages that wait for the cloud: an outbox without a limit of its own would cost all history. */
export const outboxRoom = (facts: Pick<StorageFacts, 'budgetBytes' | 'isCopied'>): number =>
  Math.floor(roomOf(facts).rowBytes / 4);

/** How much of the rows may be runs of automations: each keeps its flow, which may be large. */
export const runsRoom = (facts: Pick<StorageFacts, 'budgetBytes' | 'isCopied'>): number =>
  Math.floor(roomOf(facts).rowBytes / 8);

/** The next step towards the budget: copies that are not the newest go first, then history, then free pages. */
export function decideStorage(facts: StorageFacts): StorageStep {
  const { fileBytes, freeBytes, isQuiet, isShedding, hasHistory } = facts;
  const room = roomOf(facts);
  const most = Math.min(room.rowBytes, facts.mostRowBytes ?? Infinity);
  const copy = copyToRemove(facts, most);
  if (copy !== null) return { kind: 'remove_copy', path: copy };
  const rowBytes = fileBytes - freeBytes;
  const limit = Math.min(most, room.rowBytes * (isShedding ? fullEnough : full));
  if (rowBytes > limit && hasHistory) return { kind: 'shed' };
  if (facts.logBytes > room.logBytes * (isQuiet ? 1 : 2) && room.logBytes > 0) return { kind: 'checkpoint' };
  const isTooLong = fileBytes > most;
  if (facts.canShrink && freeBytes > (isTooLong ? 0 : keptFreeBytes) && (isQuiet || isTooLong))
    return { kind: 'give_back' };
  // The file itself shrinks at the checkpoint.
  if (facts.canShrink && facts.diskBytes > fileBytes + keptFreeBytes && isQuiet) return { kind: 'checkpoint' };
  return { kind: 'wait', isOverBudget: rowBytes > room.rowBytes };
}

/** The oldest copy, while there would be no room for the next one. The last one goes only if it alone breaks the budget. */
function copyToRemove(facts: StorageFacts, most: number): string | null {
  const { budgetBytes, fileBytes, diskBytes, logBytes, copies } = facts;
  const oldest = copies.at(-1);
  if (oldest === undefined) return null;
  const total = copies.reduce((sum, { bytes }) => sum + bytes, Math.max(fileBytes, diskBytes) + logBytes);
  if (copies.length > 1) return total + fileBytes > budgetBytes || facts.mostRowBytes !== null ? oldest.path : null;
  return fileBytes <= most && total > budgetBytes ? oldest.path : null;
}

/** Within the device that takes most, the kind that takes most loses its oldest rows: a flood of events does not cost old averages. */
export function kindToShed<Kind extends string>(usage: Readonly<Record<Kind, number>>, kinds: readonly Kind[]): Kind {
  return kinds.reduce((most, kind) => (usage[kind] > usage[most] ? kind : most));
}
