import type { DeviceTopicEnd } from '@station/protocol/topics';
import type { DeviceReport, StatesBefore, Written } from '../core/device-events.ts';
import type { AvailabilityKeeper } from './availability-keeper.ts';
import type { BrokerClientOptions, BrokerSession } from './broker-client.ts';
import type { BrokerLink } from './broker-link.ts';

/** What MQTT needs of the device records; `store/device-store.ts` implements it. */
export type MqttDevices = {
  list(): Promise<
    {
      id: string;
      external_id: string;
      status: 'unknown' | 'online' | 'offline';
      status_at: number | null;
      fault: string | null;
    }[]
  >;
  findByExternalId(externalId: string): Promise<{ id: string; type: string; device_token: string } | null>;
};

/** A message of a device that the station does not have. `body` matches the schema of `end`. */
export type UnregisteredMessage = { externalId: string; end: DeviceTopicEnd; body: unknown };

export type UnregisteredAnswer =
  | { kind: 'silence' }
  /** Somebody accepted it: it is a device of the station now. */
  | { kind: 'added' }
  /** It was removed on this station: it gets the command, and its handshake is answered `unknown_device`. */
  | { kind: 'removed'; isHandshake: boolean; command: Readonly<Record<string, unknown>> };

/** Devices that the station does not have; `devices/unregistered-devices.ts` implements it. */
export type UnregisteredDevices = {
  /** Never rejects. */
  receive(message: UnregisteredMessage): Promise<UnregisteredAnswer>;
  /** Whether a device that the station does not have may log in to the embedded broker. @param tokenHash SHA-256 (hex). */
  mayLogIn(externalId: string, tokenHash: string): Promise<boolean>;
};

/** Logins that still have to be removed at the broker. They are noted when the login of a removed device ends. */
export type RemovedLogins = {
  list(): Promise<RemovedLogin[]>;
  /** The login was removed at the broker, or belongs to a device that was added again. */
  forget(login: RemovedLogin): Promise<void>;
};
type RemovedLogin = { deviceId: string; externalId: string };

/** Writes a batch as a whole or not at all. Resolved means on disk. */
export type WriteReports = (reports: readonly DeviceReport[]) => Promise<Written>;

/** Publishes a batch that may wait for the disk; the next write brings it there. Null: it must be written. */
export type TakeReports = (reports: readonly DeviceReport[]) => Promise<Written | null>;

/** `before` is set for reports that this process wrote itself. */
export type OnReports = (reports: readonly DeviceReport[], before: StatesBefore | undefined) => void;

/** What several backends on one broker share; `replicas/` implements it. Reports that one writes are emitted on all. */
export type MqttSharing = {
  /** Reloads what may have changed during a gap; called after each gap. */
  onGap(reload: () => Promise<void>): Disposable;
  /** Tells all replicas that the broker published a device's last will, at most `ageMs` ago. */
  publishWill(deviceId: string, ageMs: number): void;
  /** Runs in one backend at a time; protects the broker's logins. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  openLink(parts: SharedLinkParts): BrokerLink;
};

export type SharedLinkParts = {
  connect: (options: BrokerClientOptions) => BrokerSession;
  /** How a single backend would connect. */
  own: BrokerClientOptions;
  stationId: string;
  keeper: AvailabilityKeeper;
  onReports: OnReports;
};
