import type { LiveState } from './live.ts';
import type { Problem } from './problem.ts';

/** How true what is on the screen still is. */
export type Freshness =
  | { kind: 'connecting' }
  | { kind: 'live' }
  /** No socket, but the station answers when asked. */
  | { kind: 'polling' }
  | { kind: 'stale'; because: 'no_answer' | 'agent_silent'; lastWordAt: number };

/** Without the socket the page asks every few seconds; twice that without an answer, and what is shown is old. */
const silentAfterMs = 7_000;
/** With the socket, changes are told; the page asks all the same, but rarely. A phone that slept is past this. */
const asleepAfterMs = 90_000;

export function freshnessOf(facts: {
  link: LiveState['link'];
  /** Whether the backend hears the agent. */
  agent: boolean | null;
  /** When the shown state was read, epoch milliseconds here. */
  readAt: number;
  /** What the latest try to read it came to, when it failed. */
  failure: Problem | null;
  now: number;
}): Freshness {
  const { link, agent, readAt, failure, now } = facts;
  const age = now - readAt;
  if (failure) {
    return {
      kind: 'stale',
      because: failure.code === 'agent_unreachable' ? 'agent_silent' : 'no_answer',
      lastWordAt: readAt,
    };
  }
  if (age > (link === 'live' ? asleepAfterMs : silentAfterMs))
    return { kind: 'stale', because: 'no_answer', lastWordAt: readAt };
  if (link === 'connecting') return { kind: 'connecting' };
  return link === 'live' && agent !== false ? { kind: 'live' } : { kind: 'polling' };
}

/** Milliseconds until the state is read again. */
export function pollEveryMs(facts: {
  link: LiveState['link'];
  agent: boolean | null;
  busy: boolean;
  failed: boolean;
}): number {
  if (facts.failed) return 2_000;
  if (facts.busy) return 1_000;
  return facts.link === 'live' && facts.agent !== false ? 30_000 : 3_000;
}
