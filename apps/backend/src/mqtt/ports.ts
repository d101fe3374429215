import type { DeviceReport, StatesBefore, Written } from '../core/device-events.ts';
import type { AvailabilityKeeper } from './availability-keeper.ts';
import type { BrokerClientOptions, BrokerSession } from './broker-client.ts';
import type { BrokerLink } from './broker-link.ts';

/** What is needed of the records of devices; `store/device-store.ts` has it. */
export type MqttDevices = {
  list(): Promise<
    { id: string; external_id: string; status: 'unknown' | 'online' | 'offline'; status_at: number | null }[]
  >;
  findByExternalId(externalId: string): Promise<{ id: string; type: string; device_token: string } | null>;
};

/** Logins that the broker is still to be told to take back. They are noted where devices are removed. */
export type RemovedLogins = {
  list(): Promise<RemovedLogin[]>;
  /** It is gone from the broker, or belongs to a device that was added since. */
  forget(login: RemovedLogin): Promise<void>;
};
type RemovedLogin = { deviceId: string; externalId: string };

/** Writes a batch as a whole or not at all. Resolved means on disk. */
export type WriteReports = (reports: readonly DeviceReport[]) => Promise<Written>;

/** `before` comes with those that this process wrote itself. */
export type OnReports = (reports: readonly DeviceReport[], before: StatesBefore | undefined) => void;

/** What several backends at the same broker do together; `replicas/` has it. Reports that one writes are told at all of them. */
export type MqttSharing = {
  /** Reads again what may have changed unheard; called after each gap. */
  onGap(reload: () => Promise<void>): Disposable;
  /** Tells all that the broker published a device's last will, so long ago or later. */
  tellWill(deviceId: string, ageMs: number): void;
  /** One backend at a time, for what concerns the broker's logins. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  openLink(parts: SharedLinkParts): BrokerLink;
};

export type SharedLinkParts = {
  connect: (options: BrokerClientOptions) => BrokerSession;
  /** How a backend that is alone would connect. */
  own: BrokerClientOptions;
  stationId: string;
  keeper: AvailabilityKeeper;
  onReports: OnReports;
};
