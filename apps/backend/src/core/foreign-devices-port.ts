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

/** Devices of other systems, which speak through a gateway; `gateways/` implements it (ADR 82). */
export type ForeignDevices = {
  /** MQTT topic filters of what other systems publish, for example `zigbee2mqtt/#`. */
  filters(): readonly string[];
  /** Null: it is no login of another system. `tokenHash`: SHA-256 (hex). */
  findLogin(login: string): (SystemLogin & { tokenHash: string }) | null;
  isForeign(externalId: string): boolean;
  /**
   * What a message means for devices, in order. `stored`: before they are taken, what they are must be on disk; null: it is. Never rejects.
   */
  read(message: GatewayMessage): { messages: readonly DeviceMessage[]; stored: Promise<void> | null };
  /** What its gateway takes for a command. Null: the device has no such command. */
  write(externalId: string, command: Readonly<Record<string, unknown>>): { topic: string; payload: string } | null;
  /** The link to the broker is open. Disposed before it closes. */
  attach(broker: GatewayBroker): Disposable;
};

/** What gateways use of the broker; `mqtt/` implements it. */
export type GatewayBroker = {
  /** Takes a message as if the device had sent it. */
  receive(message: DeviceMessage): Promise<void>;
  /** `filters` gives others now. */
  onFiltersChanged(): void;
  /**
   * Adds or replaces a login. @returns false when another system manages the logins of this broker.
   * @throws (rejects) when the broker is offline or refuses.
   */
  addLogin(login: SystemLogin & { token: string }): Promise<boolean>;
  /** Ends a login and its connections. @throws (rejects) when the broker is offline or refuses. */
  removeLogin(login: SystemLogin): Promise<void>;
};
