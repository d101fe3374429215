import type { Clock } from '@station/kit/clock';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { DeviceEvents, DeviceReport, StatesBefore, Written } from '../core/device-events.ts';
import type { Leadership } from '../core/leadership.ts';
import type { Watchers } from '../core/watchers.ts';
import type { BrokerLink } from '../mqtt/broker-link.ts';
import type { SharedLinkParts } from '../mqtt/ports.ts';
import type { LastReceived } from '../mqtt/session-backlog.ts';
import type { CommandTransaction } from '../store/command-store.ts';
import type { WriteAlong } from '../history/report-store.ts';

type ReportsListener = (reports: readonly DeviceReport[], before: StatesBefore | undefined) => void;

/** Data exchanged with the broker link of a replica. */
export type BrokerSide = {
  onReports: ReportsListener;
  onWill: (will: { deviceId: string; at: number; ageMs: number }) => void;
  /** Each second while leading: the replicas whose broker sessions are not received. */
  onUnreceived: (ids: readonly string[]) => void;
  /** The replicas whose sessions this replica has taken over. */
  takenOver: () => readonly string[];
  isReceiving: () => boolean;
};

/** This backend as one of several on the same PostgreSQL and the same broker (docs/adr/0012). */
export type Replicas = AsyncDisposable & {
  id: string;
  /** The database's time, the same for all replicas. */
  clock: Clock;
  leadership: Leadership;
  /** Whether messages of the other replicas are received. */
  isListening(): boolean;
  /** Calls `listener` when receiving from the others starts or stops. */
  onListening(listener: () => void): Disposable;
  /** Events emitted here reach every replica in the same order. `reports` and `status` stay here: each replica makes its own. */
  share(local: DeviceEvents): DeviceEvents;
  /** Sends revocations to the others, and applies theirs. */
  shareRevocations(tokens: AccessTokens): Promise<Disposable>;
  /** @param local the clients of this replica. */
  shareWatchers(local: Watchers): Watchers;
  attachBroker(side: BrokerSide): void;
  writeReports(
    reports: readonly DeviceReport[],
    newId: () => string,
    writeAlong: WriteAlong | undefined,
  ): Promise<Written>;
  /** When this replica was last alive before it started. */
  lastReceived: LastReceived;
  /** Tells all replicas that the broker published a device's last will, at most `ageMs` ago. */
  publishWill(deviceId: string, ageMs: number): void;
  /** Tells all replicas that the stored cloud configuration changed. */
  publishCloudChanged(): void;
  onCloudChanged(listener: () => void): Disposable;
  /** Runs in one replica at a time; protects the broker's logins. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Sends changes of commands to all replicas, in the transaction that writes them. */
  commandTransaction: CommandTransaction;
  /** Reloads what may have changed during a gap; called after each gap, before newer messages are delivered. */
  onGap(reload: () => Promise<void>): Disposable;
  /**
   * All listeners are ready: delivers the held messages, and leads if no other replica does.
   * @param also further reloads after a gap.
   */
  begin(also: readonly (() => Promise<void>)[]): void;
  forget(replicaId: string): Promise<void>;
  openLink(parts: SharedLinkParts): BrokerLink;
};
