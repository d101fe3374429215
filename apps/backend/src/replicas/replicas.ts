import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import { createEmitter, type Emitter } from '@station/kit/emitter';
import type { BackendLogger } from '@station/kit/logger';
import { closeCodes } from '@station/protocol/socket';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { DeviceEvents, Written } from '../core/device-events.ts';
import { createLeadership, type SettableLeadership } from '../core/leadership.ts';
import type { LastReceived } from '../mqtt/session-backlog.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import { createFanOut, type Delivered, type FanOut, shareEvents } from './fan-out.ts';
import { isAnyUnreceived, isStillLeader } from './locks.ts';
import { createRecovery, type Recovery } from './recovery.ts';
import type { BrokerSide, Replicas } from './replicas-port.ts';
import { openSession, type SessionHandler } from './session.ts';
import { openSharedLink } from './shared-link.ts';
import { writeSharedReports } from './shared-reports.ts';
import { shareRevocations } from './shared-revocations.ts';
import { createSharedWatchers, type SharedWatchers } from './shared-watchers.ts';
import { aliveEveryMs, createTerm, type Term } from './term.ts';
import { createExclusively, createTransact, replicatedCommandTransaction } from './transact.ts';

type Options = {
  id: string;
  db: Database;
  url: string;
  hub: Pick<SocketHub, 'closeAll'>;
  clock: Clock;
  logger: BackendLogger;
};

/** The parts of this backend that messages are delivered to, and the state of the connection. */
type ReplicaState = {
  events: DeviceEvents | null;
  tokens: AccessTokens | null;
  watchers: SharedWatchers | null;
  side: BrokerSide | null;
  isReady: boolean;
  isConnected: boolean;
  connection: Emitter<void>;
  cloudChanged: Emitter<void>;
};

export async function startReplicas(options: Options): Promise<Replicas> {
  const { id, db, hub, url, logger } = options;
  await using starting = new AsyncDisposableStack();
  const { clock } = starting.use(await startDatabaseClock(db, options.clock));
  const leadership = createLeadership();
  const state: ReplicaState = {
    events: null,
    tokens: null,
    watchers: null,
    side: null,
    isReady: false,
    isConnected: false,
    connection: createEmitter(),
    cloudChanged: createEmitter(),
  };
  const onTooMany = (): void =>
    logger.event('unexpected_error', { where: 'notifying the other replicas', message: 'Too many messages wait' });
  const deliverTo = (delivered: Delivered): void => deliver(state, delivered);
  const fanOut = starting.use(createFanOut({ db, replicaId: id, deliver: deliverTo, onTooMany, clock, logger }));
  const term = createTerm({
    replicaId: id,
    leadership,
    isReceiving: () => state.side?.isReceiving() ?? false,
    isReady: () => state.isReady,
    onUnreceived: (ids) => state.side?.onUnreceived(ids),
    monotonic: () => clock.monotonic(),
    logger,
  });
  const recovery = createRecovery({
    hold: fanOut.hold,
    release: fanOut.release,
    isConnected: () => state.isConnected,
    onCaughtUp: () => {
      hub.closeAll(closeCodes.tryLater, 'Messages were missed');
      logger.event('replica_caught_up', { replicaId: id });
    },
    clock,
    logger,
  });
  const handler = sessionHandlerOf(state, { fanOut, term, recovery });
  starting.use(await openSession({ url, replicaId: id, clock, logger, handler }));
  const lastReceived = await register(db, id, clock);
  const running = starting.move();
  const parts = { options: { ...options, clock }, leadership, fanOut, recovery, lastReceived };
  return replicasOf(state, parts, async () => {
    state.watchers?.[Symbol.dispose]();
    await running.disposeAsync();
  });
}

function deliver({ side, events, tokens, watchers, cloudChanged }: ReplicaState, { message, before }: Delivered): void {
  switch (message.kind) {
    case 'reports':
      return side?.onReports(message.reports, before);
    case 'event':
      return events?.emit(message.event);
    case 'will':
      return side?.onWill(message);
    case 'revoked':
      return tokens?.takeOver(message.userId, message.at);
    case 'watched':
      return watchers?.receive(message);
    case 'cloud':
      return cloudChanged.emit();
  }
}

function sessionHandlerOf(
  state: ReplicaState,
  { fanOut, term, recovery }: { fanOut: FanOut; term: Term; recovery: Recovery },
): SessionHandler {
  const setConnected = (isConnected: boolean): void => {
    state.isConnected = isConnected;
    fanOut.listening(isConnected);
    state.connection.emit();
  };
  return {
    onConnected: () => {
      setConnected(true);
      recovery.gapEnds();
    },
    onLost: () => {
      recovery.gapBegins();
      term.end();
      setConnected(false);
    },
    onNotification: fanOut.receive,
    onTick: term.tick,
  };
}

