import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { within } from '@station/kit/within';
import { maxAnswerBytes } from '@station/protocol/rest';
import { reaches, type Role } from '@station/protocol/roles';
import { routes } from '@station/protocol/routes';
import { type SnapshotKey, snapshotKeys } from '@station/protocol/snapshot';
import { userOf } from './access.ts';
import { serve } from './serve.ts';
import type { HttpServer } from './server.ts';

/** The agent, or the queue of large reads, may take longer; home does not wait for them. */
const patienceMs = 1_000;

/** GET /api/snapshot. Each route in it is asked with the caller's token, so it answers what it would answer the caller. */
export async function registerSnapshotRoute(app: HttpServer): Promise<void> {
  serve(app, 'GET /api/snapshot', async (request, reply) => {
    const { role } = userOf(request);
    const allowed = snapshotKeys.filter((key) => mayRead(role, routes[key].access));
    const answers = await Promise.all(allowed.map((key) => within(patienceMs, ask(app, key, request.headers))));
    return send(reply, answers);
  });
}

/** The route refuses the others itself; asking it would only fill the log. */
function mayRead(role: Role, access: { station: Role } | 'user' | 'guest'): boolean {
  if (typeof access === 'object') return reaches(role, access.station);
  return reaches(role, access === 'user' ? 'member' : access);
}

/** @returns the answer as a member of a JSON object; null when it is none, or the first page of several. */
async function ask(app: HttpServer, key: SnapshotKey, headers: IncomingHttpHeaders): Promise<string | null> {
  const { authorization = '', host = '' } = headers;
  const url = key.slice(key.indexOf('/'));
  const answer = await app.inject({ method: 'GET', url, headers: { authorization, host } });
  const isWhole = answer.statusCode === 200 && answer.headers.link === undefined;
  return isWhole ? `${JSON.stringify(key)}:${answer.body}` : null;
}

function send(reply: FastifyReply, answers: readonly (string | null)[]): FastifyReply {
  const fitting: string[] = [];
  let bytes = '{}'.length;
  for (const answer of answers) {
    if (answer === null) continue;
    const size = Buffer.byteLength(answer) + ','.length;
    if (bytes + size > maxAnswerBytes) continue;
    bytes += size;
    fitting.push(answer);
  }
  return reply.type('application/json; charset=utf-8').send(`{${fitting.join(',')}}`);
}
