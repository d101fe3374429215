import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import { type Disk, readText, removeDurable } from '@station/kit/durable-files';
import { parseAs } from '@station/kit/json';
import type { BackendLogger } from '@station/kit/logger';
import { createBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import { AgentBackup, AgentRestored } from '@station/protocol/agent-backup';
import type { AgentClient } from '../core/adapters/agent-client.ts';

/** Reading the file of the broker from its container takes some seconds on a slow card. */
const timeoutMs = 60_000;

/** The agent's part of a backup; null when there is no agent, it does not answer, or it is older than this. */
export async function readAgentPart(agent: AgentClient): Promise<AgentBackup | null> {
  try {
    const { statusCode, body } = await agent.call('GET', '/backup', { timeoutMs });
    return statusCode === 200 && Value.Check(AgentBackup, body) ? body : null;
  } catch {
    return null;
  }
}

/**
 * Gives the agent its part of a restored backup, and removes the file once the agent has it. The agent may start later than the backend,
 * so it is tried again until it answers.
 */
export function returnAgentPart(parts: {
  agent: AgentClient;
  disk: Disk;
  path: string;
  clock: Clock;
  logger: BackendLogger;
  random: () => number;
}): AsyncDisposable {
  const { clock, random, logger } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const backoff = createBackoff({ initialMs: 5_000, maxMs: 15 * 60_000, jitter: 0.2, random });
  let isLogged = false;
  const onFailure = ({ error, retryInMs }: { error: unknown; retryInMs: number }): void => {
    if (!isLogged) logger.event('agent_part_waits', { reason: describeError(error), retryInMs });
    isLogged = true;
  };
  const running = retry(() => giveBack(parts), { clock, signal, backoff, onFailure }).catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function giveBack({ agent, disk, path, logger }: Parameters<typeof returnAgentPart>[0]): Promise<void> {
  const part = readPart(await readText(disk, path));
  if (part !== null) {
    const { statusCode, body } = await agent.call('POST', '/backup/restore', { timeoutMs, body: part });
    if (statusCode !== 200 || !Value.Check(AgentRestored, body)) throw new Error(`the agent answered ${statusCode}`);
    const missing = body.missing.map((one) => `${one.part}: ${one.reason}`);
    logger.event('agent_part_returned', { networks: body.wifi.added, broker: body.broker, missing });
  }
  await removeDurable(disk, path);
}

const readPart = (text: string | null): AgentBackup | null => parseAs(AgentBackup, text);
