import type { AgentSettings } from '@station/protocol/rest';
import type { CredentialsBackend } from '../wifi-ports.ts';
import {
  type BackendAddress,
  isOk,
  jsonPost,
  reasonOf,
  sendToBackend,
  silenceOf,
} from '../../core/adapters/backend-request.ts';

/** Refusals that may change later or with another token. */
const passing = new Set([401, 403, 408, 429]);

/**
 * Sends the backend the credentials of the joined Wi-Fi: `POST /api/settings/agent` with BACKEND_AGENT_TOKEN (contracts, section 9).
 * Reasons contain neither the token nor any sent value.
 */
export function createSettingsBackend(backend: BackendAddress): CredentialsBackend {
  return {
    send: async ({ ssid, password, security }, signal) => {
      const body: AgentSettings = {
        wifi: { ssid, password: password ?? '', ...(security === null ? {} : { security }) },
      };
      try {
        const response = await sendToBackend(backend, 'api/settings/agent', jsonPost(body), signal);
        response.body.destroy();
        return judge(response.status, backend.agentToken);
      } catch (error) {
        signal.throwIfAborted();
        return { kind: 'failed', reason: silenceOf(error) };
      }
    },
  };
}

function judge(status: number, token: string | null): Awaited<ReturnType<CredentialsBackend['send']>> {
  if (isOk(status)) return { kind: 'accepted' };
  const isRefused = status >= 400 && status < 500 && !passing.has(status);
  return { kind: isRefused ? 'refused' : 'failed', reason: reasonOf(status, token) };
}
