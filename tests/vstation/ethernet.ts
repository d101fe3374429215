import { endPrograms, routerServices } from './home.ts';
import type { Machine } from './machine.ts';

/** The wired connection of the station (`eth9`), to a router at 192.168.88.1 in a network namespace of its own. */
export type Ethernet = {
  /** Switches the far end on: carrier, DHCP, and by default internet. */
  plug(options?: { hasInternet?: boolean }): Promise<void>;
  /** The carrier goes. Idempotent. */
  unplug(): Promise<void>;
};

const folder = '/run/vstation/lan';

export function createEthernet(machine: Machine): Ethernet {
  const unplug: Ethernet['unplug'] = async () => {
    await machine.must(`ip -n lan link set lan0 down
      ${endPrograms(folder)}`);
  };
  return {
    plug: async (options = {}) => {
      await unplug();
      await machine.must(`set -e
        ip -n lan link set lan0 up
        ip -n lan addr replace 192.168.88.1/24 dev lan0
        ${routerServices({ namespace: 'lan', device: 'lan0', prefix: '192.168.88', folder, ...options })}`);
    },
    unplug,
  };
}
