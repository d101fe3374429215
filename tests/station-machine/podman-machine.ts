import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needPackages } from '../rig/debian.ts';
import { podmanRoot } from '../rig/podman.ts';
import { createRegistry, type Registry } from '../rig/registry.ts';
import type { Workspace } from '../rig/workspace.ts';
import { createDisks } from './disks.ts';
import { configureSystem, makeDisk } from './image.ts';
import { startMachine, type Machine } from './machine.ts';
import { createNetwork } from './network.ts';
import { hostPackages } from './recipe.ts';
import { giveAddress } from './surroundings.ts';

const packages = [
  'systemd-sysv',
  'dbus',
  'udev',
  'procps',
  'iproute2',
  'ifupdown',
  'netavark',
  'aardvark-dns',
  'nftables',
  'iptables',
  'catatonit',
];

/** A Debian 13 with its Podman under its systemd, and a registry of the host that it may use. Boots in two seconds. */
export async function startPodmanMachine(workspace: Workspace): Promise<{ machine: Machine; registry: Registry }> {
  await needPackages(hostPackages);
  const system = await podmanRoot('trixie', packages, 'podman-machine');
  const network = await createNetwork(workspace);
  const disks = await createDisks(workspace);
  const registry = await createRegistry(workspace, { host: network.host });
  const image = join(workspace.folder, 'podman.img');
  await makeDisk(system, image);
  const disk = await disks.import(image);
  await disks.edit(disk, async (root) => {
    await configureSystem(root);
    await giveAddress(root, network);
    const configuration = join(root, 'etc/containers/registries.conf.d');
    await mkdir(configuration, { recursive: true });
    const entry = `[[registry]]\nlocation = "${registry.address}"\ninsecure = true\n`;
    await writeFile(join(configuration, 'host.conf'), entry);
  });
  return { machine: await startMachine({ workspace, disks, network, disk }), registry };
}
