import type { Clock } from '@station/kit/clock';
import { closeCodes } from '@station/protocol/socket';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { DeviceEvents, DeviceReport, StatesBefore, Written } from '../core/device-events.ts';
import { createLeadership, type Leadership } from '../core/leadership.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { LastHeard } from '../mqtt/session-backlog.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { TellCommands } from '../store/command-store.ts';
import type { WriteAlong } from '../store/report-store.ts';
import type { Database } from '../store/schema.ts';
import { startDatabaseClock } from './database-clock.ts';
import { createFanOut, type FanOut } from './fan-out.ts';
import { isAnyoneUnheard, isStillLeader } from './fence.ts';
import type { BrokerLink } from '../mqtt/broker-link.ts';
import type { SharedLinkParts } from '../mqtt/ports.ts';
import { openSharedLink } from './shared-link.ts';
import { createRecovery } from './recovery.ts';
import { openSession } from './session.ts';
import { shareEvents } from './shared-events.ts';
import { writeSharedReports } from './shared-reports.ts';
import { shareRevocations } from './shared-revocations.ts';
import { createTerm, sayEveryMs } from './term.ts';
import { createExclusively, createTransact, tellCommandsBy } from './transact.ts';

type ReportsListener = (reports: readonly DeviceReport[], before: StatesBefore | undefined) => void;

/** What the broker's side of a replica gives and gets. */
export type BrokerSide = {
  onReports: ReportsListener;
  onWill: (will: { deviceId: string; at: number; ageMs: number }) => void;
  /** Each second while leading: the replicas whose broker sessions nobody hears. */
  onUnheard: (ids: readonly string[]) => void;
  /** Those of them that this replica hears in their place. */
  takenOver: () => readonly string[];
  hears: () => boolean;
};

/** This backend as one of several on the same PostgreSQL and the same broker (docs/adr/0012). */
export type Replicas = AsyncDisposable & {
  id: string;
  /** The time of the database, the same for all. */
  clock: Clock;
  leadership: Leadership;
  /** Whether what the others say is heard. */
  isListening(): boolean;
  /** Calls `listener` when hearing the others begins or ends. */
  onListening(listener: () => void): Disposable;
  /** What is told here is told at every replica, in the same order; `reports` and `status` stay here, for each makes its own. */
  share(local: DeviceEvents): DeviceEvents;
  /** Passes revocations on, and takes those of others over. */
  shareRevocations(tokens: AccessTokens): Promise<Disposable>;
  attachBroker(side: BrokerSide): void;
  writeReports(
    reports: readonly DeviceReport[],
    newId: () => string,
    writeAlong: WriteAlong | undefined,
  ): Promise<Written>;
  /** When this replica was last heard of before it started. */
  lastHeard: LastHeard;
  /** Tells all that the broker published a device's last will, so long ago or later. */
  tellWill(deviceId: string, ageMs: number): void;
  /** Tells all that another cloud, or none, is stored now. */
  tellCloudChanged(): void;
  onCloudChanged(listener: () => void): Disposable;
  /** One replica at a time, for what concerns the broker's logins. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Tells all what becomes of commands, in the transaction that writes it. */
  tellCommands: TellCommands;
  /** Reads again what may have changed unheard; called after each gap, before anything newer is delivered. */
  onGap(reload: () => Promise<void>): Disposable;
  /**
   * Everything listens: deliver what came meanwhile, and lead if nobody does.
   * @param also more that reads again after a gap.
   */
  begin(also: readonly (() => Promise<void>)[]): void;
  forget(replicaId: string): Promise<void>;
  openLink(parts: SharedLinkParts): BrokerLink;
};

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
  const listeners = new Set<() => void>();
  const cloudListeners = new Set<() => void>();
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
        logger.event('unexpected_error', { where: 'telling the other replicas', message: 'Too many wait' }),
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
            return cloudListeners.forEach((listener) => listener());
        }
      },
    }),
  );
  const term = createTerm({
    replicaId: id,
    leadership,
    hears: () => side?.hears() ?? false,
    isReady: () => isReady,
    onUnheard: (ids) => side?.onUnheard(ids),
    monotonic: () => clock.monotonic(),
    logger,
  });
  const change = (connected: boolean): void => {
    isConnected = connected;
    fanOut.listening(connected);
    for (const listener of listeners) listener();
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
  const lastHeard = await introduce(db, id, clock);

  const transact = createTransact(db, fanOut);
  const running = starting.move();
  const replicas: Replicas = {
    id,
    clock,
    leadership,
    lastHeard,
    tellCommands: tellCommandsBy(transact),
    isListening: () => isConnected,
    onListening: (listener) => subscribe(listeners, listener),
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
          !(await isAnyoneUnheard(transaction, side?.takenOver() ?? [])),
      }),
    tellWill: (deviceId, ageMs) => fanOut.publish({ kind: 'will', deviceId, at: clock.now(), ageMs }),
    tellCloudChanged: () => fanOut.publish({ kind: 'cloud' }),
    onCloudChanged: (listener) => subscribe(cloudListeners, listener),
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

function subscribe(listeners: Set<() => void>, listener: () => void): Disposable {
  listeners.add(listener);
  return { [Symbol.dispose]: () => void listeners.delete(listener) };
}

/** Known before the broker keeps anything for it: however soon it ends or hangs, its share is heard by another. */
async function introduce(db: Database, id: string, clock: Clock): Promise<LastHeard> {
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
  return { sureAt, goneAt: Math.min(clock.now(), sureAt + sayEveryMs) };
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
