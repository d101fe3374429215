/** Between a test and the peripheral program (`peripheral.ts`): one JSON object a line over TCP. */

/** `name`: `SH_<type>_<id>`. An Improv device advertises the Improv service and its service data. */
export type Advertisement = { name: string; isImprov?: boolean };

/** Where the device drops the link: at once, while the central discovers its services, instead of its answer to a write, or after that. */
const faultKinds = ['on_connect', 'in_discovery', 'before_answer', 'after_write'] as const;
export type Fault = (typeof faultKinds)[number];

export type PeripheralOrder =
  | { order: 'advertise'; advertisement: Advertisement }
  | { order: 'end_advertisement' }
  /** From now on it drops this share of its connections. The same seed draws the same faults. */
  | { order: 'fail'; share: number; seed: number }
  /** From now on it takes this time to answer a write, in ms. */
  | { order: 'answer_after'; ms: number }
  /** How the join ended that an Improv device tells of by `credentials`. */
  | { order: 'improv_joined'; isJoined: boolean };

export type PeripheralEvent =
  | { event: 'advertises'; name: string }
  | { event: 'silent' }
  | { event: 'connected' }
  | { event: 'disconnected' }
  | { event: 'disconnects'; fault: Fault }
  | { event: 'written'; base64: string }
  | { event: 'credentials'; ssid: string; password: string }
  | { event: 'trouble'; message: string };

/** @returns null for a connection that holds. */
export function drawFault({ share, random }: { share: number; random: () => number }): Fault | null {
  return random() < share ? (faultKinds[Math.floor(random() * faultKinds.length)] ?? null) : null;
}
