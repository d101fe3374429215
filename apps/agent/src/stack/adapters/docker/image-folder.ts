import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the engine keeps images: the disk that a pull fills, and that has to be written out after it. */
export type EngineFolders = { DockerRootDir: string; DriverStatus?: readonly (readonly string[])[] | null };

/** What `GET /info` says of an engine that leaves images to containerd: the default of a fresh Docker since version 29. */
export const usesContainerd = ({ DriverStatus }: EngineFolders): boolean =>
  (DriverStatus ?? []).some(([name, value]) => name === 'driver-type' && value === 'io.containerd.snapshotter.v1');

/** containerd's own default (`root` of its config.toml). */
const usualRoot = '/var/lib/containerd';
const snapshots = /(\/[^:,\s]*?)\/io\.containerd\.snapshotter\.v1\.[^/:,\s]+\/snapshots\//;

/**
 * The folder with the images. No Docker says where containerd has them; the mounts of running containers do. Without one it is the folder
 * of the containerd that dockerd starts itself, or containerd's usual one.
 * @param mounts text of /proc/self/mountinfo (proc(5)).
 */
export async function imageFolder(info: EngineFolders, mounts = readMounts): Promise<string> {
  if (!usesContainerd(info)) return info.DockerRootDir;
  const mounted = snapshots.exec(await mounts())?.[1];
  const own = join(info.DockerRootDir, 'containerd/daemon');
  for (const folder of [mounted, own, usualRoot]) if (folder !== undefined && (await exists(folder))) return folder;
  return info.DockerRootDir;
}

const readMounts = (): Promise<string> => readFile('/proc/self/mountinfo', 'utf8').catch(() => '');

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
