import type { BrokerClientOptions, BrokerSession } from '../mqtt/broker-client.ts';
import type { BrokerLink } from '../mqtt/broker-link.ts';
import type { LastHeard } from '../mqtt/session-backlog.ts';
import { createSharedHearing, type HearingParts } from './hearing.ts';

/**
 * A replica's link to the broker: its own share of what devices say, and as leader also the shares of replicas that are away.
 * @param own how a backend that is alone would connect.
 */
export function openSharedLink(
  options: Omit<HearingParts, 'open' | 'endSingle' | 'logger'> & {
    connect: (options: BrokerClientOptions) => BrokerSession;
    own: BrokerClientOptions;
    stationId: string;
  },
): BrokerLink {
  const { replicas, connect, own, stationId } = options;
  const { logger, handler } = own;
  const sessionOf = (replicaId: string, lastHeard: LastHeard): BrokerClientOptions => ({
    ...own,
    clientId: `${own.clientId}-${replicaId}`,
    shared: {
      group: own.clientId,
      markerTopic: `station/${stationId}/replica/${replicaId}`,
      now: () => replicas.clock.now(),
      lastHeard,
    },
  });
  const inPlace = { ...handler, onListening: () => undefined };
  const closing = new Set<BrokerSession>();
  const endSingle = async (): Promise<void> => {
    await using session = connect({ ...own, handler: inPlace, onTaken: () => undefined, isLeaving: true });
    closing.add(session);
    if (await session.retire()) logger.event('mqtt_session_ended', { clientId: own.clientId });
    closing.delete(session);
  };
  const hearing = createSharedHearing({
    ...options,
    endSingle,
    logger,
    open: (replicaId, lastHeard, onTaken) => connect({ ...sessionOf(replicaId, lastHeard), handler: inPlace, onTaken }),
  });
  const link = connect({
    ...sessionOf(replicas.id, replicas.lastHeard),
    handler: { ...handler, onListening: hearing.onListening },
  });
  const close = async (): Promise<void> => {
    await hearing[Symbol.asyncDispose]();
    for (const session of closing) await session[Symbol.asyncDispose]();
    await link[Symbol.asyncDispose]();
  };
  return { ...link, [Symbol.asyncDispose]: close };
}
