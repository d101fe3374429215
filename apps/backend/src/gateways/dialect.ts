import type { DeviceType } from '@station/protocol/device-types';

type Names = NonNullable<DeviceType['names']>;

/** What is between a dialect's tables and the rest: JSON, so that it is kept between two runs (ADR 82). */

type PropertyBase = {
  /** Where the value stands in a payload, for example `["color", "x"]`. */
  path: readonly string[];
  /** Key of the capability. */
  key: string;
  isReadable: boolean;
  isSettable: boolean;
};

/** One value of a device: how its dialect writes it, and what it is for the station. */
export type Property = PropertyBase &
  (
    | { kind: 'boolean'; on: unknown; off: unknown }
    /** `full`: what its dialect writes for 100 %; left out: the number itself. */
    | { kind: 'number'; full?: number }
    /** The values as their dialect writes them; the station knows their texts. */
    | { kind: 'enum'; values: readonly unknown[] }
    | { kind: 'text' }
    /** A list, or an object that is not described: its JSON is a text. */
    | { kind: 'json' }
  );

/** A value that a command writes without a parameter. */
export type FixedValue = { path: readonly string[]; value: unknown };

/** How payloads of a device are read, and its commands written. */
export type DevicePlan = {
  properties: readonly Property[];
  /** By action, what is written besides its parameters. No other command is written. */
  actions: Readonly<Record<string, readonly FixedValue[]>>;
  /** Key of the value that is also an event, as of a button; null: none. */
  eventKey: string | null;
};

/** The device's own words about itself, as in a handshake (contracts, section 8a). */
type DeviceWords = {
  type: string;
  firmwareVersion: string;
  chip: string;
  names?: Names;
  icon?: string;
  capabilities: readonly Record<string, unknown>[];
  commands: readonly Record<string, unknown>[];
  events: readonly Record<string, unknown>[];
  primary?: { capability: string; command?: string };
};

/** A device that a gateway has announced. */
export type AnnouncedDevice = {
  externalId: string;
  /** As the gateway calls it; also part of its topics. */
  name: string;
  words: DeviceWords;
  plan: DevicePlan;
};
