import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ephemeral ports of Linux, so that no outgoing connection takes a port before it is used.
 */
const lowest = 10_240;
const highest = 32_767;
/** Programs that run side by side have similar process ids: each starts in its own block, so that it seldom meets another's ports. */
const block = 64;

let next = lowest + ((process.pid * block) % (highest - lowest));

/**
 * Finds a free loopback TCP port. It is this program's until it ends: another program that asks does not get it, also while nothing
 * listens there.
 */
export async function findFreePort(): Promise<number> {
  for (let tried = lowest; tried <= highest; tried += 1) {
    const port = next;
    next = next === highest ? lowest : next + 1;
    if ((await claim(port)) && (await isFree(port))) return port;
  }
  throw new Error('No free port was found.');
}

/** An abstract socket (unix(7)) has one owner in a network name space, and goes with its program. @returns whether nobody had it. */
async function claim(port: number): Promise<boolean> {
  const owner = createServer();
  owner.listen(`\0station-port-${port}`);
  try {
    await once(owner, 'listening');
  } catch {
    return false;
  }
  owner.unref();
  return true;
}

/** Whether a program can listen on this loopback TCP port now. */
export async function isFree(port: number): Promise<boolean> {
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
