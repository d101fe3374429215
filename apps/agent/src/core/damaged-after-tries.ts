/** Read attempts before a file counts as damaged. */
const readTries = 4;

type Damaged = { kind: 'damaged'; reason: string };

/** A disk may fail once: the first failures are thrown. A file that stays unreadable counts as damaged. */
export function damagedAfterTries<T>(read: () => Promise<T>): () => Promise<T | Damaged> {
  let failures = 0;
  return async () => {
    try {
      return await read();
    } catch (error) {
      failures += 1;
      if (failures < readTries) throw error;
      return { kind: 'damaged', reason: 'the disk cannot read it' };
    }
  };
}
