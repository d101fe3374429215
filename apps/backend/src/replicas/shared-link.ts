import type { BackendLogger } from '@station/kit/logger';
import type { DeviceReport, StatesBefore } from '../core/device-events.ts';
import type { AvailabilityKeeper } from '../mqtt/availability-keeper.ts';
import type { BrokerClientOptions, BrokerSession } from '../mqtt/broker-client.ts';
import type { BrokerLink } from '../mqtt/broker-link.ts';
import type { LastReceived } from '../mqtt/session-backlog.ts';
import type { BrokerSide, Replicas } from './replicas-port.ts';
import { createTakeover, type Takeover } from './session-takeover.ts';

/**
 * A replica's link to the broker: its own share of the messages, and as leader also the shares of offline replicas.
 * @param own how a single backend would connect.
 */
export function openSharedLink(
  options: Omit<ReceivingParts, 'open' | 'endSingle' | 'logger'> & {
    connect: (options: BrokerClientOptions) => BrokerSession;
    own: BrokerClientOptions;
    stationId: string;
  },
): BrokerLink {
  const { replicas, connect, own, stationId } = options;
  const { logger, handler } = own;
  const sessionOf = (replicaId: string, lastReceived: LastReceived): BrokerClientOptions => ({
    ...own,
    clientId: `${own.clientId}-${replicaId}`,
    shared: {
      group: own.clientId,
      markerTopic: `station/${stationId}/replica/${replicaId}`,
      now: () => replicas.clock.now(),
      lastReceived,
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
  const receiving = receiveShared({
    ...options,
    endSingle,
    logger,
    open: (replicaId, lastReceived, onTaken) =>
      connect({ ...sessionOf(replicaId, lastReceived), handler: inPlace, onTaken }),
  });
  const link = connect({
    ...sessionOf(replicas.id, replicas.lastReceived),
    handler: { ...handler, onListening: receiving.onListening },
  });
  const close = async (): Promise<void> => {
    await receiving[Symbol.asyncDispose]();
    for (const session of closing) await session[Symbol.asyncDispose]();
    await link[Symbol.asyncDispose]();
  };
  return { ...link, [Symbol.asyncDispose]: close };
}

/** How long the order of a last will at one replica and a message at another may be wrong. */
const willToleranceMs = 500;

/** Opens the session of an offline replica. */
type OpenSession = (replicaId: string, lastReceived: LastReceived, onTaken: () => void) => BrokerSession;

type SharedReceiving = AsyncDisposable & {
  /** This replica's own link started or stopped receiving. */
  onListening(isListening: boolean): void;
};

type ReceivingParts = {
  replicas: Replicas;
  keeper: AvailabilityKeeper;
  onReports: (reports: readonly DeviceReport[], before: StatesBefore | undefined) => void;
  open: OpenSession;
  /** Receives the rest of the session of a former single backend, and ends it. */
  endSingle: () => Promise<void>;
  logger: BackendLogger;
};

/** What changes while it receives. */
type ReceivingFacts = {
  isListening: boolean;
  /** Null: this replica is not the leader, or has not checked yet. */
  unreceived: readonly string[] | null;
  isCovered: boolean;
  /** Since when this replica receives every last will, from its own link or another's. */
  linkedSinceMs: number | null;
  isSingleEnded: boolean;
};

type ReceivingState = ReceivingFacts & ReceivingParts & { takeover: Takeover };

/**
 * Messages of devices shared by several replicas: each replica receives all reports through the database. Only the leader decides which
 * devices are offline, and only while every replica's share is received.
 */
function receiveShared(parts: ReceivingParts): SharedReceiving {
  const { replicas, open, logger } = parts;
  const { leadership, clock } = replicas;
  const facts: ReceivingFacts = {
    isListening: false,
    unreceived: null,
    isCovered: false,
    linkedSinceMs: null,
    isSingleEnded: false,
  };
  const mayTakeOver = (): boolean => facts.isListening;
  const takeover = createTakeover({ open, mayTakeOver, onRetired: replicas.forget, clock, logger });
  const state: ReceivingState = Object.assign(facts, { ...parts, takeover });
  replicas.attachBroker(brokerSideOf(state));
  const stack = new DisposableStack();
  stack.use(replicas.onListening(() => update(state)));
  stack.use(
    leadership.subscribe((isLeader) => {
      state.unreceived = null;
      state.isSingleEnded = false;
      if (!isLeader) takeover.release();
      update(state);
    }),
  );
  return {
    onListening: (isListening) => {
      state.isListening = isListening;
      if (!isListening) takeover.release();
      update(state);
    },
    [Symbol.asyncDispose]: async () => {
      stack.dispose();
      await takeover[Symbol.asyncDispose]();
    },
  };
}

function brokerSideOf(state: ReceivingState): BrokerSide {
  const { replicas, keeper, takeover, onReports } = state;
  const agoMs = (at: number): number => Math.max(0, replicas.clock.now() - at);
  return {
    isReceiving: () => state.isListening,
    takenOver: takeover.takenOver,
    onUnreceived: (ids) => {
      state.unreceived = ids;
      // Its own session reconnects automatically.
      takeover.check(ids.filter((id) => id !== replicas.id));
      update(state);
    },
    onWill: ({ deviceId, at, ageMs }) => keeper.will(deviceId, agoMs(at), Math.max(ageMs, willToleranceMs)),
    onReports: (reports, before) => {
      for (const report of reports) {
        if (report.kind !== 'status' || report.status === 'online') keeper.received(report.deviceId, agoMs(report.at));
      }
      onReports(reports, before);
    },
  };
}

/** Decides again whether every share of the messages is received. */
function update(state: ReceivingState): void {
  const { replicas, keeper, takeover, isListening, unreceived } = state;
  const { leadership, clock } = replicas;
  if (isListening && leadership.isLeader() && !state.isSingleEnded) endSingleSession(state);
  const takenOver = takeover.takenOver();
  const isEveryShareReceived = unreceived !== null && unreceived.every((id) => takenOver.includes(id));
  const isLinked = isListening && replicas.isListening();
  state.linkedSinceMs = isLinked ? (state.linkedSinceMs ?? clock.monotonic()) : null;
  const isCovered = state.linkedSinceMs !== null && leadership.isLeader() && isEveryShareReceived;
  if (isCovered === state.isCovered) return;
  state.isCovered = isCovered;
  // From here on silence counts, or stops counting.
  keeper.listening(isCovered, state.linkedSinceMs ?? undefined);
}

/** A broker may keep messages from the time before there were replicas. */
function endSingleSession(state: ReceivingState): void {
  state.isSingleEnded = true;
  state.endSingle().catch((error: unknown) => {
    state.isSingleEnded = false;
    state.logger.failed('emptying the previous session', error);
  });
}
