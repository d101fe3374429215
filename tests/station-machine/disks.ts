import { constants } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run, tryRun } from '../rig/program.ts';
import type { Workspace } from '../rig/workspace.ts';

/**
 * Root disks of machines: files on a file system that copies a file as one step and at once, while it is written to (`FICLONE` of btrfs).
 * Such a copy is what a disk holds at the instant of a power cut.
 */
export type Disks = AsyncDisposable & {
  /** A disk with the content of a file from elsewhere. */
  import(file: string): Promise<string>;
  /** A copy of a disk, which may be in use. */
  clone(disk: string): Promise<string>;
  /** Changes files on a disk that no machine uses. */
  edit(disk: string, change: (root: string) => Promise<void>): Promise<void>;
  remove(disk: string): Promise<void>;
};

export async function createDisks(workspace: Workspace): Promise<Disks> {
  const folder = await workspace.subfolder('disks');
  const pool = join(folder, 'pool');
  await mkdir(pool);
  await run('truncate', ['--size', '40G', join(folder, 'pool.btrfs')]);
  await run('mkfs.btrfs', ['-q', '--metadata', 'single', join(folder, 'pool.btrfs')]);
  await run('mount', ['-o', 'loop,discard,noatime', join(folder, 'pool.btrfs'), pool]);
  let count = 0;
  const next = (): string => join(pool, `${(count += 1)}.img`);
  const disks: Disks = {
    import: async (file) => {
      const disk = next();
      await run('cp', ['--sparse=always', file, disk]);
      return disk;
    },
    clone: async (disk) => {
      const copy = next();
      await copyFile(disk, copy, constants.COPYFILE_FICLONE_FORCE);
      return copy;
    },
    edit: async (disk, change) => {
      const root = join(folder, 'edited');
      await mkdir(root, { recursive: true });
      await run('mount', ['-o', 'loop', disk, root]);
      try {
        await change(root);
      } finally {
        await run('umount', ['--detach-loop', root]);
      }
    },
    remove: (disk) => rm(disk, { force: true }),
    [Symbol.asyncDispose]: async () => void (await tryRun('umount', ['--detach-loop', pool])),
  };
  return workspace.own(disks);
}
