import type { NetworkState } from '@station/protocol/agent-network';
import type { JoinRequest } from './wifi-network.ts';

/** What the web app sees of the network, without what the composition root adds. */
export type NetworkView = Omit<NetworkState, 'wifi' | 'links' | 'stationAddress'>;

/** The network for people in the web app. */
export type NetworkActions = {
  view(): NetworkView;
  /** Resolves when fresh results are in `view`, or after 15 s. While the radio is needed for something else, at once. */
  rescan(): Promise<void>;
  /** The answer reaches the browser before the network changes (some seconds). */
  join(request: JoinRequest): 'accepted' | NonNullable<NetworkView['blocker']>;
};
