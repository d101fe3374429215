import { type Clock, isoTime } from '@station/kit/clock';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { createRepeatFilter } from '@station/kit/repeat-filter';
import { constantBackoff } from '@station/kit/retry';
import { createTokenBucket, type TokenBucket } from '@station/kit/token-bucket';
import { createWaker, type Waker } from '@station/kit/wakeable';
import type { ConnectAndWrite, Discovered } from '@station/protocol/ble-frames';
import type { Candidate, RadioReport } from '@station/protocol/provisioning';
import type { HelperListener, HelperProcess } from './adapters/ble-helper-process.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { DeviceTypes } from '../core/type-registry.ts';
import type { Leadership } from '../core/leadership.ts';
import type { Watchers } from '../core/watchers.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { type BleHelper, startBleHelper, type WriteOptions, type WriteOutcome } from './ble-helper.ts';
import { type Candidates, createCandidates } from './candidates.ts';
import { type Known, toCandidate } from './candidate-decide.ts';
import { decideScan, type PausedBy, type ScanDecision } from './scan-decide.ts';
import { createRadioBroadcast, type RadioBroadcast } from './radio-broadcast.ts';

export type BleConfig = {
  /** Path of the helper program, or `off`; null: the one that comes with the backend. */
  helper: string | null;
  /** The whole environment of the helper. */
  environment: Record<string, string>;
  serviceUuid: string;
  characteristicUuid: string;
};

type Write = Omit<ConnectAndWrite, 'event'>;

/** Finds devices that wait to be set up, and writes to them. */
export type Radio = AsyncDisposable & {
  report(): RadioReport;
  /** Those that people see. The same on every replica. */
  candidates(): readonly Candidate[];
  /**
   * One write after another; waits while the radio is paused. Resolves exactly once, never rejects; within 45 s of `onStart`.
   * @param options.signal gives up a write that has not started (`stopping`).
   */
  write(command: Write, options: WriteOptions): Promise<WriteOutcome>;
};

/** `recheck`: the agent may need the radio now. */
export type StartedRadio = Radio & { recheck(): void };

export type RadioOptions = {
  serviceUuid: string;
  /** Starts the helper program; null: there is no Bluetooth. */
  startProcess: ((listener: HelperListener) => HelperProcess) | null;
  /** Whether the agent needs the radio now. Never rejects. */
  askForPause: () => Promise<PausedBy | null>;
  watchers: Watchers;
  leadership: Leadership;
  hub: Pick<SocketHub, 'replay'>;
  events: DeviceEvents;
  devices: Pick<DeviceStore, 'list'>;
  types: Pick<DeviceTypes, 'find'>;
  clock: Clock;
  random: () => number;
  logger: BackendLogger;
};

type RunningRadio = RadioOptions & {
  broadcast: RadioBroadcast;
  candidates: Candidates;
  helper: BleHelper | null;
  known: Known;
  /** Ids of the station's devices by external id. */
  deviceIds: Map<string, string>;
  waker: Waker;
  writing: ExclusiveRunner;
  pausedBy: PausedBy | 'unknown' | null;
  writes: number;
  /** A write keeps the radio from listening. */
  isWriting: boolean;
  decision: ScanDecision | null;
  /** What this replica sent while it leads. */
  sentReport: RadioReport | null;
  /** How many reports may be sent: each is a message to every browser. */
  reports: TokenBucket;
  isReportWaiting: boolean;
  askedAtMs: number;
  /** Null: it does not listen for advertisements. */
  listeningSinceMs: number | null;
  stopping: AbortController;
};

/** Between two questions to the agent. */
const askEveryMs = 5_000;
/** Often while much is sent: hundreds of messages at once would delay the answers to people. */
const sweepEveryMs = { idle: 1_000, busy: 50 };

/**
 * The facts (who watches, who leads, what the agent needs) decide what the helper does; what it finds goes to the clients of all replicas.
 */
