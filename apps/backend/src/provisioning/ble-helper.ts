import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { type Backoff, createBackoff } from '@station/kit/retry';
import { createWaker, type Waker } from '@station/kit/wakeable';
import {
  bleErrors,
  type BleError,
  type ConnectAndWrite,
  type Discovered,
  type HelperCommand,
  type RadioState,
  type WriteResult,
} from '@station/protocol/ble-frames';
import type { ProvisioningError } from '@station/protocol/provisioning';
import type { HelperListener, HelperProcess } from './adapters/ble-helper-process.ts';
import { addressInLine, readHelperFrame, readHelperNote } from './helper-frame.ts';
import { decideHelper, type HelperStep } from './helper-decide.ts';
import { createHelperLog, type HelperLog } from './helper-log.ts';
import { createSpellings, type Spellings } from './helper-spellings.ts';

export type WriteOutcome = { ok: true } | { ok: false; error: ProvisioningError };
export type WriteOptions = { onStart: () => void; signal: AbortSignal };

/** What is wanted of the helper. */
type DesiredState = { isNeeded: boolean; isScanning: boolean };

/** `radio`: null until the helper reports it. `isFailing`: it ended unexpectedly, and did not become ready since. */
export type HelperReport = { isScanning: boolean; isFailing: boolean; radio: RadioState | null };

export type BleHelper = AsyncDisposable & {
  want(desired: DesiredState): void;
  report(): HelperReport;
  /**
   * One at a time. Resolves exactly once, never rejects.
   * @param options.onStart called when the command goes to the helper; the result follows within 45 s.
   * @param options.signal gives up a write that has not started (`stopping`).
   */
  write(command: Omit<ConnectAndWrite, 'event'>, options: WriteOptions): Promise<WriteOutcome>;
};

type Options = {
  serviceUuid: string;
  start: (listener: HelperListener) => HelperProcess;
  /** Whether an advertisement of this address is read: there may be more of them than anybody can read. */
  admits: (address: string) => boolean;
  onDiscovered: (frame: Discovered) => void;
  /** The report changed. */
  onChanged: () => void;
  clock: Clock;
  random: () => number;
  logger: BackendLogger;
};

type Session = {
  process: HelperProcess;
  startedAtMs: number;
  readyAtMs: number | null;
  /** Null: it was not told to end. */
  ending: 'idle' | 'killed' | null;
  isScanning: boolean;
  /** Whether it was told to scan. */
  isAskedToScan: boolean;
  radio: RadioState | null;
  spellings: Spellings;
  /** It knows secrets: what it writes that is not a note is not logged. */
  hasSecrets: boolean;
};

type PendingWrite = {
  command: ConnectAndWrite;
  onStart: () => void;
  settle: (outcome: WriteOutcome) => void;
  queuedAtMs: number;
  startedAtMs: number | null;
};

type Supervision = Options & {
  waker: Waker;
  backoff: Backoff;
  said: HelperLog;
  desired: DesiredState;
  idleSinceMs: number | null;
  mayStartAtMs: number;
  session: Session | null;
  isFailing: boolean;
  write: PendingWrite | null;
  isClosing: boolean;
};

/** A helper that was ready for this long is good: the next restart is quick again. */
const stableMs = 60_000;

/**
 * Runs the helper while it is needed: starts it, restarts it with growing delays, ends it when it hangs or nobody needs it. A scan
 * resumes after a restart; a write that was under way fails with `helper_failed`.
 */
export function startBleHelper(options: Options): BleHelper {
  const { clock, logger, random } = options;
  const supervision: Supervision = {
    ...options,
    waker: createWaker(clock),
    backoff: createBackoff({ initialMs: 500, maxMs: 30_000, jitter: 0.2, random }),
    said: createHelperLog({ clock, logger }),
    desired: { isNeeded: false, isScanning: false },
    idleSinceMs: clock.monotonic(),
    mayStartAtMs: 0,
    session: null,
    isFailing: false,
    write: null,
    isClosing: false,
  };
  const closing = new AbortController();
  const running = supervise(supervision, closing.signal);
  return {
    want: (desired) => setDesired(supervision, desired),
    report: () => ({
      isScanning: supervision.session?.isScanning ?? false,
      isFailing: supervision.isFailing,
      radio: supervision.session?.radio ?? null,
    }),
    write: (command, writeOptions) => queueWrite(supervision, { event: 'connect_and_write', ...command }, writeOptions),
    [Symbol.asyncDispose]: async () => {
      supervision.isClosing = true;
      closing.abort();
      await running;
    },
  };
}

