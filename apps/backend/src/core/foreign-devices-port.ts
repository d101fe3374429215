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

/** The login of a gateway: it may publish and read below `base`, and nothing else. */
export type GatewayLogin = { login: string; base: string };

/** Devices of other systems, which speak through a gateway; `gateways/` implements it (ADR 82). */
export type ForeignDevices = {
  /** Base topics of the gateways, for example `zigbee2mqtt`. */
  bases(): readonly string[];
  /** Null: it is no login of a gateway. `tokenHash`: SHA-256 (hex). */
  findLogin(login: string): (GatewayLogin & { tokenHash: string }) | null;
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
  /** The base topics are others now. */
  onBasesChanged(): void;
  /**
   * Adds or replaces a login. @returns false when another system manages the logins of this broker.
   * @throws (rejects) when the broker is offline or refuses.
   */
  addLogin(login: GatewayLogin & { token: string }): Promise<boolean>;
  /** Ends a login and its connections. @throws (rejects) when the broker is offline or refuses. */
  removeLogin(login: GatewayLogin): Promise<void>;
};
