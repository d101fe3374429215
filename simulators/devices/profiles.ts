/** How a device speaks to the station. Facts of the field: contracts, section 8. */
export type ProfileName = 'station' | 'field';

export type Profile = {
  /** Of everything that it publishes and subscribes to. */
  qos: 0 | 1;
  keepaliveSeconds: number;
  /** At least; up to twice as long, so that a thousand devices do not reconnect at the same moment. */
  reconnectMs: number;
  isWillRetained: boolean;
  /** An unanswered handshake is repeated after this time. Nothing else is repeated. */
  handshakeRetryMs: number;
  /** A received packet that is larger is dropped. */
  receiveBytes: number;
  /** Whether it reports `command_ack`, `ota_progress` and `ota_failed`. */
  reportsCommands: boolean;
  /** Null: it continues whatever the station answers, and a factory reset is only a restart. */
  erasesItself: { afterRefusals: number; refusalRetryMs: number } | null;
};

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  station: {
    qos: 1,
    keepaliveSeconds: 30,
    reconnectMs: 1_000,
    isWillRetained: false,
    handshakeRetryMs: 10_000,
    receiveBytes: Infinity,
    reportsCommands: true,
    erasesItself: null,
  },
  field: {
    qos: 0,
    keepaliveSeconds: 15,
    reconnectMs: 1_000,
    isWillRetained: true,
    handshakeRetryMs: 300_000,
    receiveBytes: 1_024,
    reportsCommands: false,
    erasesItself: { afterRefusals: 3, refusalRetryMs: 5_000 },
  },
};
