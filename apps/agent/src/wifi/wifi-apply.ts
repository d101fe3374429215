import type { JoinFailure } from '@station/protocol/agent-network';
import type { Step } from './wifi-decide.ts';
import {
  linkOf,
  noteFailedReturn,
  probedLink,
  restartRetryLimits,
  timing,
  usualRetryLimits,
  type EverJoined,
  type Intent,
  type Memory,
} from './wifi-facts.ts';
import { failJoin, keepJoined, settleJoin } from './wifi-join.ts';
import type { Connectivity } from './wifi-ports.ts';
import { describeSsid, type JoinRequest, type SsidHex } from '../core/wifi-network.ts';
import type { Context, Outcome, WatchdogRun } from './wifi-run.ts';

export type Executable = Exclude<Step, { kind: 'wait' }>;

/** One executor for each step; a missing one does not compile. */
export type Executors = {
  [K in Executable['kind']]: (step: Extract<Executable, { kind: K }>, signal: AbortSignal) => Promise<Outcome>;
};

/** Changes the current memory: it may have changed since the step began. */
export function remember(run: WatchdogRun, change: Partial<Memory>): void {
  run.memory = { ...run.memory, ...change };
}

export function createExecutors(context: Context): Executors {
  const { run, clock } = context;
  return {
    reconcile: async () => reconcile(context),
    write_intent: async () => writeIntent(context, true),
    clear_intent: async () => writeIntent(context, false),
    write_joined: async () => writeJoined(context),
    start_hotspot: async (_step, signal) => startHotspot(context, signal),
    stop_hotspot: async () => stopHotspot(context),
    stop_proxy: async (_step, signal) => {
      remember(run, { proxy: 'unknown' });
      const answer = await context.proxy.stop(signal);
      if (answer === 'failed') return 'failed';
      remember(run, { proxy: 'stopped' });
      return 'done';
    },
    start_proxy: async (_step, signal) => {
      remember(run, { proxy: 'unknown' });
      const answer = await context.proxy.start(signal);
      if (answer === 'failed') return 'failed';
      remember(run, { proxy: 'running' });
      return 'done';
    },
    open_portal: async () => {
      run.portal = await context.openPortal(context.actions);
      return 'done';
    },
    close_portal: async () => closePortal(run),
    start_scan: async (_step, signal) => {
      void run.scanner.scan(signal);
      return 'done';
    },
    probe: async ({ link }, signal) => {
      await probe(context, link, signal);
      return 'done';
    },
    try_known: async (_step, signal) => {
      await tryKnown(context, signal);
      return 'done';
    },
    begin_return: async () => {
      await run.scanner.cancel();
      // A join request may have come in meanwhile.
      if (!run.memory.attempt) remember(run, { attempt: { kind: 'known', acceptedMs: clock.monotonic() } });
      return 'done';
    },
    join: async ({ request }, signal) => joinRequested(context, request, signal),
    settle_join: async (step, signal) => settleJoin(context, step, signal),
    abandon_join: async () => abandonJoin(context),
    keep_candidate: async ({ candidateId }) => keepJoined(context, candidateId),
  };
}

async function reconcile({ run, radio }: Context): Promise<Outcome> {
  await radio.stopHotspot();
  const before = await run.intent.read().catch(() => null);
  const wasHotspot = before?.proxyStopped ?? false;
  let intent: Intent = before ? (wasHotspot ? 'proxy_stopped' : 'clear') : 'unknown';
  if (intent === 'clear') {
    // The file may be outdated: if it cannot be written now, earlier writes may have failed too.
    const isWritten = await run.intent.write(false).then(
      () => true,
      () => false,
    );
    if (!isWritten) intent = 'unknown';
  }
  const retryLimits = before?.isThisBoot ? restartRetryLimits(wasHotspot) : usualRetryLimits;
  const everJoined = await readJoined(run);
  const proxy = intent === 'clear' ? 'running' : 'unknown';
  remember(run, { isReconciled: true, intent, retryLimits, everJoined, proxy });
  return 'done';
}

/** A file that cannot be read is one that exists: an open hotspot of somebody's station asks for its code. */
async function readJoined({ joined }: WatchdogRun): Promise<EverJoined> {
  try {
    return (await joined.exists()) ? 'written' : 'never';
  } catch {
    return 'unwritten';
  }
}

async function writeJoined({ run, conditions }: Context): Promise<Outcome> {
  try {
    await run.joined.write();
    remember(run, { everJoined: 'written' });
    conditions.set('wifi_state_not_writable', false);
    return 'done';
  } catch {
    conditions.set('wifi_state_not_writable', true);
    return 'failed';
  }
}

/** Without the file a later process starts the proxy anyway, so a full disk need not prevent the hotspot. */
async function writeIntent({ run, conditions }: Context, proxyStopped: boolean): Promise<Outcome> {
  try {
    await run.intent.write(proxyStopped);
    remember(run, { intent: proxyStopped ? 'proxy_stopped' : 'clear' });
    conditions.set('wifi_state_not_writable', false);
    return 'done';
  } catch {
    remember(run, { intent: 'unknown' });
    conditions.set('wifi_state_not_writable', true);
    return 'failed';
  }
}

