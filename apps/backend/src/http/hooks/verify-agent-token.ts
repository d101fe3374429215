import { timingSafeEqual } from 'node:crypto';
import { hashToken } from '../../core/secrets.ts';
import { bearerToken, unauthorized, type RequestHook } from '../caller.ts';

/**
 * Compares `Authorization: Bearer <token>` with AGENT_TOKEN (specification, "Backend hooks", 5), in constant time; else 401. With no
 * AGENT_TOKEN the routes of the agent are closed.
 */
export function createVerifyAgentToken(agentToken: string | null): RequestHook {
  const expected = agentToken === null ? null : Buffer.from(hashToken(agentToken));
  return async function verifyAgentToken(request) {
    const token = bearerToken(request);
    // Hashes have equal length, which timingSafeEqual requires.
    if (token !== null && expected !== null && timingSafeEqual(Buffer.from(hashToken(token)), expected)) return;
    throw unauthorized('The agent token is missing or not right.');
  };
}
