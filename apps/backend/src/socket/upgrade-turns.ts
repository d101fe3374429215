import type { Socket } from 'node:net';
import { createTokenBucket, type TokenBucket } from '@station/kit/token-bucket';
import { every } from '@station/kit/timers';

/** Of one network: the pages of a household at once, and after that what costs little. */
const rate = { burst: 50, perSecond: 20 } as const;
const serveEveryMs = 50;

export type UpgradeTurns = {
  /** Resolves when this one may become a WebSocket; never, after it left. */
  enter(socket: Socket, network: string): Promise<void>;
  leave(socket: Socket): void;
};

type Network = { bucket: TokenBucket; waiting: Map<Socket, () => void> };

/**
 * Connections of strangers that become WebSockets wait for a turn of their network when they are many. The newest is next: who
 * opens one is through at once, and whoever opens hundreds waits behind it.
 * @param now monotonic time in milliseconds.
 */
export function createUpgradeTurns(now: () => number): UpgradeTurns {
  const networks = new Map<string, Network>();
  let serving: Disposable | null = null;
  const serve = (): void => {
    for (const [name, { bucket, waiting }] of networks) {
      for (const [socket, begin] of [...waiting].toReversed()) {
        if (!bucket.take()) break;
        waiting.delete(socket);
        begin();
      }
      if (waiting.size === 0 && bucket.isFull()) networks.delete(name);
    }
    if (networks.size > 0) return;
    serving?.[Symbol.dispose]();
    serving = null;
  };
  const networkNamed = (name: string): Network => {
    const known = networks.get(name);
    if (known !== undefined) return known;
    const network = { bucket: createTokenBucket(rate, now), waiting: new Map<Socket, () => void>() };
    networks.set(name, network);
    serving ??= every(serveEveryMs, serve);
    return network;
  };
  return {
    enter: async (socket, name) => {
      const { bucket, waiting } = networkNamed(name);
      if (waiting.size === 0 && bucket.take()) return;
      await new Promise<void>((begin) => waiting.set(socket, begin));
    },
    leave: (socket) => {
      for (const { waiting } of networks.values()) waiting.delete(socket);
    },
  };
}
