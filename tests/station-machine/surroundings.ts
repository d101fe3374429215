import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRegistry, type Registry } from '../rig/registry.ts';
import type { Workspace } from '../rig/workspace.ts';
import { createDisks, type Disks } from './disks.ts';
import { createFileServer, type FileServer } from './file-server.ts';
import { openMachineImage } from './image.ts';
import { startMachine, type Machine } from './machine.ts';
import { createNetwork, type Network } from './network.ts';
import { suite } from './recipe.ts';

/** Everything a machine reaches: package sources, a registry, and a web server; all of it on the host, nothing on the internet. */
export type Surroundings = {
  network: Network;
  disks: Disks;
  registry: Registry;
  /** Serves `/mirror`; other folders are added by name. */
  files: FileServer;
  /** Address of a package repository with the layout of https://download.docker.com/linux. */
  dockerRepository: string;
  /** The disk of a new Debian server in its network. */
  bareDisk(): Promise<string>;
  start(disk: string): Promise<Machine>;
};

export async function createSurroundings(workspace: Workspace): Promise<Surroundings> {
  const image = await openMachineImage();
  const network = await createNetwork(workspace);
  const disks = await createDisks(workspace);
  const registry = await createRegistry(workspace, { host: network.host });
  const files = await createFileServer(workspace, network.host, { mirror: image.mirror });
  const bareDisk = async (): Promise<string> => {
    const disk = await disks.import(image.disk);
    await disks.edit(disk, (root) => settle(root, { network, registry, mirrorUrl: `${files.origin}/mirror` }));
    return disk;
  };
  return {
    network,
    disks,
    registry,
    files,
    dockerRepository: `${files.origin}/mirror/docker/linux`,
    bareDisk,
    start: (disk) => startMachine({ workspace, disks, network, disk }),
  };
}

type Place = { network: Network; registry: Registry; mirrorUrl: string };

/** Gives the system on a disk its address and package sources. Everything else is as Debian leaves it. */
async function settle(root: string, { network, registry, mirrorUrl }: Place): Promise<void> {
  const write = (path: string, lines: readonly string[]): Promise<void> => writeLines(join(root, path), lines);
  await giveAddress(root, network);
  await write('etc/resolv.conf', [`nameserver ${network.host}`]);
  await write('etc/apt/sources.list', [
    `deb [signed-by=/usr/share/keyrings/station-mirror.gpg] ${mirrorUrl}/debian ${suite} main`,
  ]);
  // A machine that knows a private registry: this file is not the installer's, and stays.
  await mkdir(join(root, 'etc/docker'), { recursive: true });
  await write('etc/docker/daemon.json', [JSON.stringify({ 'insecure-registries': [registry.address] })]);
}

/** Gives the system on a disk its address on the network. */
export async function giveAddress(root: string, network: Network): Promise<void> {
  await writeLines(join(root, 'etc/network/interfaces'), [
    'auto lo',
    'iface lo inet loopback',
    'auto eth0',
    'iface eth0 inet static',
    `  address ${network.machine}/24`,
    `  gateway ${network.host}`,
  ]);
}

const writeLines = (path: string, lines: readonly string[]): Promise<void> =>
  writeFile(path, lines.map((line) => `${line}\n`).join(''));
