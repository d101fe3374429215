import type { Duplex } from 'node:stream';

/** A larger block would leave the other side idle while this side still works. */
const mostAtOnce = 8;

/**
 * Sends what is written to a connection in one turn with few system calls. Otherwise each answer to a packet of many calls would cost one.
 * Call the result before each write.
 */
export function gatherWrites(connection: Pick<Duplex, 'cork' | 'uncork'>): () => void {
  let held = 0;
  const release = (): void => {
    if (held === 0) return;
    held = 0;
    connection.uncork();
  };
  return () => {
    if (held === mostAtOnce) release();
    held += 1;
    if (held > 1) return;
    connection.cork();
    // Runs after the promises of this turn (the answers), and before more is read.
    process.nextTick(release);
  };
}
