import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import { NetworkState } from '@station/protocol/agent-network';
import type { AgentClient } from '../../core/adapters/agent-client.ts';

/** What the agent knows of the machine in its network. All null without an agent. */
export type MachineNetwork = {
  /** In its Wi-Fi; null: it is in none. */
  station: { ssid: string; address: string } | null;
  /** What it is called in multicast DNS; null: it has no name there. */
  mdnsName: string | null;
};

const agentWithinMs = 2_000;
const freshMs = 5_000;

/** Asks the agent, and again after five seconds. Never rejects. */
export function createMachineNetwork(agent: Pick<AgentClient, 'call'>, clock: Clock): () => Promise<MachineNetwork> {
  let asked: { machine: Promise<MachineNetwork>; atMs: number } | null = null;
  return () => {
    const isFresh = asked !== null && clock.monotonic() - asked.atMs < freshMs;
    if (asked === null || !isFresh) asked = { machine: askAgent(agent), atMs: clock.monotonic() };
    return asked.machine;
  };
}

async function askAgent(agent: Pick<AgentClient, 'call'>): Promise<MachineNetwork> {
  try {
    const { body } = await agent.call('GET', '/network', { timeoutMs: agentWithinMs });
    if (!Value.Check(NetworkState, body)) return { station: null, mdnsName: null };
    const { mode, ssid, ip } = body.wifi;
    const isIn = mode === 'client' && ssid !== null && ip !== null;
    // An agent of an older release says only where it should be found.
    const { mdnsName = new URL(body.stationAddress).hostname.replace(/^\[(.*)\]$/, '$1') } = body;
    return { station: isIn ? { ssid, address: ip.replace(/\/\d+$/, '') } : null, mdnsName };
  } catch {
    // Without the agent its network is not known.
    return { station: null, mdnsName: null };
  }
}
