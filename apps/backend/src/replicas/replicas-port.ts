import type { Clock } from '@station/kit/clock';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { DeviceEvents, DeviceReport, StatesBefore, Written } from '../core/device-events.ts';
import type { Leadership } from '../core/leadership.ts';
import type { BrokerLink } from '../mqtt/broker-link.ts';
import type { SharedLinkParts } from '../mqtt/ports.ts';
import type { LastHeard } from '../mqtt/session-backlog.ts';
import type { TellCommands } from '../store/command-store.ts';
import type { WriteAlong } from '../store/report-store.ts';

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
