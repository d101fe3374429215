import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import type { NetworkState } from '@station/protocol/agent-network';
import { foundName } from '@station/protocol/station-name';
import { kernelPaths } from './core/adapters/kernel-files.ts';
import { readLinks, readMachine } from './machine/adapters/machine-facts.ts';
import type { MachinePower } from './machine/adapters/machine-power.ts';
import type { MdnsName } from './core/adapters/mdns-name.ts';
import type { Config } from './config.ts';
import type { AgentPort } from './core/agent-port.ts';
import type { NetworkView } from './core/network-port.ts';
import type { Stack } from './stack/stack.ts';
import type { WifiDuty } from './wifi-duty.ts';

export type MachineParts = {
  config: Config;
  stack: Pick<Stack, 'operation'>;
  power: MachinePower;
  logger: AgentLogger;
  clock: Clock;
};

/** The answer reaches the browser first. */
const restartMs = 1000;

/** The machine, for people. */
export function createMachinePort(parts: MachineParts): Pick<AgentPort, 'machine' | 'restartMachine'> {
  const { config, stack, power, logger, clock } = parts;
  // Where Docker keeps its images and volumes unless somebody moved them.
  const folders = ['/', '/var/lib/docker', config.dataDir, config.stack.projectPath, config.firmware.cacheDir];
  return {
    machine: async () => ({
      ...(await readMachine(folders, kernelPaths, clock)),
      canRestart: await power.canRestart(),
    }),
    restartMachine: async () => {
      if (stack.operation() !== null)
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
  config: Config;
  wifi: Pick<WifiDuty, 'status' | 'network'>;
  mdnsName: Pick<MdnsName, 'read'>;
};

/** Its network, for people in the web app. */
export function createNetworkPort({
  config,
  wifi,
  mdnsName,
}: NetworkParts): Pick<AgentPort, 'network' | 'scanNetwork' | 'joinNetwork'> {
  const network = async (): Promise<NetworkState> => {
    const name = await mdnsName.read();
    const address = new URL(config.wifi.stationUrl);
    address.hostname = foundName(address.hostname, name);
    return {
      ...(wifi.network?.view() ?? notManaged),
      wifi: wifi.status(),
      links: await readLinks(kernelPaths.sys),
      stationAddress: address.href,
      mdnsName: name,
    };
  };
  return {
    network,
    scanNetwork: async () => {
      await wifi.network?.rescan();
      return network();
    },
    joinNetwork: (request) => wifi.network?.join(request) ?? 'not_managed',
  };
}

const notManaged: NetworkView = {
  blocker: 'not_managed',
  networks: [],
  scannedAt: null,
  joining: null,
  lastJoin: null,
};
