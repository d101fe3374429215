import { Value } from 'typebox/value';
import { ClockStatus } from '@station/protocol/agent-api';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import type { ClockWord } from './station-time-decide.ts';

/** What the agent says about the clock of the machine. */
export type AgentClock = { word: ClockWord; source: ClockStatus['source'] };

const answerWithinMs = 1_500;

/** Never rejects: an agent that does not answer, or is too old to know, says nothing. */
export async function askForClock(agent: AgentClient): Promise<AgentClock> {
  try {
    const { statusCode, body } = await agent.call('GET', '/clock', { timeoutMs: answerWithinMs });
    if (statusCode !== 200 || !Value.Check(ClockStatus, body)) return { word: 'unknown', source: 'unknown' };
    const { trusted, source } = body;
    return { word: trusted ? 'right' : source === 'unknown' ? 'unknown' : 'wrong', source };
  } catch {
    return { word: 'unknown', source: 'unknown' };
  }
}