export async function startRadio(options: RadioOptions): Promise<StartedRadio> {
  await using opened = new AsyncDisposableStack();
  const radio = createRadio(options);
  opened.use(radio.broadcast);
  if (radio.helper !== null) opened.use(radio.helper);
  opened.use(
    options.events.subscribe((event) => {
      if (event.kind === 'added') onAdded(radio, event);
      if (event.kind === 'removed') radio.deviceIds.delete(event.externalId);
    }),
  );
  await readDevices(radio);
  opened.use(options.watchers.subscribe((change) => onWatchers(radio, change)));
  opened.use(options.leadership.subscribe(() => update(radio)));
  const looping = loop(radio);
  opened.defer(async () => {
    radio.stopping.abort();
    await looping;
  });
  update(radio);
  const running = opened.move();
  return {
    report: radio.broadcast.report,
    candidates: radio.broadcast.candidates,
    write: (command, writeOptions) => write(radio, command, writeOptions),
    recheck: () => recheck(radio),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function createRadio(options: RadioOptions): RunningRadio {
  const { serviceUuid, startProcess, hub, events, types, clock, random, logger } = options;
  const initial: RadioReport =
    startProcess === null ? { state: 'unavailable', reason: 'disabled' } : { state: 'off', reason: null };
  const broadcast = createRadioBroadcast({ initial, hub, events, clock });
  const deviceIds = new Map<string, string>();
  const radio: RunningRadio = {
    ...options,
    broadcast,
    candidates: createCandidates({
      send: broadcast.send,
      sendLost: broadcast.sendLost,
      monotonic: () => clock.monotonic(),
    }),
    helper: null,
    known: {
      serviceUuid,
      typeName: (type) => {
        const known = types.find(type);
        return known === undefined ? null : (known.names?.['en'] ?? known.type);
      },
      deviceId: (externalId) => deviceIds.get(externalId) ?? null,
    },
    deviceIds,
    waker: createWaker(clock),
    writing: createExclusiveRunner(),
    pausedBy: 'unknown',
    writes: 0,
    isWriting: false,
    decision: null,
    sentReport: null,
    reports: createTokenBucket({ burst: 20, perSecond: 1 }, () => clock.monotonic()),
    isReportWaiting: false,
    askedAtMs: -Infinity,
    listeningSinceMs: null,
    stopping: new AbortController(),
  };
  if (startProcess === null) return radio;
  const filter = createRepeatFilter();
  radio.helper = startBleHelper({
    serviceUuid,
    start: startProcess,
    admits: (address) => filter.admits(address, clock.monotonic(), radio.candidates.has(address)),
    onDiscovered: (frame) => onDiscovered(radio, frame),
    onChanged: () => update(radio),
    clock,
    random,
    logger,
  });
  return radio;
}

async function readDevices({ devices, deviceIds }: RunningRadio): Promise<void> {
  for (const { id, external_id: externalId } of await devices.list()) deviceIds.set(externalId, id);
}

/** Asks the agent, and keeps the candidates in order, while somebody needs the radio. */
async function loop(radio: RunningRadio): Promise<void> {
  const { clock, waker, candidates, logger, stopping } = radio;
  await runLoop({
    turn: async () => {
      update(radio);
      if (radio.decision?.isAsking !== true) return radio.isReportWaiting ? sweepEveryMs.idle : Infinity;
      if (clock.monotonic() - radio.askedAtMs >= askEveryMs) await ask(radio);
      const isWaiting = radio.decision.isKeeping && candidates.sweep(radio.listeningSinceMs);
      return isWaiting ? sweepEveryMs.busy : sweepEveryMs.idle;
    },
    waker,
    clock,
    signal: stopping.signal,
    backoff: constantBackoff(askEveryMs),
    onFailure: ({ error }) => logger.failed('finding devices', error),
  });
}

function recheck(radio: RunningRadio): void {
  radio.askedAtMs = -Infinity;
  radio.waker.wake();
}

async function ask(radio: RunningRadio): Promise<void> {
  radio.askedAtMs = radio.clock.monotonic();
  radio.pausedBy = await radio.askForPause();
  update(radio);
}

function onWatchers(radio: RunningRadio, { hasJoined }: { hasJoined: boolean }): void {
  update(radio);
  if (!hasJoined || !radio.leadership.isLeader() || radio.decision === null) return;
  radio.broadcast.sendReport(radio.decision.report);
  radio.candidates.sendWaiting();
}

function onDiscovered(radio: RunningRadio, frame: Discovered): void {
  const { decision, known, clock, candidates } = radio;
  // A frame that was under way when the scan ended.
  if (decision?.isKeeping !== true) return;
  candidates.hear(frame.address, toCandidate(frame, known, isoTime(clock.now())));
}

/** It waits no more. If it does, its next advertisement shows it as a device of the station. */
function onAdded({ deviceIds, candidates }: RunningRadio, device: { externalId: string; deviceId: string }): void {
  deviceIds.set(device.externalId, device.deviceId);
  const its = candidates.candidates().filter(({ externalId }) => externalId === device.externalId);
  for (const { address } of its) candidates.hear(address, null);
}

const noHelper = { isScanning: false, isFailing: false, radio: null };

/** Recomputes everything from the facts. */
function update(radio: RunningRadio): void {
  const { startProcess, watchers, leadership, pausedBy, writes, helper, candidates, decision: before } = radio;
  const isLeader = leadership.isLeader();
  const report = helper?.report() ?? noHelper;
  const isWatched = watchers.isWatched();
  const decision = decideScan({
    isEnabled: startProcess !== null,
    isWatched,
    isLeader,
    pausedBy,
    writes,
    helper: report,
  });
  radio.decision = decision;
  if (!decision.isAsking) radio.pausedBy = 'unknown';
  if (decision.isKeeping && before?.isKeeping !== true) seed(radio);
  if (!decision.isKeeping) candidates.clear();
  const isListening = report.isScanning && decision.isScanning && !radio.isWriting;
  radio.listeningSinceMs = isListening ? (radio.listeningSinceMs ?? radio.clock.monotonic()) : null;
  helper?.want({ isNeeded: decision.isNeeded, isScanning: decision.isScanning });
  sendReport(radio, decision.report, isLeader);
  if (decision.isAsking && before?.isAsking !== true) recheck(radio);
}

/** Takes over what the previous leader sent. */
function seed({ broadcast, candidates, clock }: RunningRadio): void {
  for (const candidate of broadcast.all()) candidates.seed(candidate, clock.now() - Date.parse(candidate.lastSeenAt));
}

/** The leader tells the replicas, each of which tells its clients. What changes without a pause waits for the next turn. */
function sendReport(radio: RunningRadio, report: RadioReport, isLeader: boolean): void {
  const known = radio.sentReport ?? radio.broadcast.report();
  const isNews = isLeader && (known.state !== report.state || known.reason !== report.reason);
  radio.isReportWaiting = isNews && !radio.reports.take();
  if (radio.isReportWaiting) return;
  radio.sentReport = isLeader ? report : null;
  if (isNews) radio.broadcast.sendReport(report);
}

function write(radio: RunningRadio, command: Write, { onStart, signal }: WriteOptions): Promise<WriteOutcome> {
  const { promise, resolve } = Promise.withResolvers<WriteOutcome>();
  const stopping = AbortSignal.any([signal, radio.stopping.signal]);
  let isStarted = false;
  const giveUp = (): void => {
    if (!isStarted) resolve(givenUp);
  };
  stopping.addEventListener('abort', giveUp, { once: true });
  if (stopping.aborted) giveUp();
  const start = (): void => {
    isStarted = true;
    setWriting(radio, true);
    onStart();
  };
  changeWrites(radio, 1);
  radio.writing
    .run(() => writeNow(radio, command, { onStart: start, signal: stopping }))
    .then(resolve, (error: unknown) => {
      radio.logger.failed('writing to a device', error);
      resolve({ ok: false, error: 'helper_failed' });
    })
    .finally(() => {
      stopping.removeEventListener('abort', giveUp);
      radio.isWriting = false;
      changeWrites(radio, -1);
    })
    .catch(() => undefined);
  return promise;
}

const givenUp: WriteOutcome = { ok: false, error: 'stopping' };

async function writeNow(radio: RunningRadio, command: Write, options: WriteOptions): Promise<WriteOutcome> {
  const { helper, clock } = radio;
  const { signal } = options;
  if (helper === null) return { ok: false, error: 'radio_unavailable' };
  while (!signal.aborted) {
    await ask(radio);
    if (radio.pausedBy === null) return helper.write(command, options);
    await clock.sleep(askEveryMs, signal).catch(() => undefined);
  }
  return givenUp;
}

function setWriting(radio: RunningRadio, isWriting: boolean): void {
  radio.isWriting = isWriting;
  update(radio);
}

function changeWrites(radio: RunningRadio, by: number): void {
  radio.writes += by;
  update(radio);
}
