import { StationError } from '@station/kit/station-error';
import type { NetworkState } from '@station/protocol/agent-network';
import {
  securities,
  type Security,
  type WifiPasswordProblem,
  wifiPasswordProblem,
  wifiPasswordProblemAmong,
} from '@station/protocol/wifi-password';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import type { WifiOffers } from './wifi-offer.ts';

type Network = { ssid: string; password: string };

/** Refuses a password that the network cannot have. @throws StationError wifi_password_invalid; never with the password. */
export type CheckWifiPassword = (network: Network) => Promise<void>;

const answerTimeoutMs = 5_000;

/**
 * The security is that of the network that the agent joined, and of those it sees. Where neither is known, a short or a long password
 * may be one of WPA3, and is let through. An empty one says that the network is open.
 */
export function createWifiPasswordCheck(parts: {
  offers: Pick<WifiOffers, 'stationWifi'>;
  agent: AgentClient;
}): CheckWifiPassword {
  return async (network) => {
    const { password } = network;
    if (password === '' || wifiPasswordProblem('wpa2', password, options) === null) return;
    if (wifiPasswordProblem(null, password, options) === null) {
      const seen = [...(await joined(parts.offers, network.ssid)), ...(await near(parts.agent, network.ssid))];
      refuse(wifiPasswordProblemAmong(seen, password, options));
    } else refuse(wifiPasswordProblem(null, password, options));
  };
}

/** The same where the security is known, as the agent sends it. */
export function checkJoinedPassword({ password, security }: Network & { security?: string }): void {
  if (password !== '') refuse(wifiPasswordProblem(asSecurity(security), password, options));
}

const options = { mayBeOpen: true } as const;

function refuse(problem: WifiPasswordProblem | null): void {
  if (problem === null) return;
  throw new StationError('wifi_password_invalid', 'This network cannot have this password.', {
    details: { reason: problem },
  });
}

const asSecurity = (text: string | undefined): Security | null => securities.find((one) => one === text) ?? null;

async function joined(offers: Pick<WifiOffers, 'stationWifi'>, ssid: string): Promise<Security[]> {
  const wifi = await offers.stationWifi();
  const security = wifi?.ssid === ssid ? asSecurity(wifi.security) : null;
  return security === null ? [] : [security];
}

/** Without an answer of the agent nothing is known. */
async function near(agent: AgentClient, ssid: string): Promise<Security[]> {
  const hex = Buffer.from(ssid, 'utf8').toString('hex');
  try {
    const { statusCode, body } = await agent.call('GET', '/network', { timeoutMs: answerTimeoutMs });
    if (statusCode !== 200) return [];
    return (body as NetworkState).networks.filter((one) => one.ssid === hex).map(({ security }) => security);
  } catch (error) {
    if (error instanceof StationError) return [];
    throw error;
  }
}
