import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Workspace } from './workspace.ts';

/** A TCP relay on loopback that can be slow or cut: the network between a client and a server of the rig. */
export type Link = AsyncDisposable & {
  /** `127.0.0.1:<port>`; stays the same over `cut` and `restore`. */
  address: string;
  /** Most bytes a second from the server to the client, over all connections; Infinity (the start value) for no limit. */
  setRate(bytesPerSecond: number): void;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  restore(): Promise<void>;
};

const tickMs = 20;

/** Relays a port of its own to `target` (`127.0.0.1:<port>`). */
export async function createLink(workspace: Workspace, target: string): Promise<Link> {
  const port = Number(target.split(':')[1]);
  const sockets = new Set<Socket>();
  let rate = Infinity;
  let budget = 0;
  const waiting = new Set<() => void>();
  const refill = setInterval(() => {
    budget = rate === Infinity ? Infinity : Math.min(budget, 0) + (rate * tickMs) / 1000;
    if (budget > 0) for (const resume of waiting) resume();
  }, tickMs);
  const track = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const relay = (client: Socket): void => {
    const upstream = connect(port, '127.0.0.1');
    track(client, upstream);
    track(upstream, client);
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      budget -= chunk.length;
      const hasRoom = client.write(chunk);
      const isOverspent = rate !== Infinity && budget <= 0;
      if (hasRoom && !isOverspent) return;
      upstream.pause();
      const resume = (): void => {
        waiting.delete(resume);
        if (client.writableNeedDrain) client.once('drain', () => upstream.resume());
        else upstream.resume();
      };
      if (isOverspent) waiting.add(resume);
      else resume();
    });
    upstream.on('end', () => client.end());
  };
  let server: Server | undefined;
  let ownPort = 0;
  const restore = async (): Promise<void> => {
    if (server !== undefined) return;
    server = createServer(relay);
    server.listen(ownPort, '127.0.0.1');
    await once(server, 'listening');
    ownPort = (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    if (server === undefined) return;
    const closing = server;
    server = undefined;
    closing.close();
    for (const socket of sockets) socket.destroy();
    await once(closing, 'close');
  };
  await restore();
  return workspace.own({
    address: `127.0.0.1:${ownPort}`,
    setRate: (bytesPerSecond: number) => void (rate = bytesPerSecond),
    cut,
    restore,
    [Symbol.asyncDispose]: async () => {
      clearInterval(refill);
      await cut();
    },
  });
}
