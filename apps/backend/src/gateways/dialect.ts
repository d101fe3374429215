import type { DeviceType } from '@station/protocol/device-types';
import type { NotSupported } from '@station/protocol/gateways';

type Names = NonNullable<DeviceType['names']>;

/** What is between a dialect's tables and the rest: JSON, so that it is kept between two runs (ADR 84). */

type PropertyBase = {
  /** Where the value stands in a payload, for example `["color", "x"]`. */
  path: readonly string[];
  /** Where a command writes it; left out: at the same place. */
  set?: readonly string[];
  /** Key of the capability. */
  key: string;
  isReadable: boolean;
  isSettable: boolean;
};

/** One value of a device: how its dialect writes it, and what it is for the station. */
export type Property = PropertyBase &
  /**
   * `writes`: for true and false, where it is written otherwise than it is read. `offAfterMs`: it is false so long after it last said true,
   * because it may never say so itself.
   */
  (
    | { kind: 'boolean'; on: unknown; off: unknown; writes?: readonly unknown[]; offAfterMs?: number }
    /** `full`: what its dialect writes for 100 %; `isTurned`: 0 is its 100 %. Left out: the number itself. */
    | { kind: 'number'; full?: number; isTurned?: boolean }
    /** The values as their dialect writes them; the station knows their texts. `reads`, `writes`: for each, where they differ. */
    | { kind: 'enum'; values: readonly unknown[]; reads?: readonly unknown[]; writes?: readonly unknown[] }
    | { kind: 'text' }
    /** A list, or an object that is not described: its JSON is a text. */
    | { kind: 'json' }
  );

/** Of `offAfterMs` and `silentAfterMs`. */
export const longestWaitMs = 7 * 24 * 60 * 60_000;

/** A value that a command writes without a parameter. */
export type FixedValue = { path: readonly string[]; value: unknown };

/** How payloads of a device are read, and its commands written. */
export type DevicePlan = {
  properties: readonly Property[];
  /** By action, what is written besides its parameters. No other command is written. */
  actions: Readonly<Record<string, readonly FixedValue[]>>;
  /** Key of the value that is also an event, as of a button; null: none. */
  eventKey: string | null;
  /** What its own topic of availability says; left out: what its dialect always says. */
  availability?: { online: string; offline: string };
  /** Topics of availability that are the device's own choice. It is offline while one of them says so. */
  presence?: readonly Presence[];
  /** It is offline when it said nothing for so long; left out: it may be silent. */
  silentAfterMs?: number;
};

/** `path`: where the word stands in a payload; empty: it is the payload. */
export type Presence = { topic: string; path: readonly string[]; online: string; offline: string };

/** Whole topics. Kept with the plan; not part of it, so that devices of one model share a plan. */
export type ForeignTopics = {
  /** A message on one of these is of the device. */
  heard: readonly string[];
  /** Where it takes commands: the topic itself, or what its dialect puts its own ends to. */
  command: string;
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
  /** As people call it there. */
  name: string;
  topics: ForeignTopics;
  words: DeviceWords;
  plan: DevicePlan;
};

/** An announced device, as a dialect needs it to read its messages. */
export type DialectDevice = { externalId: string; topics: ForeignTopics; plan: DevicePlan };

/** Values of a device, by the keys of its type. `event`: somebody pressed a button. */
export type ForeignReport = { state: Readonly<Record<string, unknown>>; event: string | null };

/** A message that is never retained. */
export type Publish = { topic: string; payload: string };

export type Availability = 'online' | 'offline';

/** `isOf`: whether the list is about such a device, by its external id. `refused`: those of it that are not taken. */
export type AnnouncedList = {
  /** Gone through once. */
  devices: Iterable<AnnouncedDevice>;
  refused: readonly NotSupported[];
  isOf: (externalId: string) => boolean;
};

/** What one message says. */
export type Said =
  /** All devices, or all of a kind: those that are missing are gone. Null: it is no list. A text that was taken for it is not read again. */
  | { kind: 'list'; of: string; devices: () => AnnouncedList | null }
  | { kind: 'device'; device: AnnouncedDevice }
  /** A part of a device, by its external id: what is said of it when no other part came for a moment. */
  | { kind: 'part'; device: string; say: () => readonly Said[] }
  /** A person removed it there. */
  | { kind: 'removed'; device: DialectDevice }
  /** Of the gateway, and so of all its devices. */
  | { kind: 'gateway'; availability: Availability }
  | { kind: 'available'; device: DialectDevice; availability: Availability }
  | { kind: 'report'; device: DialectDevice; report: ForeignReport }
  /** All that could not be taken of a source, such as a topic or a device; none: nothing was left out. */
  | { kind: 'refused'; source: string; entries: readonly NotSupported[] }
  /** Asked once while the device is online, and again after a while when its reason comes again. */
  | { kind: 'question'; device: string; reason: string; publish: Publish };

/** Where the messages of a gateway are. */
export type Place = {
  /** Base topic of the gateway. */
  base: string;
  /** Where its devices announce themselves, where that is another tree. */
  discovery: string | null;
};

export type Heard = Place & {
  topic: string;
  text: string;
};

/** What is known of a gateway when it says something. */
export type Known<Memory> = {
  /** What the dialect remembers of announcements that come in parts. It ends with the run. */
  memory: Memory;
  /** Those that a message on this topic is of. */
  at(topic: string): readonly DialectDevice[];
  find(externalId: string): DialectDevice | undefined;
};

/** How the devices of one system speak. Everything else is the same for all (`gateway-reader.ts`). */
export type Dialect<Memory = unknown> = {
  /** The trees of topics that its gateways use. */
  trees(place: Place): readonly string[];
  /** Whether it is a list of all devices, which may be large. */
  isList(base: string, topic: string): boolean;
  /** Whether each device says itself when it is online; else its gateway does. */
  isEachForItself: boolean;
  /** A system is noticed before it is connected by the topic of a last will. */
  lastWill: {
    /** MQTT topic filters of where it usually is. */
    usual: readonly string[];
    /** The base topic of a gateway that would take who has its last will there; null: it is not of this system. */
    baseTopic(topic: string): string | null;
  };
  remember(): Memory;
  /** Never throws. */
  read(heard: Heard, known: Known<Memory>): readonly Said[];
  /** @param payload the values of a command, at their paths. */
  write(device: DialectDevice, payload: Readonly<Record<string, unknown>>): readonly Publish[];
};
