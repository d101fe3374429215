import type { Aedes, Client } from 'aedes';

/**
 * Sessions that the embedded broker keeps for clients that ask for it, bounded: of a login so many, and of what waits in each so many bytes. aedes
 * keeps every session, every message and every subscription of a packet of which one is allowed, so this wraps private parts of aedes 1.2
 * (`persistence`, `clients`), which the test beside this file checks.
 */
export type KeptSessions = {
  /**
   * Gives a client that has just logged in the session of its client id, under a name out of few: one more takes the session that was used longest ago.
   * @param most sessions of this login.
   */
  enter(client: Client, login: string, connect: { clientId: string; isClean: boolean; most: number }): void;
  /** The login is over: its sessions end, with what waits in them. Never rejects. */
  forget(login: string): Promise<void>;
  /** @param mayRead whether a client may read a topic, or every topic of a filter. */
  bound(broker: Aedes, mayRead: (client: Client, topics: string) => boolean): void;
};

/** What waits for one client, bytes; one that is connected and reads has room for more, because aedes ends its connection for what does not fit. */
const mostWaiting = { away: 1_024 * 1_024, connected: 2 * 1_024 * 1_024 } as const;
/** What a message takes besides its payload. */
const messageBytes = 512;

export function createKeptSessions(): KeptSessions {
  /** Number of each session by login and client id, the one that was used last at the end. */
  const logins = new Map<string, Map<string, number>>();
  let cleanIncoming: Persistence['cleanIncoming'] = async () => undefined;
  let end: (client: { id: string }) => Promise<void> = async () => undefined;
  return {
    enter: (client, login, { clientId, isClean, most }) => {
      const sessions = logins.get(login) ?? new Map<string, number>();
      const own = sessions.get(clientId);
      const number = own ?? (isClean ? null : numberOf(sessions, most));
      if (number === null) return;
      sessions.delete(clientId);
      logins.set(login, sessions.set(clientId, number));
      client.id = idOf(login, number);
      // Messages of QoS 2 that the client before did not complete have the numbers that this one will use.
      if (own === undefined) void cleanIncoming(client);
    },
    forget: async (login) => {
      const numbers = [...(logins.get(login)?.values() ?? [])];
      logins.delete(login);
      for (const number of numbers) await end({ id: idOf(login, number) });
    },
    bound: (broker, mayRead) => {
      const persistence = boundPersistence(broker, mayRead);
      cleanIncoming = persistence.cleanIncoming.bind(persistence);
      end = async (client) => {
        await persistence.cleanSubscriptions(client);
        await persistence.cleanIncoming(client);
        for await (const packet of persistence.outgoingStream(client))
          await persistence.outgoingClearMessageId(client, packet);
      };
    },
  };
}

const idOf = (login: string, number: number): string => `${login}/kept/${number}`;

function numberOf(sessions: Map<string, number>, most: number): number {
  if (sessions.size < most) return sessions.size;
  const [oldest = ''] = sessions.keys();
  const number = sessions.get(oldest) ?? 0;
  sessions.delete(oldest);
  return number;
}

type Subscription = { topic: string };
type Packet = { payload: Buffer };
type Persistence = {
  addSubscriptions(client: Client, subscriptions: readonly Subscription[]): Promise<void>;
  outgoingEnqueueCombi(subscribers: readonly { clientId: string }[], packet: Packet): Promise<void>;
  outgoingClearMessageId(client: { id: string }, packet: object): Promise<Packet | undefined>;
  incomingStorePacket(client: Client, packet: Packet): Promise<void>;
  cleanIncoming(client: { id: string }): Promise<void>;
  cleanSubscriptions(client: { id: string }): Promise<void>;
  outgoingStream(client: { id: string }): AsyncIterable<Packet>;
};

function boundPersistence(broker: Aedes, mayRead: (client: Client, topics: string) => boolean): Persistence {
  const { persistence, clients } = broker as unknown as { persistence: Persistence; clients: object };
  const add = persistence.addSubscriptions.bind(persistence);
  const enqueue = persistence.outgoingEnqueueCombi.bind(persistence);
  const clear = persistence.outgoingClearMessageId.bind(persistence);
  const storeIncoming = persistence.incomingStorePacket.bind(persistence);
  /** Bytes by client. */
  const waiting = new Map<string, number>();
  const sizeOf = ({ payload }: Packet): number => messageBytes + payload.length;
  // A clean client that has left completes no QoS 2: its number would stay, under an id that it chose.
  persistence.incomingStorePacket = async (client, packet) => {
    if (!client.closed || !client.clean) await storeIncoming(client, packet);
  };
  persistence.addSubscriptions = (client, subscriptions) =>
    add(
      client,
      subscriptions.filter(({ topic }) => mayRead(client, topic)),
    );
  persistence.outgoingEnqueueCombi = (subscribers, packet) => {
    const fitting = subscribers.filter(({ clientId }) => {
      const bytes = (waiting.get(clientId) ?? 0) + sizeOf(packet);
      if (bytes > mostWaiting[clientId in clients ? 'connected' : 'away']) return false;
      waiting.set(clientId, bytes);
      return true;
    });
    return enqueue(fitting, packet);
  };
  persistence.outgoingClearMessageId = async (client, packet) => {
    const cleared = await clear(client, packet);
    if (cleared === undefined) return cleared;
    const bytes = (waiting.get(client.id) ?? 0) - sizeOf(cleared);
    if (bytes > 0) waiting.set(client.id, bytes);
    else waiting.delete(client.id);
    return cleared;
  };
  return persistence;
}
