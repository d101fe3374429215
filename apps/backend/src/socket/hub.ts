import type { ServerMessage } from '@station/protocol/socket';
import { systemClock, type Clock } from '@station/kit/clock';
import { createGathering } from './gathering.ts';
import { batchesOf, outgoing, type Batch, type Outgoing } from './outbox.ts';

/** A client that has logged in. */
export type HubClient = {
  userId: string;
  send(batch: Batch): void;
  close(code: number, reason: string): void;
};

export type SocketHub = {
  /** The first client came or the last one left: what is only for watchers starts and stops then. */
  onWatched(listener: (watched: boolean) => void): Disposable;
  /** Messages that a new client gets after its `hello`, to know what the others know. */
  replay(source: () => readonly ServerMessage[]): Disposable;
  /** To all clients that are here now, soon: what is told within a few milliseconds goes in one write. @param key of what only the latest matters of, for clients that are behind. */
  broadcast(message: ServerMessage, key?: string): void;
  add(client: HubClient): void;
  remove(client: HubClient): void;
  closeUser(userId: string, code: number, reason: string): void;
  closeAll(code: number, reason: string): void;
  size(): number;
};

/**
 * Everyone who watches through `/ws` (contracts, section 10). Messages are framed once for all clients, and gathered (see `gathering.ts`):
 * hundreds of clients times a thousand messages a second would else be more writes than a core can do.
 */
export function createSocketHub(clock: Pick<Clock, 'monotonic' | 'sleep'> = systemClock): SocketHub {
  const clients = new Set<HubClient>();
  const watchers = new Set<(watched: boolean) => void>();
  const sources = new Set<() => readonly ServerMessage[]>();
  const subscribe = <T>(set: Set<T>, item: T): Disposable => {
    set.add(item);
    return { [Symbol.dispose]: () => void set.delete(item) };
  };
  const gathered = createGathering<Outgoing>(clock, (messages) => {
    for (const batch of batchesOf(messages)) for (const client of clients) client.send(batch);
  });
  return {
    onWatched: (listener) => subscribe(watchers, listener),
    replay: (source) => subscribe(sources, source),
    broadcast: (message, key) => {
      if (clients.size > 0) gathered.add(outgoing(message, key ?? null));
    },
    add: (client) => {
      // What was told before it came is older than what is replayed to it.
      gathered.flush();
      clients.add(client);
      const replayed = [...sources].flatMap((source) => source().map((message) => outgoing(message)));
      for (const batch of batchesOf(replayed)) client.send(batch);
      if (clients.size === 1) for (const listener of watchers) listener(true);
    },
    remove: (client) => {
      if (!clients.delete(client)) return;
      if (clients.size > 0) return;
      gathered.clear();
      for (const listener of watchers) listener(false);
    },
    closeUser: (userId, code, reason) => {
      gathered.flush();
      for (const client of clients) if (client.userId === userId) client.close(code, reason);
    },
    closeAll: (code, reason) => {
      gathered.flush();
      for (const client of [...clients]) client.close(code, reason);
    },
    size: () => clients.size,
  };
}
