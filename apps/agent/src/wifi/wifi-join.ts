import type { JoinFailure } from '@station/protocol/agent-network';
import { isoTime } from '@station/kit/clock';
import { linkOf, type Memory } from './wifi-facts.ts';
import { isFree } from '@station/protocol/wifi-password';
import { type JoinRequest, describeSsid, type SsidHex } from '../core/wifi-network.ts';
import type { Connectivity } from './wifi-ports.ts';
import type { Context, Outcome } from './wifi-run.ts';

/** The join failed. From the portal: the hotspot comes back with the reason; from the web app: the network before. */
export function failJoin(context: Context, request: JoinRequest, failure: JoinFailure, detail: string): void {
  const { run, logger } = context;
  const { ssid, isHidden, security } = request;
  logger.event('wifi_join_failed', { ssid: describeSsid(ssid), failure, detail });
  const told =
    run.memory.attempt?.kind === 'app'
      ? { appJoin: appJoinOf(context, ssid, failure) }
      : { lastJoin: { ssid, isHidden, security, failure } };
  run.memory = { ...run.memory, attempt: null, lastFailure: failure, ...told };
}

/**
 * Saves a joined network whose profile is not on disk yet. If this process does not know its credentials, it asks the
 * network manager for them.
 */
export async function keepJoined({ run, radio }: Context, candidateId: string): Promise<Outcome> {
  if (run.forwardedCandidateId !== candidateId) {
    const credentials = await radio.credentialsOf(candidateId);
    if (credentials) await run.forward.save(credentials);
    run.forwardedCandidateId = credentials && candidateId;
  }
  if (!(await radio.keepCandidate(candidateId))) return 'failed';
  // It may still look like a candidate; do not ask for its credentials again.
  return (await radio.observe()).radio?.client?.candidateId === candidateId ? 'failed' : 'done';
}

const appJoinOf = ({ clock }: Context, ssid: SsidHex, failure: JoinFailure | null): Memory['appJoin'] => ({
  ssid,
  failure,
  endedMs: clock.monotonic(),
  endedAt: isoTime(clock.now()),
});

const secondLookMs = 1000;

/** After a join: if something answers, keeps the network and forwards its credentials; else drops it. */
export async function settleJoin(
  context: Context,
  { request, candidate }: { request: JoinRequest; candidate: { id: string; ip: string } },
  signal: AbortSignal,
): Promise<Outcome> {
  const { run, radio, logger } = context;
  const ssid = describeSsid(request.ssid);
  const { key, connectivity } = await look(context, signal);
  if (connectivity === 'none') {
    failJoin(context, request, 'no_gateway', 'nothing answers behind the address');
    await radio.dropCandidate(candidate.id);
    return 'done';
  }
  // Forward the credentials before keeping the network: after a crash in between they are still right.
  await run.forward.save({ ssid: request.ssid, password: request.password, security: securityOf(context, request) });
  run.forwardedCandidateId = candidate.id;
  const isKept = await radio.keepCandidate(candidate.id).catch(() => false);
  if (!isKept) logger.event('wifi_not_kept', { ssid });
  const probedMs = context.clock.monotonic();
  const { attempt, appJoin } = run.memory;
  run.memory = {
    ...run.memory,
    attempt: null,
    lastJoin: null,
    appJoin: attempt?.kind === 'app' ? appJoinOf(context, request.ssid, null) : appJoin,
    lastFailure: null,
    link: key === null ? null : { key, connectivity, failures: 0, probedMs },
  };
  logger.event('wifi_joined', { ssid, ip: candidate.ip });
  return 'done';
}

/** Probes twice: right after giving an address a router may not answer yet. */
async function look(
  { radio, reachability, clock }: Context,
  signal: AbortSignal,
): Promise<{ key: string | null; connectivity: Connectivity }> {
  for (let isLast = false; ; isLast = true) {
    const { radio: seen, ...others } = await radio.observe();
    const link = linkOf({ ...others, radio: seen, ethernet: null });
    const options = { isOnly: others.ethernet === null };
    const connectivity = link ? await reachability.probe(link.gateway, signal, options) : 'none';
    if (connectivity !== 'none' || isLast) return { key: link?.key ?? null, connectivity };
    await clock.sleep(secondLookMs, signal);
  }
}

/** The chosen security, or that of the scan; with a password never that of an open network of the same name. */
const securityOf = ({ radio }: Context, { ssid, security, password }: JoinRequest) =>
  security ??
  radio.networks().find((network) => network.ssid === ssid && isFree(network.security) === (password === null))
    ?.security ??
  null;