async function supervise(supervision: Supervision, signal: AbortSignal): Promise<void> {
  const { clock, waker } = supervision;
  while (!signal.aborted) {
    const step = nextStep(supervision);
    if (step.kind !== 'wait') apply(supervision, step);
    else await waker.sleep(step.untilMs - clock.monotonic(), signal).catch(() => undefined);
  }
  settleWrite(supervision, stopping);
  const { session } = supervision;
  session?.process.end();
  await session?.process.ended;
}

function nextStep({ clock, idleSinceMs, session, mayStartAtMs, write }: Supervision): HelperStep {
  return decideHelper({
    nowMs: clock.monotonic(),
    idleSinceMs,
    process: session && {
      startedAtMs: session.startedAtMs,
      isReady: session.readyAtMs !== null,
      isEnding: session.ending !== null,
    },
    mayStartAtMs,
    write,
  });
}

function apply(supervision: Supervision, step: Exclude<HelperStep, { kind: 'wait' }>): void {
  const { session, logger } = supervision;
  switch (step.kind) {
    case 'start':
      return startSession(supervision);
    case 'end':
      if (session === null) return;
      session.ending = 'idle';
      return session.process.end();
    case 'kill':
      logger.event('ble_helper_killed', { reason: step.reason });
      killSession(supervision);
      return settleStartedWrite(supervision, { ok: false, error: 'timed_out' });
    case 'fail_write':
      return settleWrite(supervision, { ok: false, error: 'helper_failed' });
  }
}

function setDesired(supervision: Supervision, desired: DesiredState): void {
  const { clock, idleSinceMs, waker } = supervision;
  supervision.desired = desired;
  supervision.idleSinceMs = desired.isNeeded ? null : (idleSinceMs ?? clock.monotonic());
  sendDesired(supervision);
  waker.wake();
}

function sendDesired(supervision: Supervision): void {
  const { session, desired, serviceUuid } = supervision;
  if (session === null || session.readyAtMs === null || session.isAskedToScan === desired.isScanning) return;
  session.isAskedToScan = desired.isScanning;
  send(supervision, desired.isScanning ? { event: 'start_scan', service_uuid: serviceUuid } : { event: 'stop_scan' });
}

function send(supervision: Supervision, command: HelperCommand): void {
  const { session, logger } = supervision;
  if (session === null || session.ending !== null || session.process.send(JSON.stringify(command))) return;
  logger.event('ble_helper_killed', { reason: 'does not read its input' });
  killSession(supervision);
}

function killSession({ session }: Supervision): void {
  if (session === null) return;
  session.ending = 'killed';
  session.process.kill();
}

function startSession(supervision: Supervision): void {
  const { clock, said, logger } = supervision;
  /** What comes when another process runs already is not read. */
  const whileCurrent = (read: typeof onLine) => (line: string) => {
    if (supervision.session === session) read(supervision, session, line);
  };
  const session: Session = {
    process: supervision.start({
      onLine: whileCurrent(onLine),
      onNote: whileCurrent(onNote),
      onTooLong: () => said.badLine('too long'),
    }),
    startedAtMs: clock.monotonic(),
    readyAtMs: null,
    ending: null,
    isScanning: false,
    isAskedToScan: false,
    radio: null,
    hasSecrets: false,
    spellings: createSpellings(),
  };
  supervision.session = session;
  void session.process.ended.then((how) => endSession(supervision, session, how));
  logger.event('ble_helper_started', {});
}

function endSession(supervision: Supervision, session: Session, how: string): void {
  const { clock, backoff, logger, waker, onChanged } = supervision;
  if (supervision.session !== session) return;
  supervision.session = null;
  const isExpected = session.ending === 'idle' || supervision.isClosing;
  const nowMs = clock.monotonic();
  if (session.readyAtMs !== null && nowMs - session.readyAtMs >= stableMs) backoff.reset();
  const retryInMs = isExpected ? 0 : backoff.nextMs();
  supervision.mayStartAtMs = nowMs + retryInMs;
  if (isExpected) logger.event('ble_helper_stopped', {});
  else {
    supervision.isFailing = true;
    logger.event('ble_helper_failed', { how, retryInMs });
  }
  settleStartedWrite(supervision, { ok: false, error: 'helper_failed' });
  waker.wake();
  onChanged();
}

