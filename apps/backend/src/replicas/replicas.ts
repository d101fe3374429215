import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import type { BackendLogger } from '@station/kit/logger';
import { closeCodes } from '@station/protocol/socket';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { DeviceEvents, Written } from '../core/device-events.ts';
import { createLeadership } from '../core/leadership.ts';
import type { LastReceived } from '../mqtt/session-backlog.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { Database } from '../store/schema.ts';
import { createFanOut, type FanOut, shareEvents } from './fan-out.ts';
import { isAnyUnreceived, isStillLeader } from './locks.ts';
import { createRecovery } from './recovery.ts';
import type { BrokerSide, Replicas } from './replicas-port.ts';
import { openSession } from './session.ts';
import { openSharedLink } from './shared-link.ts';
import { writeSharedReports } from './shared-reports.ts';
import { shareRevocations } from './shared-revocations.ts';
import { createTerm, aliveEveryMs } from './term.ts';
import { createExclusively, createTransact, replicatedCommandTransaction } from './transact.ts';

export async function startReplicas(options: {
  id: string;
  db: Database;
  url: string;
  hub: Pick<SocketHub, 'closeAll'>;
  clock: Clock;
  logger: BackendLogger;
}): Promise<Replicas> {
  const { id, db, hub, logger } = options;
  await using starting = new AsyncDisposableStack();
  const { clock } = starting.use(await startDatabaseClock(db, options.clock));
  const leadership = createLeadership();
  const listening = createEmitter<void>();
  const cloudChanged = createEmitter<void>();
  let local: DeviceEvents | null = null;
  let tokens: AccessTokens | null = null;
  let side: BrokerSide | null = null;
  let isReady = false;
  let isConnected = false;

  const fanOut = starting.use(
    createFanOut({
      db,
      replicaId: id,
      clock,
      logger,
      onTooMany: () =>
        logger.event('unexpected_error', { where: 'notifying the other replicas', message: 'Too many messages wait' }),
      deliver: ({ message, before }) => {
        switch (message.kind) {
          case 'reports':
            return side?.onReports(message.reports, before);
          case 'happening':
            return local?.emit(message.happening);
          case 'will':
            return side?.onWill(message);
          case 'revoked':
            return tokens?.takeOver(message.userId, message.at);
          case 'cloud':
            return cloudChanged.emit();
        }
      },
    }),
  );
  const term = createTerm({
    replicaId: id,
    leadership,
    isReceiving: () => side?.isReceiving() ?? false,
    isReady: () => isReady,
    onUnreceived: (ids) => side?.onUnreceived(ids),
    monotonic: () => clock.monotonic(),
    logger,
  });
  const change = (connected: boolean): void => {
    isConnected = connected;
    fanOut.listening(connected);
    listening.emit();
  };
  const recovery = createRecovery({
    hold: fanOut.hold,
    release: fanOut.release,
    isConnected: () => isConnected,
    onCaughtUp: () => {
      hub.closeAll(closeCodes.tooSlow, 'Messages were missed');
      logger.event('replica_caught_up', { replicaId: id });
    },
    clock,
    logger,
  });
  const session = await openSession({
    url: options.url,
    replicaId: id,
    clock,
    logger,
    handler: {
      onConnected: () => {
        change(true);
        recovery.gapEnds();
      },
      onLost: () => {
        recovery.gapBegins();
        term.end();
        change(false);
      },
      onNotification: fanOut.receive,
      onTick: term.tick,
    },
  });
  starting.use(session);
  const lastReceived = await introduce(db, id, clock);

  const transact = createTransact(db, fanOut);
  const running = starting.move();
  const replicas: Replicas = {
    id,
    clock,
    leadership,
    lastReceived,
    commandTransaction: replicatedCommandTransaction(transact),
    isListening: () => isConnected,
    onListening: listening.subscribe,
    onGap: recovery.onGap,
    share: (events) => {
      local = events;
      return shareEvents(events, fanOut);
    },
    shareRevocations: async (given) => {
      tokens = given;
      const shared = await shareRevocations({ tokens: given, db, transact, clock, logger });
      recovery.onGap(shared.reload);
      return shared;
    },
    attachBroker: (given) => {
      side = given;
    },
    writeReports: (reports, newId, writeAlong) =>
      writeAndTell({
        db,
        fanOut,
        reports,
        newId,
        writeAlong,
        mayDecide: async (transaction) =>
          (await isStillLeader(transaction, leadership.epoch())) &&
          !(await isAnyUnreceived(transaction, side?.takenOver() ?? [])),
      }),
    publishWill: (deviceId, ageMs) => fanOut.publish({ kind: 'will', deviceId, at: clock.now(), ageMs }),
    publishCloudChanged: () => fanOut.publish({ kind: 'cloud' }),
    onCloudChanged: cloudChanged.subscribe,
    exclusively: createExclusively(db),
    begin: (also) => {
      isReady = true;
      recovery.begin(also);
    },
    forget: async (replicaId) => {
      await db.deleteFrom('replicas').where('id', '=', replicaId).execute();
    },
    openLink: (parts) => openSharedLink({ ...parts, replicas }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
  return replicas;
}

/** Stored before the broker keeps messages for it: if it stops or hangs soon, another replica takes over its session. */
async function introduce(db: Database, id: string, clock: Clock): Promise<LastReceived> {
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

async function writeAndTell({ fanOut, ...writing }: Writing): Promise<Written> {
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
