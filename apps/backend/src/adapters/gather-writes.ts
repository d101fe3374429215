import type { Duplex } from 'node:stream';

/** More at once would let the other end wait for work while this one is still at its own. */
const mostAtOnce = 8;

/**
 * Lets what is written to a connection in one turn go out in few system calls: frames that answer a packet full of calls would else cost one
 * each. Call the result before each write.
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
    // After what was promised in this turn, which the answers are, and before anything else is read.
    process.nextTick(release);
  };
}
