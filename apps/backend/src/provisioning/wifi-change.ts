import { randomUUID } from 'node:crypto';
import { type Clock, isoTime } from '@station/kit/clock';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { createWaker, type Waker } from '@station/kit/wakeable';
import { type DevicesWifi, type WifiDeviceState, wifiDeviceStates, wifiFollowMs } from '@station/protocol/devices-wifi';
import { CommandTooLargeError, type PublishCommand, UnansweredError } from '../core/commands.ts';
import type { DeviceEvent, DeviceEvents } from '../core/device-events.ts';
import type { Leadership } from '../core/leadership.ts';
import { fitting } from '../http/pages.ts';
import { decideWifiChange, type WifiChangeStep } from './wifi-change-decide.ts';
import type { Network, WifiChangeRow, WifiChangeStore, WifiTargetRow } from './wifi-change-store.ts';
import type { WifiOffers } from './wifi-offer.ts';

/** "Change the Wi-Fi of the devices". */
export type WifiChanges = AsyncDisposable & {
  view(): Promise<DevicesWifi>;
  /** @returns false while another change runs. */
  start(network: Network, userId: string): Promise<boolean>;
  /** Nobody else is told. @returns false when none runs. */
  cancel(): Promise<boolean>;
  /** The offer may have changed. */
  notify(): Promise<void>;
  /** Resolves when everything so far is handled. */
  settled(): Promise<void>;
};

export type WifiChangesParts = {
  store: WifiChangeStore;
  offers: WifiOffers;
  broker: { publishCommand: PublishCommand; isReady: () => boolean };
  events: DeviceEvents;
  /** With several backends only one of them decides. */
  leadership: Leadership;
  clock: Clock;
  logger: BackendLogger;
};

const retryMs = 1_000;
/** Of a view, for all but the devices. */
const restBytes = 2 * 1024;
const maxListed = 1_000;
const messageKey = 'devices_wifi';

/**
 * Moves the devices to another Wi-Fi: tells each online device `wifi_update` once, and waits for its handshake. Everything is on disk, and
 * each turn decides anew (`wifi-change-decide.ts`), so that a restart continues where the last run ended.
 */
export function startWifiChanges(parts: WifiChangesParts): WifiChanges {
  const { store, events, leadership, clock, logger } = parts;
  const waker = createWaker(clock);
  const changes: Changes = {
    ...parts,
    waker,
    runner: createExclusiveRunner(),
    listeningSinceMs: clock.monotonic(),
    handshakes: new Map(),
  };
  const ending = new AbortController();
  const opened = new DisposableStack();
  opened.use(events.subscribe((event) => handleEvent(changes, event)));
  opened.use(leadership.subscribe(() => waker.wake()));
  const { signal } = ending;
  const turn = (): Promise<number> => changes.runner.run(() => check(changes, signal));
  const onFailure = ({ error }: { error: unknown }): void => logger.failed('changing the Wi-Fi of devices', error);
  const running = runLoop({ turn, waker, clock, signal, backoff: constantBackoff(retryMs), onFailure });
  return {
    view: () => readView(changes),
    start: async (network, userId) => {
      const devices = await store.create(network, userId);
      if (devices === null) return false;
      logger.event('devices_wifi_started', { devices });
      await changes.offers.withdraw();
      await notify(changes);
      return true;
    },
    cancel: async () => {
      const isCancelled = await end(changes, 'cancelled');
      await notify(changes);
      return isCancelled;
    },
    notify: () => notify(changes),
    settled: async () => void (await turn()),
    [Symbol.asyncDispose]: async () => {
      opened.dispose();
      ending.abort();
      await running;
    },
  };
}

type Changes = WifiChangesParts & {
  waker: Waker;
  runner: ExclusiveRunner;
  /** Monotonic: a wall clock that is set must not change how long it listens. */
  listeningSinceMs: number;
  /** Time of the latest handshake since the last turn, by device. */
  handshakes: Map<string, number>;
};

function handleEvent({ handshakes, waker }: Changes, event: DeviceEvent): void {
  if (event.kind === 'reports') {
    const known = event.reports.filter(({ kind }) => kind === 'handshake');
    for (const { deviceId, at } of known) handshakes.set(deviceId, at);
    if (known.length > 0) waker.wake();
  } else if (event.kind === 'removed' || (event.kind === 'status' && event.status === 'online')) {
    waker.wake();
  } else if (event.kind === 'message' && event.key === messageKey) {
    // Another backend may have started or cancelled a change.
    waker.wake();
  }
}

