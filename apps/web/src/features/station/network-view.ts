import type { NearNetwork, NetworkJoinRequest, NetworkState } from '@station/protocol/agent-network';

export const networkKey = ['network'];

/** A network of the list: the strongest of its name and security. `isCurrent`: the station is in it. */
export type ShownNetwork = NearNetwork & { isCurrent: boolean; isFree: boolean; refusal: 'enterprise' | 'wep' | null };

/** The networks nearby, the one in use first, then the strongest. */
export function shownNetworks({ networks, wifi }: NetworkState): ShownNetwork[] {
  return networks
    .map((network) => ({
      ...network,
      isCurrent: wifi.mode !== 'hotspot' && network.name === wifi.ssid,
      isFree: network.security === 'open' || network.security === 'owe',
      refusal: network.security === 'enterprise' || network.security === 'wep' ? network.security : null,
    }))
    .toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent) || b.signal - a.signal);
}

/** 1 to 3: how many bars of a signal. */
export const barsOf = (percent: number): 1 | 2 | 3 => (percent >= 60 ? 3 : percent >= 30 ? 2 : 1);

const bytesOf = (name: string): Uint8Array => new TextEncoder().encode(name);

/** For a network whose name was typed: it may be hidden, and its security is found out by the station. */
export const typedRequest = (name: string, password: string | null): NetworkJoinRequest => ({
  ssid: [...bytesOf(name)].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
  security: password === null ? 'open' : null,
  password,
  isHidden: true,
});

export const chosenRequest = ({ ssid, security, isFree }: ShownNetwork, password: string): NetworkJoinRequest => ({
  ssid,
  security,
  password: isFree ? null : password,
  isHidden: false,
});

/** How the last join ended, until somebody has read it in this browser. */
export const unreadJoin = ({ lastJoin, joining }: NetworkState, readAt: string | null): NetworkState['lastJoin'] =>
  joining !== null || lastJoin === null || lastJoin.at === readAt ? null : lastJoin;
