import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Status } from '@station/protocol/agent-api';

/** The agent's API over its Unix socket, as far as `npm start` needs it. */
export type AgentClient = {
  /** Null while the agent does not answer. */
  status(): Promise<Status | null>;
  /** Makes the agent check for a new release now. */
  check(): Promise<void>;
};

export function createAgentClient(socketPath: string, token: string): AgentClient {
  const call = (method: string, path: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, host: 'localhost' };
      const asking = request({ socketPath, method, path, headers, timeout: 10_000 }, (response) => {
        json(response).then(resolve, reject);
      });
      asking.on('timeout', () => asking.destroy(new Error('the agent does not answer')));
      asking.on('error', reject);
      asking.end();
    });
  return {
    status: async () => (await call('GET', '/status').catch(() => null)) as Status | null,
    check: async () => {
      // An agent that is not running checks at its start.
      await call('POST', '/check').catch(() => undefined);
    },
  };
}
