import type { BackendLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import type { DeviceReport, StatesBefore } from '../core/device-events.ts';
import type { AvailabilityKeeper } from '../mqtt/availability-keeper.ts';
import type { BrokerClientOptions, BrokerSession } from '../mqtt/broker-client.ts';
import type { BrokerLink } from '../mqtt/broker-link.ts';
import type { LastReceived } from '../mqtt/session-backlog.ts';
import type { Replicas } from './replicas-port.ts';
import { createTakeover } from './session-takeover.ts';

/**
 * A replica's link to the broker: its own share of the messages, and as leader also the shares of offline replicas.
 * @param own how a single backend would connect.
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
  const hearing = createSharedHearing({
    ...options,
    endSingle,
    logger,
    open: (replicaId, lastReceived, onTaken) =>
      connect({ ...sessionOf(replicaId, lastReceived), handler: inPlace, onTaken }),
  });
  const link = connect({
    ...sessionOf(replicas.id, replicas.lastReceived),
    handler: { ...handler, onListening: hearing.onListening },
  });
  const close = async (): Promise<void> => {
    await hearing[Symbol.asyncDispose]();
    for (const session of closing) await session[Symbol.asyncDispose]();
    await link[Symbol.asyncDispose]();
  };
  return { ...link, [Symbol.asyncDispose]: close };
}

/** How long the order of a last will at one replica and a message at another may be wrong. */
const willToleranceMs = 500;

/** Opens the session of an offline replica. */
type OpenSession = (replicaId: string, lastReceived: LastReceived, onTaken: () => void) => BrokerSession;

type SharedHearing = AsyncDisposable & {
  /** This replica's own link started or stopped receiving. */
  onListening(isListening: boolean): void;
};

type HearingParts = {
  replicas: Replicas;
  keeper: AvailabilityKeeper;
  onReports: (reports: readonly DeviceReport[], before: StatesBefore | undefined) => void;
  open: OpenSession;
  /** Receives the rest of the session of a former single backend, and ends it. */
  endSingle: () => Promise<void>;
  logger: BackendLogger;
};

/**
 * Messages of devices shared by several replicas: each replica receives all reports through the database. Only the leader decides which
 * devices are offline, and only while every replica's share is received.
 */
function createSharedHearing(options: HearingParts): SharedHearing {
  const { replicas, keeper, logger } = options;
  const { leadership, clock } = replicas;
  let isListening = false;
  /** Null: this replica is not the leader, or has not checked yet. */
  let unreceived: readonly string[] | null = null;
  let isCovered = false;
  /** Since when this replica receives every last will, from its own link or another's. */
  let linkedSinceMs: number | null = null;
  const agoMs = (at: number): number => Math.max(0, clock.now() - at);

  const takeover = createTakeover({
    open: options.open,
    mayTakeOver: () => isListening,
    onRetired: replicas.forget,
    clock,
    logger,
  });
  let isSingleEnded = false;
  /** A broker may keep messages from the time before there were replicas. */
  const endSingle = (): void => {
    isSingleEnded = true;
    options.endSingle().catch((error: unknown) => {
      isSingleEnded = false;
      logger.event('unexpected_error', { where: 'emptying the previous session', message: describeError(error) });
    });
  };
  const update = (): void => {
    if (isListening && leadership.isLeader() && !isSingleEnded) endSingle();
    const takenOver = takeover.takenOver();
    const isEveryShareReceived = unreceived !== null && unreceived.every((id) => takenOver.includes(id));
    const isLinked = isListening && replicas.isListening();
    linkedSinceMs = isLinked ? (linkedSinceMs ?? clock.monotonic()) : null;
    const covered = linkedSinceMs !== null && leadership.isLeader() && isEveryShareReceived;
    if (covered === isCovered) return;
    isCovered = covered;
    // From here on silence counts, or stops counting.
    keeper.listening(covered, linkedSinceMs ?? undefined);
  };
  replicas.attachBroker({
    isReceiving: () => isListening,
    takenOver: takeover.takenOver,
    onUnreceived: (ids) => {
      unreceived = ids;
      // Its own session reconnects automatically.
      takeover.check(ids.filter((id) => id !== replicas.id));
      update();
    },
    onWill: ({ deviceId, at, ageMs }) => keeper.will(deviceId, agoMs(at), Math.max(ageMs, willToleranceMs)),
    onReports: (reports, before) => {
      for (const report of reports) {
        if (report.kind !== 'status' || report.status === 'online') keeper.received(report.deviceId, agoMs(report.at));
      }
      options.onReports(reports, before);
    },
  });
  const stack = new DisposableStack();
  stack.use(replicas.onListening(update));
  stack.use(
    leadership.subscribe((isLeader) => {
      unreceived = null;
      isSingleEnded = false;
      if (!isLeader) takeover.release();
      update();
    }),
  );
  return {
    onListening: (now) => {
      isListening = now;
      if (!now) takeover.release();
      update();
    },
    [Symbol.asyncDispose]: async () => {
      stack.dispose();
      await takeover[Symbol.asyncDispose]();
    },
  };
}
