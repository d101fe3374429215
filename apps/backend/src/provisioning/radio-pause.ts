import { Value } from 'typebox/value';
import { WifiStatus } from '@station/protocol/agent-api';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import type { PausedBy } from './scan-decide.ts';

const answerWithinMs = 3_000;

/**
 * Whether the radio is needed for the Wi-Fi of the station: BLE beside a hotspot with clients breaks it on combined chips. Never rejects;
 * an agent that does not answer is no reason to pause.
 */
export async function askForPause(agent: AgentClient): Promise<PausedBy | null> {
  try {
    const { statusCode, body } = await agent.call('GET', '/wifi/status', { timeoutMs: answerWithinMs });
    if (statusCode !== 200 || !Value.Check(WifiStatus, body)) return null;
    if (body.watchdog.state === 'JOINING') return 'joining';
    return body.hotspot.active && body.hotspot.clients > 0 ? 'hotspot_in_use' : null;
  } catch {
    return null;
  }
}
