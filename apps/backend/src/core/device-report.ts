/** What came from a device, once its message was found good. `at` is when it was received, milliseconds since the epoch. */
export type DeviceReport = { deviceId: string; at: number } &
  /** `saidAt`: the earliest time it was said, when it may have waited at the broker while others of the device came another way. */
  (
    | { kind: 'state'; state: Readonly<Record<string, unknown>>; saidAt?: number }
    | { kind: 'event'; eventKind: string; data: Readonly<Record<string, unknown>> }
    /** `quietSince`: offline holds only if the device was not heard after this time. */
    | { kind: 'status'; status: 'online' | 'offline'; quietSince?: number }
    | { kind: 'handshake'; firmwareVersion: string; chip: string; kitTag: string | null }
  );