async function startHotspot(context: Context, signal: AbortSignal): Promise<Outcome> {
  const { run, radio, hotspot, logger } = context;
  await run.scanner.cancel();
  const answer = await radio.startHotspot(hotspot, signal);
  const isUp = answer.kind === 'started' && (await radio.observe()).radio?.hotspot;
  if (isUp) {
    run.hotspotFailure = null;
    logger.event('hotspot_started', { ssid: describeSsid(hotspot.ssid), address: hotspot.address });
    return 'done';
  }
  const { reason, detail } =
    answer.kind === 'failed' ? answer : ({ reason: 'failed', detail: 'the connection was lost at once' } as const);
  run.hotspotFailure = reason;
  logger.event('hotspot_failed', { reason, detail });
  return 'failed';
}

async function stopHotspot({ run, radio, hotspot, logger }: Context): Promise<Outcome> {
  await run.scanner.cancel();
  await radio.stopHotspot();
  const { radio: seen, hasLeftovers } = await radio.observe();
  if (seen?.hotspot || hasLeftovers) return 'failed';
  logger.event('hotspot_stopped', { ssid: describeSsid(hotspot.ssid) });
  return 'done';
}

export async function closePortal(run: WatchdogRun): Promise<Outcome> {
  const { portal } = run;
  await portal?.[Symbol.asyncDispose]();
  run.portal = null;
  return 'done';
}

/** Probes what is reachable over a link and records it. */
async function probe(
  { run, reachability, clock }: Context,
  link: { key: string; gateway: string | null },
  signal: AbortSignal,
): Promise<Connectivity> {
  const connectivity = await reachability.probe(link.gateway, signal);
  const before = run.memory.link?.key === link.key ? run.memory.link.failures : 0;
  const failures = connectivity === 'none' ? before + 1 : 0;
  remember(run, { link: { key: link.key, connectivity, failures, probedMs: clock.monotonic() } });
  return connectivity;
}

async function tryKnown(context: Context, signal: AbortSignal): Promise<void> {
  const { run, radio, clock, logger } = context;
  const { attempt: tried } = run.memory;
  const attempt = run.memory.attempts + 1;
  const isReturn = tried?.kind === 'known';
  if (!isReturn) remember(run, { attempts: attempt, attemptedMs: clock.monotonic() });
  await run.scanner.cancel();
  const { failure, detail } = await joinKnown(context, signal);
  logger.event('wifi_attempt', { attempt: isReturn ? 1 : attempt, failure, detail });
  if (isReturn) remember(run, { attempt: null });
  remember(run, { lastFailure: failure });
  if (failure === null) return;
  // The networks in range just failed: do not leave the hotspot for them soon.
  if (isReturn || attempt >= run.memory.retryLimits.attempts) {
    run.memory = noteFailedReturn(run.memory, radio.networks(), clock.monotonic());
  }
}

/** If nothing answers behind one known network, tries the next one in range. */
async function joinKnown(
  context: Context,
  signal: AbortSignal,
): Promise<{ failure: JoinFailure | null; detail: string | null }> {
  const { run, radio, clock } = context;
  const untilMs = clock.monotonic() + timing.attempts;
  const silent = silentNow(run);
  for (;;) {
    const answer = await radio.joinKnown({ timeoutMs: timing.attempt, silent }, signal);
    if (answer.kind === 'failed') return { failure: answer.failure, detail: answer.detail };
    const link = linkOf(await radio.observe());
    if (!link) return { failure: 'failed', detail: 'the connection was lost at once' };
    if ((await probe(context, link, signal)) !== 'none') return { failure: null, detail: null };
    if (silent.includes(answer.ssid) || clock.monotonic() >= untilMs) return { failure: 'no_gateway', detail: null };
    silent.push(answer.ssid);
  }
}

/** The network in use, if nothing answered behind it. */
function silentNow({ memory, facts }: WatchdogRun): SsidHex[] {
  const ssid = facts?.network.radio?.client?.ssid;
  const link = facts && linkOf(facts.network);
  const isSilent = link?.kind === 'wifi' && probedLink(memory, link)?.connectivity === 'none';
  return isSilent && ssid !== undefined ? [ssid] : [];
}

async function joinRequested(context: Context, request: JoinRequest, signal: AbortSignal): Promise<Outcome> {
  const { run, radio, logger } = context;
  await run.scanner.cancel();
  logger.event('wifi_join_started', { ssid: describeSsid(request.ssid) });
  const outcome = await radio.join(request, signal);
  if (outcome.kind === 'failed') failJoin(context, request, outcome.failure, outcome.detail);
  else if (run.memory.attempt && run.memory.attempt.kind !== 'known') {
    const candidate = { id: outcome.candidateId, ip: outcome.ip };
    remember(run, { attempt: { ...run.memory.attempt, candidate } });
  }
  return 'done';
}

async function abandonJoin(context: Context): Promise<Outcome> {
  const { run, radio } = context;
  const { attempt } = run.memory;
  if (!attempt || attempt.kind === 'known') remember(run, { attempt: null });
  else {
    failJoin(context, attempt.request, 'timed_out', 'it took too long');
    if (attempt.candidate) await radio.dropCandidate(attempt.candidate.id);
  }
  return 'done';
}
