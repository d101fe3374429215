import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that Linux gives to outgoing connections and to port 0: none of those can take one away again before it is
 * listened on.
 */
const [lowest, highest] = [10_240, 32_767];
/** Programs that run side by side have process ids near one another: each looks in a block of its own first. */
const block = 64;

let next = lowest + ((process.pid * block) % (highest - lowest));

/** A loopback TCP port that nothing listens on; no port is given twice by one program until all were. */
export async function findFreePort(): Promise<number> {
  for (let tried = lowest; tried <= highest; tried += 1) {
    const port = next;
    next = next === highest ? lowest : next + 1;
    if (await isFree(port)) return port;
  }
  throw new Error('Every port is taken.');
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
