import type { AgentSettings } from '@station/protocol/rest';
import type { CredentialsBackend } from '../wifi/wifi-ports.ts';
import { faultOf } from './http-follow.ts';

const timeoutMs = 10_000;
/** Of the answers that say no, those that another time or another token may change. */
const passing = new Set([401, 403, 408, 429]);

/**
 * Tells the backend the Wi-Fi that the station has joined: `POST /api/settings/agent` with BACKEND_AGENT_TOKEN (contracts, section 9).
 * Reasons name neither the token nor anything that was sent.
 */
export function createSettingsBackend(backend: { url: URL; agentToken: string | null }): CredentialsBackend {
  const { url, agentToken } = backend;
  const address = new URL('api/settings/agent', url.href.endsWith('/') ? url : `${url.href}/`);
  return {
    send: async ({ ssid, password, security }, signal) => {
      const body: AgentSettings = {
        wifi: { ssid, password: password ?? '', ...(security === null ? {} : { security }) },
      };
      try {
        const response = await fetch(address, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: {
            'content-type': 'application/json',
            ...(agentToken === null ? {} : { authorization: `Bearer ${agentToken}` }),
          },
          signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
          // A redirect would carry the token and the password to somebody else.
          redirect: 'manual',
        });
        await response.body?.cancel();
        return judge(response.status, agentToken);
      } catch (error) {
        signal.throwIfAborted();
        return { kind: 'failed', reason: `the backend does not answer (${faultOf(error)})` };
      }
    },
  };
}

function judge(status: number, token: string | null): Awaited<ReturnType<CredentialsBackend['send']>> {
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  if (status === 401 || status === 403) {
    const reason =
      token === null ? 'the backend asks for BACKEND_AGENT_TOKEN' : 'the backend refuses BACKEND_AGENT_TOKEN';
    return { kind: 'failed', reason };
  }
  const isRefused = status >= 400 && status < 500 && !passing.has(status);
  return { kind: isRefused ? 'refused' : 'failed', reason: `the backend answered ${status}` };
}
