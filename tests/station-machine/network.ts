import { run, tryRun } from '../rig/program.ts';
import { interfacePrefixOf } from '../rig/leftovers.ts';
import type { Workspace } from '../rig/workspace.ts';

/**
 * A switch on the host with the address `host`. A machine on it reaches what listens there (registry, package mirror, site), and nothing
 * else: the host forwards nothing.
 */
export type Network = AsyncDisposable & {
  bridge: string;
  /** The host's address, which a machine has as its gateway and name server (nothing answers names). */
  host: string;
  /** The machine's address, in a network of 24 bits. */
  machine: string;
};

export async function createNetwork(workspace: Workspace): Promise<Network> {
  const taken = await run('ip', ['-4', 'route', 'show', 'table', 'all']);
  const free = Array.from({ length: 90 }, (_, index) => 100 + index).filter((each) => !taken.includes(`10.${each}.`));
  const octet = free[Math.floor(Math.random() * free.length)];
  if (octet === undefined) throw new Error('no free range below 10.100.0.0/10 for the machine');
  const bridge = `${interfacePrefixOf(workspace.folder)}b`;
  await run('ip', ['link', 'add', bridge, 'type', 'bridge', 'forward_delay', '0']);
  const network: Network = {
    bridge,
    host: `10.${octet}.0.1`,
    machine: `10.${octet}.0.2`,
    [Symbol.asyncDispose]: async () => void (await tryRun('ip', ['link', 'delete', bridge])),
  };
  workspace.own(network);
  await run('ip', ['address', 'add', `${network.host}/24`, 'dev', bridge]);
  await run('ip', ['link', 'set', bridge, 'up']);
  return network;
}
