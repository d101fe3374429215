import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import type { Operation, WifiStatus } from '@station/protocol/agent-api';
import type { NetworkLink, NetworkState } from '@station/protocol/agent-network';
import { foundName } from '@station/protocol/station-name';
import type { AgentPort } from '../core/agent-port.ts';
import type { NetworkActions, NetworkView } from '../core/network-port.ts';
import type { MachineFacts, MachinePower } from './machine-ports.ts';

type MachineParts = {
  read: () => Promise<MachineFacts>;
  power: MachinePower;
  /** The update or rollback under way; null: none. */
  operation: () => Operation | null;
  logger: AgentLogger;
  clock: Clock;
};

/** The answer reaches the browser first. */
const restartMs = 1000;

/** The machine, for people. */
export function createMachinePort(parts: MachineParts): Pick<AgentPort, 'machine' | 'restartMachine'> {
  const { read, power, operation, logger, clock } = parts;
  return {
    machine: async () => ({ ...(await read()), canRestart: await power.canRestart() }),
    restartMachine: async () => {
      if (operation() !== null)
        return { kind: 'refused', code: 'update_in_progress', message: 'An update or a rollback is under way.' };
      if (!(await power.canRestart()))
        return { kind: 'refused', code: 'unavailable', message: 'This machine does not let the agent restart it.' };
      logger.event('machine_restart', {});
      const onFailure = (error: unknown): void => logger.failed('restart of the machine', error);
      void clock.sleep(restartMs).then(power.restart).catch(onFailure);
      return { kind: 'started' };
    },
  };
}

type NetworkParts = {
  /** STATION_URL: where people look for the station. */
  stationUrl: URL;
  wifiStatus: () => WifiStatus;
  /** Null: the agent does not manage the network. */
  actions: NetworkActions | null;
  /** The name of the machine in its network; null: it has none. */
  mdnsName: () => Promise<string | null>;
  links: () => Promise<NetworkLink[]>;
};

/** Its network, for people in the web app. */
export function createNetworkPort(parts: NetworkParts): Pick<AgentPort, 'network' | 'scanNetwork' | 'joinNetwork'> {
  const { stationUrl, wifiStatus, actions, mdnsName, links } = parts;
  const network = async (): Promise<NetworkState> => {
    const name = await mdnsName();
    const address = new URL(stationUrl);
    address.hostname = foundName(address.hostname, name);
    return {
      ...(actions?.view() ?? notManaged),
      wifi: wifiStatus(),
      links: await links(),
      stationAddress: address.href,
      mdnsName: name,
    };
  };
  return {
    network,
    scanNetwork: async () => {
      await actions?.rescan();
      return network();
    },
    joinNetwork: (request) => actions?.join(request) ?? 'not_managed',
  };
}

const notManaged: NetworkView = {
  blocker: 'not_managed',
  networks: [],
  scannedAt: null,
  joining: null,
  lastJoin: null,
};
