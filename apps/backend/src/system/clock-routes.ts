import { type Clock, isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { StationClock } from '@station/protocol/rest';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import { type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { StationTime } from './station-time.ts';

type Parts = {
  agent: AgentClient;
  /** Null with several backends: the time is that of the database. */
  time: StationTime | null;
  /** The time of the station, and that of the machine. */
  clock: Clock;
  machine: Pick<Clock, 'now'>;
};

/** Whether the clock is right, and how a person sets it when there is no internet. */
export async function registerClockRoutes(app: HttpServer, parts: Parts): Promise<void> {
  serve(app, 'GET /api/system/clock', () => toClock(parts));
  serve(app, 'POST /api/system/clock', (request) => setClock(parts, request));
}

/** The agent may have to stop and start the service of NTP. */
const answerTimeoutMs = 20_000;
/** A clock of this machine that differs less from the person's device is confirmed, not set. */
const sameMs = 30_000;

async function setClock(parts: Parts, { body }: RequestOf<'POST /api/system/clock'>): Promise<StationClock> {
  const { agent, time, machine } = parts;
  const givenMs = Date.parse(body.now);
  if (!Number.isFinite(givenMs)) throw new StationError('bad_request', '"now" must be a time.');
  if (time === null) throw new StationError('bad_request', 'The time of this station is that of its database.');
  try {
    const answer = await agent.call('POST', '/clock', { timeoutMs: answerTimeoutMs, body });
    if (answer.statusCode !== 200) throw new StationError('clock_not_set', 'The agent could not set the clock.');
    await time.check();
  } catch (error) {
    // Without an agent nobody here may set the clock, but a person may say that it is right.
    if (Math.abs(machine.now() - givenMs) > sameMs) throw error;
    await time.confirm();
  }
  return toClock(parts);
}

function toClock({ time, clock }: Parts): StationClock {
  const since = time?.trusted.unsureSince() ?? null;
  return {
    now: isoTime(clock.now()),
    trusted: time?.trusted.isTrusted() ?? true,
    source: time?.source() ?? 'unknown',
    needsHelp: time?.isDoubtful() ?? false,
    provisionalSince: since === null ? null : isoTime(since),
  };
}
