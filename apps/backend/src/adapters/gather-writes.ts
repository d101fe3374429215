import type { Duplex } from 'node:stream';

/**
 * Lets what is written to a connection in one turn go out in one system call: frames that answer a packet full of calls would else cost one
 * each. Call the result before each write.
 */
export function gatherWrites(connection: Pick<Duplex, 'cork' | 'uncork'>): () => void {
  let isHeld = false;
  return () => {
    if (isHeld) return;
    isHeld = true;
    connection.cork();
    setImmediate(() => {
      isHeld = false;
      connection.uncork();
    });
  };
}