type RunningParts = {
  /** With the database's clock. */
  options: Options;
  leadership: SettableLeadership;
  fanOut: FanOut;
  recovery: Recovery;
  lastReceived: LastReceived;
};

function replicasOf(state: ReplicaState, parts: RunningParts, dispose: () => Promise<void>): Replicas {
  const { options, leadership, fanOut, recovery, lastReceived } = parts;
  const { id, db, clock, logger } = options;
  const transact = createTransact(db, fanOut);
  const replicas: Replicas = {
    id,
    clock,
    leadership,
    lastReceived,
    commandTransaction: replicatedCommandTransaction(transact),
    isListening: () => state.isConnected,
    onListening: state.connection.subscribe,
    onGap: recovery.onGap,
    share: (events) => {
      state.events = events;
      return shareEvents(events, fanOut);
    },
    shareRevocations: async (tokens) => {
      state.tokens = tokens;
      const shared = await shareRevocations({ tokens, db, transact, clock, logger });
      recovery.onGap(shared.reload);
      return shared;
    },
    shareWatchers: (local) => {
      state.watchers = createSharedWatchers({ id, local, publish: fanOut.publish, clock });
      return state.watchers;
    },
    attachBroker: (side) => {
      state.side = side;
    },
    writeReports: (reports, newId, writeAlong) => {
      const mayDecide = async (transaction: DatabaseTransaction): Promise<boolean> =>
        (await isStillLeader(transaction, leadership.epoch())) &&
        !(await isAnyUnreceived(transaction, state.side?.takenOver() ?? []));
      return writeAndAnnounce({ db, fanOut, reports, newId, writeAlong, mayDecide });
    },
    publishWill: (deviceId, ageMs) => fanOut.publish({ kind: 'will', deviceId, at: clock.now(), ageMs }),
    publishCloudChanged: () => fanOut.publish({ kind: 'cloud' }),
    onCloudChanged: state.cloudChanged.subscribe,
    exclusively: createExclusively(db),
    begin: (also) => {
      state.isReady = true;
      recovery.begin(also);
    },
    forget: async (replicaId) => {
      await db.deleteFrom('replicas').where('id', '=', replicaId).execute();
    },
    openLink: (link) => openSharedLink({ ...link, replicas }),
    [Symbol.asyncDispose]: dispose,
  };
  return replicas;
}

/** Stored before the broker keeps messages for it: if it stops or hangs soon, another replica takes over its session. */
async function register(db: Database, id: string, clock: Clock): Promise<LastReceived> {
  const row = { id, process: 0, hears: -1, seen_at: clock.now() };
  await db
    .insertInto('replicas')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { seen_at: sureAt } = await db
    .selectFrom('replicas')
    .select('seen_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return { sureAt, goneAt: Math.min(clock.now(), sureAt + aliveEveryMs) };
}

type Writing = Omit<Parameters<typeof writeSharedReports>[0], 'announce'> & { fanOut: FanOut };

async function writeAndAnnounce({ fanOut, ...writing }: Writing): Promise<Written> {
  let name = '';
  let written: Written;
  try {
    written = await writeSharedReports({
      ...writing,
      announce: async (transaction, { reports, before }) => {
        name = await fanOut.announce(transaction, { kind: 'reports', reports }, before);
      },
    });
  } catch (error) {
    fanOut.settled(name, false);
    throw error;
  }
  fanOut.settled(name, true);
  return written;
}

const measureEveryMs = 60_000;
/** A smaller difference is a measuring error. */
const toleranceMs = 20;

type DatabaseClock = AsyncDisposable & { clock: Clock };

/**
 * The database's time, so that times written by different replicas are comparable. It is measured at the start and once a minute; in
 * between, the machine's clock advances it.
 * @throws (rejects) when the database does not answer.
 */
async function startDatabaseClock(db: Database, base: Clock): Promise<DatabaseClock> {
  let offset = await measureOffset(db, base);
  const stopping = new AbortController();
  const measuring = (async () => {
    while (!stopping.signal.aborted) {
      await base.sleep(measureEveryMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      // While the database is offline, the last measurement is used.
      const measured = await measureOffset(db, base).catch(() => offset);
      if (Math.abs(measured - offset) > toleranceMs) offset = measured;
    }
  })();
  return {
    clock: { ...base, now: () => Math.round(base.now() + offset) },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await measuring;
    },
  };
}

/** The fastest of three answers is the most accurate. */
async function measureOffset(db: Database, base: Clock): Promise<number> {
  let best = { tookMs: Infinity, offset: 0 };
  for (let attempt = 0; attempt < 3; attempt++) {
    const before = base.monotonic();
    const query = sql<{ now: string | number }>`select extract(epoch from clock_timestamp()) * 1000 as now`;
    const { rows } = await query.execute(db);
    const tookMs = base.monotonic() - before;
    if (tookMs < best.tookMs) best = { tookMs, offset: Number(rows[0]?.now) + tookMs / 2 - base.now() };
  }
  return best.offset;
}
