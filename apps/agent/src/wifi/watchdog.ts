import { runLoop } from '@station/kit/loop';
import { createBackoff } from '@station/kit/retry';
import { createWaker, type Waker } from '@station/kit/wakeable';
import type { WifiStatus } from '@station/protocol/agent-api';
import { closePortal, createExecutors, type Executable, type Executors, remember } from './wifi-apply.ts';
import { decide, enter } from './wifi-decide.ts';
import { type Facts, noteFacts, noteFailure, noteSuccess } from './wifi-facts.ts';
import type { PortalActions } from '../core/hotspot-ports.ts';
import type { NetworkActions } from '../core/network-port.ts';
import { createNetworkActions } from './network-actions.ts';
import { type Context, createPortalActions, createRun, type WatchdogParts } from './wifi-run.ts';
import { setConditions, wifiStatusOf } from './wifi-status.ts';

export type Watchdog = {
  /**
   * Keeps the station reachable until the signal aborts; then the hotspot ends and the proxy is started again. No failure ends it:
   * it rejects with the signal's reason only.
   */
  run(signal: AbortSignal): Promise<void>;
  status(): WifiStatus;
  portal: PortalActions;
  network: NetworkActions;
};

/** Changes within this time count as one. */
const settleMs = 100;
/** Pause after a failed wait for changes. */
const changeRetryMs = 5000;
/** Shortest pause before a step is repeated after an unexpected error. */
const firstBackoffMs = 1000;
const longestBackoffMs = 30_000;
/** Limits of the hotspot clean-up when the agent stops. */
const longestLeaveMs = 25_000;

/** The Wi-Fi watchdog (specification, "Wi-Fi watchdog"): observes, decides, applies one step, and repeats. */
export function createWatchdog(parts: WatchdogParts): Watchdog {
  const { clock } = parts;
  const waker = createWaker(clock);
  let signal = AbortSignal.abort(new Error('the watchdog does not run'));
  const run = createRun(parts, waker.wake);
  const actions = createPortalActions(run, {
    radio: parts.radio,
    hotspot: parts.hotspot,
    stationAddress: parts.stationAddress,
    clock,
    wake: waker.wake,
    signal: () => signal,
  });
  const context: Context = { ...parts, run, actions };
  return {
    run: async (given) => {
      signal = given;
      const changes = watchChanges(context, waker, signal);
      const forwarding = run.forward.run(signal).catch(() => undefined);
      try {
        await turnUntilAborted(context, waker, signal);
      } finally {
        await leave(context);
        await Promise.all([changes, forwarding]);
      }
    },
    status: () => wifiStatusOf(run.memory, run.facts, clock),
    portal: actions,
    network: createNetworkActions(run, {
      radio: parts.radio,
      clock,
      wake: waker.wake,
      rescan: actions.rescan,
    }),
  };
}

async function turnUntilAborted(context: Context, waker: Waker, signal: AbortSignal): Promise<never> {
  const { logger, clock, random } = context;
  const executors = createExecutors(context);
  await runLoop({
    turn: () => turn(context, executors, signal),
    waker,
    clock,
    signal,
    backoff: createBackoff({ initialMs: firstBackoffMs, maxMs: longestBackoffMs, jitter: 0.2, random }),
    onFailure: ({ error }) => logger.failed('wifi', error),
  });
  throw signal.reason;
}

/** @returns milliseconds until the next turn; a wake-up ends the wait earlier. */
async function turn(context: Context, executors: Executors, signal: AbortSignal): Promise<number> {
  const { run, logger, clock } = context;
  const facts = await observe(context);
  signal.throwIfAborted();
  run.memory = noteFacts(run.memory, facts);
  const { state, reason, step } = decide(run.memory, facts);
  if (state !== run.memory.state) {
    logger.event('wifi_state', { from: run.memory.state, to: state, reason });
    run.memory = enter(run.memory, state, facts.nowMs);
  }
  setConditions(context.conditions, run.memory, facts, {
    country: context.country,
    isPortTaken: run.portal?.isPortTaken() ?? false,
    hotspotFailure: run.hotspotFailure,
  });
  if (step.kind === 'wait') return Math.max(0, step.untilMs - clock.monotonic());
  await execute(context, executors, step, signal);
  return 0;
}

async function observe({ run, radio, clock }: Context): Promise<Facts> {
  const network = await radio.observe();
  const { scanner, portal, seenMs } = run;
  run.facts = {
    nowMs: clock.monotonic(),
    network,
    networks: radio.networks(),
    scan: { isRunning: scanner.isRunning(), endedMs: scanner.endedMs() },
    portal: { isOpen: portal !== null, isListening: (portal?.address() ?? null) !== null },
    seenMs,
  };
  return run.facts;
}

/** A failed step waits, longer each time, and blocks no other. */
async function execute(context: Context, executors: Executors, step: Executable, signal: AbortSignal): Promise<void> {
  const { run, clock } = context;
  let outcome;
  try {
    const executor = executors[step.kind] as (step: Executable, signal: AbortSignal) => Promise<'done' | 'failed'>;
    outcome = await executor(step, signal);
  } catch (error) {
    signal.throwIfAborted();
    run.memory = noteFailure(run.memory, step.kind, clock.monotonic());
    throw error;
  }
  signal.throwIfAborted();
  run.memory =
    outcome === 'done' ? noteSuccess(run.memory, step.kind) : noteFailure(run.memory, step.kind, clock.monotonic());
}

/** Wakes the loop when the network changes. */
async function watchChanges({ radio, clock, logger }: Context, waker: Waker, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const change = radio.changed(signal);
      // Changes from before the listener existed are seen by an observation that begins now.
      waker.wake();
      await change;
    } catch (error) {
      if (signal.aborted) return;
      logger.failed('wifi changes', error);
      await clock.sleep(changeRetryMs, signal).catch(() => undefined);
    }
    // A burst counts as one change; the pause also limits a source that changes all the time.
    if (!signal.aborted) await clock.sleep(settleMs, signal).catch(() => undefined);
  }
}

/** At the end of this process the hotspot is cleaned up and the proxy runs. */
async function leave(context: Context): Promise<void> {
  const { run, radio, proxy, clock } = context;
  const { state, attempt, isReconciled } = run.memory;
  const ending = new AbortController();
  const limit = clock
    .sleep(longestLeaveMs, ending.signal)
    .then(() => ending.abort(new Error('it took too long')))
    .catch(() => undefined);
  const attemptTo = (action: () => Promise<unknown>): Promise<unknown> => action().catch(() => undefined);
  await run.scanner.cancel();
  if (attempt && attempt.kind !== 'known' && attempt.candidate) {
    const { id } = attempt.candidate;
    await attemptTo(() => radio.dropCandidate(id));
  }
  await attemptTo(() => closePortal(run));
  const mayBeUp = state === 'HOTSPOT_ACTIVE' || state === 'JOINING' || run.facts?.network.radio?.hotspot;
  if (mayBeUp) await attemptTo(() => radio.stopHotspot());
  if (isReconciled && run.memory.proxy !== 'running') {
    await attemptTo(async () => {
      if ((await proxy.start(ending.signal)) === 'failed') return;
      remember(run, { proxy: 'running' });
    });
  }
  if (run.memory.proxy === 'running' && run.memory.intent !== 'clear') {
    await attemptTo(() => run.intent.write(false));
  }
  ending.abort(new Error('done'));
  await limit;
}