/** @returns milliseconds until the next turn is due. */
async function check(changes: Changes, signal: AbortSignal): Promise<number> {
  const { store, broker, leadership, clock } = changes;
  const listeningSince = clock.now() - (clock.monotonic() - changes.listeningSinceMs);
  const { handshakes } = changes;
  changes.handshakes = new Map();
  if (!leadership.isLeader()) return Infinity;
  try {
    const change = await store.latest();
    if (change === null || change.state === 'ended') return Infinity;
    const targets = await store.targets(change);
    const { steps, waitMs } = decideWifiChange({
      isRunning: change.state === 'running',
      targets,
      handshakes,
      isBrokerReady: broker.isReady(),
      listeningSince,
      now: clock.now(),
    });
    for (const step of steps) if (!signal.aborted) await execute(changes, change, targets, step);
    if (steps.length === 0) return waitMs;
    await notify(changes);
    // The steps changed the facts.
    return 0;
  } catch (error) {
    // They count in the next turn.
    changes.handshakes = new Map([...handshakes, ...changes.handshakes]);
    throw error;
  }
}

async function execute(
  changes: Changes,
  change: WifiChangeRow,
  targets: readonly WifiTargetRow[],
  step: WifiChangeStep,
): Promise<void> {
  switch (step.kind) {
    case 'note':
      return changes.store.note(change, step.deviceId, step.state);
    case 'tell': {
      const target = targets.find(({ deviceId }) => deviceId === step.deviceId);
      if (target !== undefined) await tell(changes, change, target);
      return;
    }
    case 'end':
      await end(changes, 'ended');
      return;
  }
}

async function tell({ store, broker }: Changes, change: WifiChangeRow, target: WifiTargetRow): Promise<void> {
  const { deviceId, externalId } = target;
  // It may have been cancelled since the turn began.
  if ((await store.latest())?.state !== 'running') return;
  const network = store.credentials(change);
  if (network === null) return store.notTold(change, deviceId, 'The station cannot read the password any more.');
  const { ssid, password } = network;
  await store.telling(change, deviceId);
  try {
    const payload = { action: 'wifi_update', ssid, password, commandId: randomUUID() };
    await broker.publishCommand(externalId, payload, wifiFollowMs);
  } catch (error) {
    // Without an answer of the broker the device may have received it: its handshake decides.
    if (!(error instanceof UnansweredError)) return store.notTold(change, deviceId, reasonOf(error));
  }
  await store.note(change, deviceId, 'told');
}

const reasonOf = (error: unknown): string =>
  error instanceof CommandTooLargeError ? error.message : 'The broker did not take the message.';

async function end({ store, logger }: Changes, state: 'ended' | 'cancelled'): Promise<boolean> {
  const isEnded = await store.end(state);
  const change = isEnded ? await store.latest() : null;
  if (change === null) return isEnded;
  const counts = countsOf(await store.targets(change));
  const { followed, not_followed: notFollowed, not_told: notTold, offline } = counts;
  logger.event('devices_wifi_ended', { state, followed, notFollowed, notTold, offline });
  return isEnded;
}

async function notify(changes: Changes): Promise<void> {
  const message = { type: 'devices_wifi', at: isoTime(changes.clock.now()), ...(await readView(changes)) } as const;
  changes.events.emit({ kind: 'message', message, key: messageKey });
}

async function readView({ store, offers }: Changes): Promise<DevicesWifi> {
  const change = await store.latest();
  return {
    change: change === null ? null : changeView(change, await store.targets(change)),
    stationSsid: (await offers.stationWifi())?.ssid ?? null,
    offer: await offers.current(),
  };
}

const changeView = (change: WifiChangeRow, targets: readonly WifiTargetRow[]): NonNullable<DevicesWifi['change']> => ({
  id: change.id,
  ssid: change.ssid,
  state: change.state,
  startedBy: change.started_by,
  startedAt: isoTime(change.started_at),
  endedAt: change.ended_at === null ? null : isoTime(change.ended_at),
  counts: countsOf(targets),
  devices: fitting(targets.slice(0, maxListed).map(deviceView), restBytes),
});

function countsOf(targets: readonly WifiTargetRow[]): Record<WifiDeviceState, number> {
  const count = (wanted: WifiDeviceState): number => targets.filter(({ state }) => state === wanted).length;
  return Object.fromEntries(wifiDeviceStates.map((state) => [state, count(state)])) as Record<WifiDeviceState, number>;
}

const deviceView = ({ deviceId, state, reason, changedAt }: WifiTargetRow) => ({
  deviceId,
  state,
  reason,
  changedAt: isoTime(changedAt),
});
