import { nextTurn } from '@station/kit/timers';
import { type Clock, systemClock } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import type { ServerMessage } from '@station/protocol/socket';
import { type Sight, sees } from '../core/sight.ts';
import { audienceOf } from './audience-decide.ts';
import { type Batch, batchesOf, batchOf, outgoing, type Outgoing } from './outbox.ts';

/** A client that has logged in. */
export type HubClient = {
  userId: string;
  sessionId: string | null;
  /** It receives only what concerns devices that it sees. */
  sight: Sight;
  send(batch: Batch): void;
  close(code: number, reason: string): void;
};

export type SocketHub = {
  /** The first client connected or the last one left: work that only serves clients starts and stops then. */
  onWatched(listener: (watched: boolean) => void): Disposable;
  /** Messages that a new client gets after its `hello`, to have the same state as the others. */
  replay(source: () => readonly ServerMessage[]): Disposable;
  /**
   * Sends to all current clients; messages within a few milliseconds share one write.
   * @param key of several waiting messages with the same key a slow client gets only the latest.
   */
  broadcast(message: ServerMessage, key?: string): void;
  /** A device is now in another zone: tells those who see a part of the station whether they see it. */
  moved(device: { deviceId: string; from: string | null; to: string | null; at: string }): void;
  add(client: HubClient): void;
  remove(client: HubClient): void;
  /** @param holder id of a user or of a session. */
  closeClientsOf(holder: string, code: number, reason: string): void;
  closeAll(code: number, reason: string): void;
  size(): number;
};

/**
 * All clients at `/ws` (contracts, section 10). Messages are framed once for all clients, and gathered (see `createGathering`): otherwise
 * hundreds of clients times a thousand messages a second would need more writes than one core can do.
 */
export function createSocketHub(
  clock: Pick<Clock, 'monotonic' | 'sleep'> = systemClock,
  zoneOf: ZoneOf = () => null,
): SocketHub {
  const clients = new Set<HubClient>();
  /** Those who see a part of the station: the others share the frames of each batch. */
  const limited = new Set<HubClient>();
  const watched = createEmitter<boolean>();
  const sources = new Set<() => readonly ServerMessage[]>();
  const gathered = createGathering<Outgoing>(clock, (messages) => {
    if (clients.size > 0) for (const batch of batchesOf(messages)) for (const client of clients) client.send(batch);
    for (const client of limited) sendSeen(client, messages, zoneOf);
  });
  const size = (): number => clients.size + limited.size;
  const all = (): HubClient[] => [...clients, ...limited];
  return {
    onWatched: watched.subscribe,
    replay: (source) => {
      sources.add(source);
      return { [Symbol.dispose]: () => void sources.delete(source) };
    },
    broadcast: (message, key) => {
      if (size() > 0) gathered.add(outgoing(message, key ?? null, audienceOf(message)));
    },
    moved: ({ deviceId, from, to, at }) => {
      gathered.flush();
      for (const client of limited) {
        if (sees(client.sight, to)) client.send(batchOf([outgoing({ type: 'device_changed', at, deviceId })]));
        else if (sees(client.sight, from)) client.send(batchOf([outgoing({ type: 'device_removed', at, deviceId })]));
      }
    },
    add: (client) => {
      // Earlier broadcasts are older than the messages replayed to the new client.
      gathered.flush();
      (client.sight.zones === null ? clients : limited).add(client);
      const replayed = [...sources].flatMap((source) =>
        source().map((message) => outgoing(message, null, audienceOf(message))),
      );
      sendSeen(client, replayed, zoneOf);
      if (size() === 1) watched.emit(true);
    },
    remove: (client) => {
      if (!clients.delete(client) && !limited.delete(client)) return;
      if (size() > 0) return;
      gathered.clear();
      watched.emit(false);
    },
    closeClientsOf: (holder, code, reason) => {
      gathered.flush();
      for (const client of all()) {
        if (client.userId === holder || client.sessionId === holder) client.close(code, reason);
      }
    },
    closeAll: (code, reason) => {
      gathered.flush();
      for (const client of all()) client.close(code, reason);
    },
    size,
  };
}

/** The zone of a device; null: it has none, is not known, or its zone is being read. */
export type ZoneOf = (deviceId: string) => string | null;

function sendSeen(client: HubClient, messages: readonly Outgoing[], zoneOf: ZoneOf): void {
  const { sight } = client;
  const seen =
    sight.zones === null
      ? messages
      : messages.filter(({ audience }) =>
          typeof audience === 'string' ? audience === 'everyone' : sees(sight, zoneOf(audience.deviceId)),
        );
  for (const batch of batchesOf(seen)) client.send(batch);
}

type Gathering<T> = {
  add(item: T): void;
  /** Delivers waiting messages now. */
  flush(): void;
  clear(): void;
};

const maxPauseMs = 20;
/** A delivery of one millisecond is followed by a pause of four: deliveries take at most a fifth of the time. */
const pauseFactor = 4;

/**
 * Gathers items that are delivered together. The first after a pause is delivered at once, with all others of the same turn. The longer a
 * delivery took, the longer the pause before the next one, up to 20 ms.
 * @param deliver must not throw.
 */
export function createGathering<T>(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  deliver: (items: readonly T[]) => void,
): Gathering<T> {
  let items: T[] = [];
  let running: Promise<void> | null = null;

  const flush = (): void => {
    const ready = items;
    items = [];
    if (ready.length > 0) deliver(ready);
  };
  const run = async (): Promise<void> => {
    await nextTurn();
    while (items.length > 0) {
      const startedMs = clock.monotonic();
      flush();
      await clock.sleep(Math.min(pauseFactor * (clock.monotonic() - startedMs), maxPauseMs));
    }
    running = null;
  };
  return {
    add: (item) => {
      items.push(item);
      running ??= run();
    },
    flush,
    clear: () => {
      items = [];
    },
  };
}
