import type { DeviceTopicEnd } from '@station/protocol/topics';

/** A message of a gateway, on a topic of its tree. */
export type GatewayMessage = {
  topic: string;
  payload: Buffer;
  /** The broker kept it: what it says may be old. */
  isRetained: boolean;
};

/** A message as a device of the station's own form would publish it. */
export type DeviceMessage = { externalId: string; end: DeviceTopicEnd; body: Readonly<Record<string, unknown>> };

/** MQTT topic filters, with `+` and `#`: what a login may publish, and what it may read. */
export type TopicRights = { mayPublish: readonly string[]; mayRead: readonly string[] };

/** The login of another system: it may do what its rights name, and nothing else. */
export type SystemLogin = { login: string; rights: TopicRights };

export type ForeignReading = {
  messages: readonly DeviceMessage[];
  /** Before they are taken, what they are must be on disk; null: it is. Never rejects. */
  stored: Promise<void> | null;
  /** Reads what comes after them, when they are on disk; left out: nothing does. */
  next?: () => ForeignReading;
};

/** Devices of other systems, which speak through a gateway; `gateways/` implements it (ADR 82). */
export type ForeignDevices = {
  /** MQTT topic filters of what other systems publish, for example `zigbee2mqtt/#`. */
  filters(): readonly string[];
  /** Null: it is no login of another system. `tokenHash`: SHA-256 (hex). `isSmall`: it sends no lists, and as little as a device. */
  findLogin(login: string): (SystemLogin & { tokenHash: string; isSmall?: true }) | null;
  isForeign(externalId: string): boolean;
  /** What a message means for devices, in order. */
  read(message: GatewayMessage): ForeignReading;
  /** What its gateway takes for a command, in order. Null: the device has no such command. */
  write(externalId: string, command: Readonly<Record<string, unknown>>): readonly ForeignPublish[] | null;
  /** The broker inside the backend refused the log-in of somebody with a last will on this topic. */
  refused(willTopic: string): void;
  /** The link to the broker is open. Disposed before it closes. */
  attach(broker: GatewayBroker): Disposable;
};

/** A message for a device of a gateway. */
type ForeignPublish = { topic: string; payload: string };

/** How long a message waits that is not retained, milliseconds. */
export const passingMs = 10_000;

/** A connection of the station to the broker for one other system; `mqtt/` implements it. */
export type SystemLink = AsyncDisposable & {
  /**
   * At QoS 1. `isRetained`: the broker keeps it; an empty payload ends that.
   * @throws (rejects) when the broker is offline or refuses.
   */
  publish(topic: string, payload: string, isRetained: boolean): Promise<void>;
  /** Whether the other system is connected; null: not known. */
  isHeard(): boolean | null;
};

export type SystemLinkOptions = SystemLogin & {
  /** The broker publishes it, retained, when the station is gone. */
  will: { topic: string; payload: string };
  /** The broker can be used, for the first time or again: it may have lost what it kept. */
  onConnected(): void;
  /** What the other system publishes, where the broker does not bring it by `ForeignDevices.read`. */
  onMessage(message: GatewayMessage): void;
};

/** What other systems use of the broker; `mqtt/` implements it. */
export type GatewayBroker = {
  /** Takes a message as if the device had sent it. */
  receive(message: DeviceMessage): Promise<void>;
  /** Reads it in its turn among the messages of gateways. */
  hear(read: () => ForeignReading): void;
  /** Asks a device of a gateway; the answer is a message. A question that the broker does not take is lost. */
  ask(question: ForeignPublish): void;
  /** `filters` gives others now. */
  onFiltersChanged(): void;
  /**
   * Adds or replaces a login. @returns false when another system manages the logins of this broker.
   * @throws (rejects) when the broker is offline or refuses.
   */
  addLogin(login: SystemLogin & { token: string }): Promise<boolean>;
  /** Ends a login and its connections. @throws (rejects) when the broker is offline or refuses. */
  removeLogin(login: SystemLogin): Promise<void>;
  openLink(options: SystemLinkOptions): SystemLink;
  /**
   * Where another system manages the logins: brings what the broker keeps on these topics, and what is published there, for three seconds. Elsewhere
   * nothing: there the station made every login.
   */
  listen(filters: readonly string[], onMessage: (message: GatewayMessage) => void): void;
};