function onLine(supervision: Supervision, session: Session, line: string): void {
  const address = addressInLine(line);
  if (address !== null && !supervision.admits(address)) return;
  const frame = readHelperFrame(line);
  if (frame === null) return supervision.said.badLine('not a frame');
  const { event, writtenAs } = frame;
  switch (event.event) {
    case 'ready':
      return onReady(supervision, session);
    case 'scan_started':
    case 'scan_stopped':
      if (session.isScanning === (event.event === 'scan_started')) return;
      session.isScanning = !session.isScanning;
      return supervision.onChanged();
    case 'discovered':
      if (address === null && !supervision.admits(event.address)) return;
      if (writtenAs !== null) session.spellings.keep(event.address, writtenAs);
      return supervision.onDiscovered(event);
    case 'write_result':
      return onWriteResult(supervision, event);
  }
}

function onReady(supervision: Supervision, session: Session): void {
  const { clock, said, waker, onChanged } = supervision;
  if (session.readyAtMs !== null) return said.badLine('ready twice');
  session.readyAtMs = clock.monotonic();
  supervision.isFailing = false;
  sendDesired(supervision);
  startWrite(supervision);
  waker.wake();
  onChanged();
}

function onWriteResult(supervision: Supervision, { address, ok, error }: WriteResult): void {
  const { write, said } = supervision;
  if (write === null || write.startedAtMs === null || write.command.address !== address) {
    return said.badLine('write_result without a write');
  }
  const code = bleErrors.find((known) => known === error) ?? ('write_failed' satisfies BleError);
  settleWrite(supervision, ok ? { ok } : { ok, error: code });
}

function onNote(supervision: Supervision, session: Session, line: string): void {
  const { said, onChanged } = supervision;
  const note = readHelperNote(line);
  if (note === null) return said.badLine('not a note', session.hasSecrets ? '' : line);
  switch (note.note) {
    case 'radio':
      if (note.state === session.radio) return;
      session.radio = note.state;
      said.radioState(note.state);
      return onChanged();
    case 'line_ignored':
      return said.badLine('not a command, says the helper', note.reason);
    case 'log':
      return said.note(note.message);
  }
}

function queueWrite(
  supervision: Supervision,
  command: ConnectAndWrite,
  { onStart, signal }: WriteOptions,
): Promise<WriteOutcome> {
  const { clock, isClosing, waker } = supervision;
  if (isClosing || signal.aborted) return Promise.resolve(stopping);
  if (supervision.write !== null) throw new Error('One write at a time');
  const { promise, resolve } = Promise.withResolvers<WriteOutcome>();
  const write = { command, onStart, settle: resolve, queuedAtMs: clock.monotonic(), startedAtMs: null };
  supervision.write = write;
  const giveUp = (): void => {
    if (supervision.write === write && write.startedAtMs === null) settleWrite(supervision, stopping);
  };
  signal.addEventListener('abort', giveUp, { once: true });
  startWrite(supervision);
  waker.wake();
  return promise.finally(() => signal.removeEventListener('abort', giveUp));
}

const stopping: WriteOutcome = { ok: false, error: 'stopping' };

function startWrite(supervision: Supervision): void {
  const { clock, session, write } = supervision;
  if (write === null || write.startedAtMs !== null) return;
  if (session === null || session.readyAtMs === null || session.ending !== null) return;
  write.startedAtMs = clock.monotonic();
  session.hasSecrets = true;
  write.onStart();
  const { command } = write;
  send(supervision, { ...command, address: session.spellings.of(command.address) });
}

function settleStartedWrite(supervision: Supervision, outcome: WriteOutcome): void {
  if (supervision.write?.startedAtMs != null) settleWrite(supervision, outcome);
}

function settleWrite(supervision: Supervision, outcome: WriteOutcome): void {
  const { write } = supervision;
  supervision.write = null;
  write?.settle(outcome);
}
