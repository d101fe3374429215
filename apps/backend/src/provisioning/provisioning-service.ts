import { type Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { createWaker, type Waker } from '@station/kit/wakeable';
import { maxPayloadBytes } from '@station/protocol/ble-frames';
import type { ProvisioningError } from '@station/protocol/provisioning';
import type { DeviceEvent, DeviceEvents } from '../core/device-events.ts';
import type { Leadership } from '../core/leadership.ts';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import { newToken } from '../core/secrets.ts';
import type { Mqtt } from '../mqtt/mqtt.ts';
import type { Expected } from './expected-devices.ts';
import { decideProvisioning, type ProvisioningStep } from './provisioning-decide.ts';
import type { ProvisioningRow } from './provisioning-ends.ts';
import type { OpenProvisioning, ProvisioningStore } from './provisioning-store.ts';
import { createRadioWrites, type RadioWrites, type WriteParts } from './radio-writes.ts';

/** Adds devices, and follows them until they are online. */
export type Provisionings = AsyncDisposable & {
  /** Shows what was begun, and takes it up. */
  begun(rows: readonly ProvisioningRow[]): void;
  /**
   * A token for a device that a person enters it into; the one before is revoked.
   * @returns the tokens in the order of the rows; null: the broker does not take them, and the provisionings failed.
   */
  makeLogins(rows: readonly ProvisioningRow[]): Promise<string[] | null>;
  /** @returns false: it had ended. */
  cancel(row: ProvisioningRow): Promise<boolean>;
  /** Resolves when everything so far is handled. */
  settled(): Promise<void>;
};

export type ProvisioningParts = WriteParts & {
  store: ProvisioningStore;
  expected: Expected;
  broker: Pick<Mqtt, 'addLogins' | 'isReady' | 'reconnect'> & { kind: 'embedded' | 'external' };
  events: DeviceEvents;
  /** With several backends only one of them writes and decides. */
  leadership: Leadership;
  trustedTime?: Pick<TrustedTime, 'subscribe'>;
  clock: Clock;
  logger: BackendLogger;
};

type Running = ProvisioningParts & {
  waker: Waker;
  writes: RadioWrites;
  /** Monotonic: a wall clock that is set must not change how long it listens. */
  listeningSinceMs: number;
  /** Whether one was open in the last turn. */
  isBusy: boolean;
  /** Time of the latest handshake, by device. */
  handshakes: Map<string, number>;
};

const retryMs = 5_000;
/** How long a broker may take to add logins. */
const brokerWithinMs = 15_000;
/** Another backend may have begun one, and its message may be lost. */
const checkEveryMs = 60_000;

/**
 * Brings each device from the request to its handshake. Everything is on disk, and each turn decides anew (`provisioning-decide.ts`), so
 * that a restart continues where the last run ended.
 */
export function startProvisionings(parts: ProvisioningParts): Provisionings {
  const { store, expected, events, leadership, clock, logger } = parts;
  const waker = createWaker(clock);
  const writes = createRadioWrites(parts, waker.wake);
  const running: Running = {
    ...parts,
    waker,
    writes,
    listeningSinceMs: clock.monotonic(),
    isBusy: true,
    handshakes: new Map<string, number>(),
  };
  const ending = new AbortController();
  const opened = new DisposableStack();
  opened.use(events.subscribe((event) => handleEvent(running, event)));
  opened.use(leadership.subscribe(() => waker.wake()));
  opened.use((parts.trustedTime ?? alwaysTrusted).subscribe((stepMs) => moveHandshakes(running, stepMs)));
  const runner = createExclusiveRunner();
  const turn = (): Promise<number> => runner.run(() => check(running, ending.signal));
  const onFailure = ({ error }: { error: unknown }): void => logger.failed('adding devices', error);
  const backoff = constantBackoff(retryMs);
  const looping = runLoop({ turn, waker, clock, signal: ending.signal, backoff, onFailure });
  return {
    begun: (rows) => {
      for (const row of rows) {
        const { id: provisioningId, external_id: externalId, method } = row;
        logger.event('provisioning_started', { provisioningId, externalId, method });
        expected.announce(row);
      }
      waker.wake();
    },
    makeLogins: (rows) => makeLogins(running, rows),
    cancel: async (row) => expected.end((await store.find(row.id)) ?? row, endStep('cancelled', null)),
    settled: async () => {
      while ((await turn()) === 0) continue;
    },
    [Symbol.asyncDispose]: async () => {
      opened.dispose();
      ending.abort();
      writes.stop();
      await looping;
    },
  };
}

const endStep = (status: 'failed' | 'cancelled', error: ProvisioningError | null) =>
  ({ kind: 'end', status, error }) as const;

function handleEvent({ waker, isBusy }: Running, event: DeviceEvent): void {
  if (event.kind === 'message') {
    if (event.message.type === 'provisioning_progress') waker.wake();
  } else if (isBusy && isNews(event)) {
    waker.wake();
  }
}

const isNews = (event: DeviceEvent): boolean =>
  event.kind === 'reports'
    ? event.reports.some(({ kind }) => kind === 'handshake')
    : event.kind === 'removed' || event.kind === 'status';

/** The time of the station was corrected, and that of the logins with it. */
function moveHandshakes(running: Running, stepMs: number): void {
  const { handshakes, expected, waker } = running;
  const known = [...handshakes, ...expected.takeHandshakes()];
  running.handshakes = new Map(known.map(([deviceId, at]) => [deviceId, at + stepMs]));
  waker.wake();
}

/** Clocks that only drift differ by less within one turn. */
const stepMs = 5_000;

/** @returns milliseconds until the next turn is due. */
async function check(running: Running, signal: AbortSignal): Promise<number> {
  const { store, expected, writes, leadership, clock } = running;
  const heard = expected.takeHandshakes();
  const offsetMs = clock.now() - clock.monotonic();
  if (!leadership.isLeader()) {
    writes.stop();
    return Infinity;
  }
  const open = await store.open();
  running.isBusy = open.length > 0;
  const devices = new Set(open.map(({ device }) => device?.id));
  const handshakes = [...running.handshakes, ...heard].filter(([deviceId]) => devices.has(deviceId));
  running.handshakes = new Map(handshakes);
  await adoptLateLogins(running, open);
  let waitMs = checkEveryMs;
  for (const provisioning of open) {
    if (signal.aborted) return 0;
    // The time of the station was corrected meanwhile: what was read may have times from before.
    if (Math.abs(clock.now() - clock.monotonic() - offsetMs) > stepMs) return 0;
    const decision = decideProvisioning(factsOf(running, provisioning));
    waitMs = Math.min(waitMs, decision.waitMs);
    if (decision.step !== null && !(await execute(running, provisioning, decision.step))) waitMs = retryMs;
  }
  return waitMs;
}

function factsOf(running: Running, { row, device }: OpenProvisioning): Parameters<typeof decideProvisioning>[0] {
  const { broker, writes, handshakes, clock } = running;
  const listeningSince = clock.now() - (clock.monotonic() - running.listeningSinceMs);
  return {
    method: row.method,
    status: row.status,
    changedAt: row.changed_at,
    endsAt: row.ends_at,
    hasToken: row.token_hash !== null,
    loginAt: row.login_at,
    hadDevice: row.had_device === 1,
    device,
    write: writes.state(row),
    handshakeAt: (device && handshakes.get(device.id)) ?? null,
    broker: broker.kind,
    listeningSince,
    now: clock.now(),
  };
}

/** @returns false when it has to be tried again. */
async function execute(running: Running, { row, device }: OpenProvisioning, step: ProvisioningStep): Promise<boolean> {
  const { store, expected, writes } = running;
  switch (step.kind) {
    case 'make_login':
      await makeWrittenLogin(running, row, device !== null);
      return true;
    case 'write':
      if (!(await writes.start(row))) await expected.end(row, endStep('failed', 'interrupted'));
      return true;
    case 'await_handshake': {
      const waiting = await store.awaitHandshake(row, step.withinMs);
      writes.forget(row);
      if (waiting !== null) expected.announce(waiting);
      return true;
    }
    case 'replace_login':
      return replaceLogin(running, row);
    case 'end':
      await expected.end(row, step);
      return true;
  }
}

/** A device that the station has keeps its login until the new one was written. */
async function makeWrittenLogin(running: Running, row: ProvisioningRow, isKnown: boolean): Promise<void> {
  const { store, expected, writes, broker } = running;
  const token = newToken();
  const payload = await writes.payload(row, token);
  if (payload === null || Buffer.byteLength(payload) > maxPayloadBytes) {
    await expected.end(row, endStep('failed', payload === null ? 'interrupted' : 'payload_invalid'));
    return;
  }
  const made = await store.setToken(row, token, true);
  if (made === null || isKnown || broker.kind === 'embedded') return;
  if (await addLogins(running, [{ externalId: row.external_id, token }])) await store.loginMade(made);
  else await expected.end(made, endStep('failed', 'broker_unavailable'));
}

async function makeLogins(running: Running, rows: readonly ProvisioningRow[]): Promise<string[] | null> {
  const { store, expected, broker, waker } = running;
  const isExternal = broker.kind === 'external';
  const tokens = rows.map(newToken);
  for (const [index, row] of rows.entries()) {
    await store.setToken(row, tokens[index] ?? '', isExternal && row.had_device === 1);
  }
  const made = rows
    .map((row, index) => ({ row, externalId: row.external_id, token: tokens[index] ?? '' }))
    .filter(({ row }) => row.had_device === 0);
  if (isExternal && made.length > 0) {
    if (!(await addLogins(running, made))) {
      for (const row of rows) await expected.end(row, endStep('failed', 'broker_unavailable'));
      return null;
    }
    for (const { row } of made) await store.loginMade(row);
  }
  waker.wake();
  return tokens;
}

async function addLogins(
  { broker, logger }: Running,
  logins: readonly { externalId: string; token: string }[],
): Promise<boolean> {
  try {
    if (!broker.isReady()) return false;
    const added = logins.map(({ externalId, token }) => ({ externalId, token }));
    await broker.addLogins(added, AbortSignal.timeout(brokerWithinMs));
    return true;
  } catch (error) {
    logger.failed('adding logins of devices', error);
    return false;
  }
}

async function replaceLogin(running: Running, row: ProvisioningRow): Promise<boolean> {
  const { store, expected, broker, clock } = running;
  const { external_id: externalId } = row;
  // The device may be back before the broker's answer is here.
  const at = clock.now();
  if (broker.kind === 'external') {
    const token = store.secrets(row)?.token;
    if (token === undefined) return expected.end(row, endStep('failed', 'interrupted'));
    if (!(await addLogins(running, [{ externalId, token }]))) return false;
  }
  await store.replaceLogin(row, at);
  // The external broker ended the connections itself.
  if (broker.kind === 'embedded') await broker.reconnect(externalId);
  return true;
}

/** A write that was cancelled while it ran gave a device of the station its new login: the old one is gone. */
async function adoptLateLogins(running: Running, open: readonly OpenProvisioning[]): Promise<void> {
  const { store, writes, broker } = running;
  const ids = new Set(open.map(({ row }) => row.id));
  for (const { row, token } of writes.leave(ids)) {
    if (row.had_device === 0 || token === undefined || row.token_hash === null) continue;
    const isAdopted = await store.adoptLogin(row.external_id, row.token_hash);
    if (isAdopted && broker.kind === 'external') await addLogins(running, [{ externalId: row.external_id, token }]);
  }
}
