import type { CheckOutcome } from '@station/kit/doctor-decide';
import { describeError } from '@station/kit/station-error';
import type { BackendFindingCode } from '@station/protocol/doctor-findings';
import { type AgentTarget, createAgentClient } from '../core/adapters/agent-client.ts';

const answerTimeoutMs = 5_000;

/** Null: this backend has no agent. */
export async function checkAgent(config: {
  agent: AgentTarget | null;
  agentToken: string | null;
}): Promise<CheckOutcome<BackendFindingCode> | null> {
  const { agent, agentToken } = config;
  if (agent === null) return null;
  const address = agent.kind === 'socket' ? agent.path : new URL(agent.url).host;
  try {
    const { statusCode } = await createAgentClient(agent, agentToken).call('GET', '/version', {
      timeoutMs: answerTimeoutMs,
    });
    if (statusCode === 200) return { detail: address, findings: [] };
    if (statusCode === 401 || statusCode === 403) {
      return { detail: address, findings: [{ code: 'agent_refuses', values: {} }] };
    }
    return silent(address, `it answered with status ${statusCode}`);
  } catch (error) {
    return silent(address, describeError(error instanceof Error && error.cause ? error.cause : error));
  }
}

const silent = (address: string, reason: string): CheckOutcome<BackendFindingCode> => ({
  detail: address,
  findings: [{ code: 'agent_unreachable', values: { address, reason } }],
});
