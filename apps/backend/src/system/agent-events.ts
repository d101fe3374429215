import { isoTime } from '@station/kit/clock';
import { createAgentClient, type AgentTarget } from '../adapters/agent-client.ts';
import type { Host } from '../core/host.ts';
import type { SocketHub } from '../socket/hub.ts';
import { startAgentLink } from './agent-link.ts';

/** The agent's events for everyone at /ws, and whether the agent is heard. */
export function startAgentEvents(
  config: { agent: AgentTarget | null; agentToken: string | null },
  { clock, logger, random }: Host,
  hub: SocketHub,
): AsyncDisposable {
  if (config.agent === null) return { [Symbol.asyncDispose]: async () => undefined };
  const now = (): string => isoTime(clock.now());
  const linkMessage = (connected: boolean) => ({ type: 'agent_link', at: now(), connected }) as const;
  const link = startAgentLink({
    client: createAgentClient(config.agent, config.agentToken),
    clock,
    logger,
    random,
    listener: {
      onConnected: (connected) => hub.broadcast(linkMessage(connected), 'agent_link'),
      onEvent: (event) => {
        // Of the progress of a pull only the latest matters.
        const { service } = event as { service?: unknown };
        const key = event.event === 'docker_pull' ? `docker_pull ${String(service)}` : undefined;
        hub.broadcast({ type: 'agent_event', at: now(), event }, key);
      },
    },
  });
  const replaying = hub.replay(() => [linkMessage(link.isConnected())]);
  return {
    [Symbol.asyncDispose]: async () => {
      replaying[Symbol.dispose]();
      await link[Symbol.asyncDispose]();
    },
  };
}
