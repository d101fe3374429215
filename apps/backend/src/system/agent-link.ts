import { type Clock, isoTime } from '@station/kit/clock';
import { parseAs } from '@station/kit/json';
import type { BackendLogger } from '@station/kit/logger';
import { createBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import { AgentEvent } from '@station/protocol/socket';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import type { SocketHub } from '../socket/hub.ts';

type AgentLinkListener = {
  onEvent(event: AgentEvent): void;
  onConnected(connected: boolean): void;
};

type AgentLink = AsyncDisposable & { isConnected(): boolean };

/** Short, because the agent is on this machine and the page is waiting for news of an update. */
const backoff = { initialMs: 500, maxMs: 15_000, jitter: 0.2 };

/** Listens to the agent's events for as long as it is not disposed, through restarts of the agent. */
function startAgentLink(dependencies: {
  client: AgentClient;
  clock: Clock;
  logger: BackendLogger;
  random: () => number;
  listener: AgentLinkListener;
}): AgentLink {
  const { client, clock, logger, listener } = dependencies;
  const stopping = new AbortController();
  const { signal } = stopping;
  const delays = createBackoff({ ...backoff, random: dependencies.random });
  let connected = false;

  const setConnected = (next: boolean): void => {
    if (connected === next) return;
    connected = next;
    listener.onConnected(next);
  };

  const listen = async (): Promise<never> => {
    const stream = await client.openStream('/events', signal);
    logger.event('agent_link_up', {});
    delays.reset();
    setConnected(true);
    const push = createSseParser((data) => {
      const event = parseEvent(data);
      if (event !== null) listener.onEvent(event);
    });
    stream.setEncoding('utf8');
    for await (const text of stream) push(text as string);
    throw new Error('The agent ended the stream');
  };

  let lastReason = '';
  const onFailure = ({ error, retryInMs }: { error: unknown; retryInMs: number }): void => {
    const wasConnected = connected;
    setConnected(false);
    const reason = describeError(error);
    // An agent that stays offline is logged once, not at each attempt.
    if (wasConnected || reason !== lastReason) logger.event('agent_link_down', { reason, retryInMs });
    lastReason = reason;
  };
  const running = retry(listen, { clock, signal, backoff: delays, onFailure }).catch(() => setConnected(false));
  return {
    isConnected: () => connected,
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}

/** Ignores unknown events, so that a newer agent may send more. */
const parseEvent = (data: string): AgentEvent | null => parseAs(AgentEvent, data);

/** Every event of the agent is far shorter; anything longer is an error. */
const maxEventChars = 1024 * 1024;

/**
 * Parses server-sent events (WHATWG HTML, section 9.2.6), as far as the agent uses them: the `data` of each event.
 * @param onData called with the text of each complete event.
 * @returns push, to be called with decoded text in pieces of any size.
 * @throws from push, when an event is longer than 1 MiB.
 */
function createSseParser(onData: (data: string) => void): (text: string) => void {
  let rest = '';
  let data: string[] = [];
  const onLine = (line: string): void => {
    if (line === '') {
      if (data.length > 0) onData(data.join('\n'));
      data = [];
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
    // Comments keep the connection alive; other fields are not used.
  };
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    const held = data.reduce((sum, line) => sum + line.length, rest.length);
    if (held > maxEventChars) throw new Error('The agent sent an event that is too long');
  };
}

/** Broadcasts the agent's events at /ws, and whether the agent is reachable. */
export function startAgentEvents(
  parts: Omit<Parameters<typeof startAgentLink>[0], 'listener'> & { hub: SocketHub },
): AsyncDisposable {
  const { hub, clock } = parts;
  const now = (): string => isoTime(clock.now());
  const linkMessage = (connected: boolean) => ({ type: 'agent_link', at: now(), connected }) as const;
  const link = startAgentLink({
    ...parts,
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
  const replay = hub.replay(() => [linkMessage(link.isConnected())]);
  return {
    [Symbol.asyncDispose]: async () => {
      replay[Symbol.dispose]();
      await link[Symbol.asyncDispose]();
    },
  };
}
