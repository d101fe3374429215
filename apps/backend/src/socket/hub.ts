import type { ServerMessage } from '@station/protocol/socket';
import { outgoing, type Outgoing } from './outbox.ts';

/** A client that has logged in. */
export type HubClient = {
  userId: string;
  send(message: Outgoing): void;
  close(code: number, reason: string): void;
};

export type SocketHub = {
  /** The first client came or the last one left: what is only for watchers starts and stops then. */
  onWatched(listener: (watched: boolean) => void): Disposable;
  /** Messages that a new client gets after its `hello`, to know what the others know. */
  replay(source: () => readonly ServerMessage[]): Disposable;
  /** To all clients. @param key of what only the latest matters of, for clients that are behind. */
  broadcast(message: ServerMessage, key?: string): void;
  add(client: HubClient): void;
  remove(client: HubClient): void;
  closeUser(userId: string, code: number, reason: string): void;
  closeAll(code: number, reason: string): void;
  size(): number;
};

/** Everyone who watches through `/ws` (contracts, section 10). */
export function createSocketHub(): SocketHub {
  const clients = new Set<HubClient>();
  const watchers = new Set<(watched: boolean) => void>();
  const sources = new Set<() => readonly ServerMessage[]>();
  const subscribe = <T>(set: Set<T>, item: T): Disposable => {
    set.add(item);
    return { [Symbol.dispose]: () => void set.delete(item) };
  };
  return {
    onWatched: (listener) => subscribe(watchers, listener),
    replay: (source) => subscribe(sources, source),
    broadcast: (message, key) => {
      if (clients.size === 0) return;
      const ready = outgoing(message, key ?? null);
      for (const client of clients) client.send(ready);
    },
    add: (client) => {
      clients.add(client);
      for (const source of sources) for (const message of source()) client.send(outgoing(message));
      if (clients.size === 1) for (const listener of watchers) listener(true);
    },
    remove: (client) => {
      if (!clients.delete(client)) return;
      if (clients.size === 0) for (const listener of watchers) listener(false);
    },
    closeUser: (userId, code, reason) => {
      for (const client of clients) if (client.userId === userId) client.close(code, reason);
    },
    closeAll: (code, reason) => {
      for (const client of [...clients]) client.close(code, reason);
    },
    size: () => clients.size,
  };
}
