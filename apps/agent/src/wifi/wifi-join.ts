import { linkOf } from './wifi-facts.ts';
import { isFree, type JoinFailure, type JoinRequest, describeSsid } from '../core/wifi-network.ts';
import type { Connectivity } from './wifi-ports.ts';
import type { Context, Outcome } from './wifi-run.ts';

/** The join of the portal is over, and the hotspot comes back with the reason. */
export function failJoin(context: Context, request: JoinRequest, failure: JoinFailure, detail: string): void {
  const { run, logger } = context;
  const { ssid, isHidden, security } = request;
  logger.event('wifi_join_failed', { ssid: describeSsid(ssid), failure, detail });
  run.memory = { ...run.memory, attempt: null, lastFailure: failure, lastJoin: { ssid, isHidden, security, failure } };
}

/**
 * What was joined and could not be written, or whose agent ended before it was. It works; what it was joined with is asked of the
 * network manager when this process does not know it.
 */
export async function keepJoined({ run, radio }: Context, candidateId: string): Promise<Outcome> {
  if (run.toldCandidateId !== candidateId) {
    const credentials = await radio.credentialsOf(candidateId);
    if (credentials) await run.forward.save(credentials);
    run.toldCandidateId = credentials && candidateId;
  }
  if (!(await radio.keepCandidate(candidateId))) return 'failed';
  // Should it still be seen as a candidate, it is not asked for again at once.
  return (await radio.observe()).radio?.client?.candidateId === candidateId ? 'failed' : 'done';
}

const secondLookMs = 1000;

/** A network was joined: is anybody there? Then it is kept and told to the backend, else dropped. */
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
  // Before the network is kept: a crash in between leaves credentials that are right, and not a network that devices cannot use.
  await run.forward.save({ ssid: request.ssid, password: request.password, security: securityOf(context, request) });
  run.toldCandidateId = candidate.id;
  const isKept = await radio.keepCandidate(candidate.id).catch(() => false);
  if (!isKept) logger.event('wifi_not_kept', { ssid });
  const probedMs = context.clock.monotonic();
  run.memory = {
    ...run.memory,
    attempt: null,
    lastJoin: null,
    lastFailure: null,
    link: key === null ? null : { key, connectivity, failures: 0, probedMs },
  };
  logger.event('wifi_joined', { ssid, ip: candidate.ip });
  return 'done';
}

/** Twice: right after the address came, a router may still be busy with it. */
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

/** As chosen, or as met: by a network that takes a password when there is one, not by an open one of its name. */
const securityOf = ({ radio }: Context, { ssid, security, password }: JoinRequest) =>
  security ??
  radio.networks().find((network) => network.ssid === ssid && isFree(network.security) === (password === null))
    ?.security ??
  null;
