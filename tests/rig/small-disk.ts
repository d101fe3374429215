import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { needPackages } from './debian.ts';
import { run, tryRun } from './program.ts';

/** A small disk: a sparse file with a file system, mounted as root. Its workspace unmounts it. */
export type SmallDisk = {
  /** The file with its content; change it while it is not mounted. */
  image: string;
  mount(...options: string[]): Promise<void>;
  unmount(): Promise<void>;
  /** As a stick that is pulled out: the folder no longer leads to it, whatever is open there. */
  detach(): Promise<void>;
  /** Fills it to the last byte. */
  fill(): Promise<void>;
  /** Removes what filled it. */
  empty(): Promise<void>;
};

const kinds = {
  ext4: { packages: ['e2fsprogs'], make: ['mkfs.ext4', '-q', '-m', '0'], mount: ['mount', '-o', 'loop'] },
  // FAT32, as sticks come from the shop; at least 33 MiB. By FUSE: not every kernel has FAT.
  vfat: { packages: ['dosfstools', 'fusefat'], make: ['mkfs.vfat', '-F', '32'], mount: ['fusefat', '-o', 'rw+'] },
  // By FUSE, too, which calls it fuseblk.
  exfat: {
    packages: ['exfatprogs', 'exfat-fuse'],
    make: ['mkfs.exfat'],
    mount: ['mount', '-t', 'exfat-fuse', '-o', 'loop'],
  },
} as const;

/** @param options.folder where it is mounted. */
export async function createSmallDisk(options: {
  image: string;
  folder: string;
  megabytes: number;
  kind?: keyof typeof kinds;
}): Promise<SmallDisk> {
  const { image, folder, megabytes, kind = 'ext4' } = options;
  const { packages, make, mount } = kinds[kind];
  await needPackages(packages);
  await run('truncate', ['--size', `${megabytes}M`, image]);
  await run(make[0], [...make.slice(1), image]);
  await mkdir(folder, { recursive: true });
  const filler = join(folder, 'filler');
  const disk: SmallDisk = {
    image,
    mount: async (...more) => {
      const [program, ...args] = mount;
      await run(program, [...args.slice(0, -1), [args.at(-1), ...more].join(','), image, folder]);
    },
    unmount: async () => {
      if (kind === 'ext4') await tryRun('mount', ['-o', 'remount,ro', folder]);
      await run('umount', [folder]);
      if (kind === 'ext4') await renew(image);
    },
    detach: async () => void (await run('umount', ['--lazy', folder])),
    fill: () => fill(filler),
    empty: () => rm(filler),
  };
  await disk.mount();
  return disk;
}

/** Makes it another file: a mount namespace that began meanwhile holds the loop device, with what it had read of this one. */
async function renew(image: string): Promise<void> {
  await run('cp', ['--sparse=always', image, `${image}.new`]);
  await rename(`${image}.new`, image);
}

async function fill(path: string): Promise<void> {
  await using file = await open(path, 'a');
  for (const bytes of [1024 * 1024, 4096, 1]) {
    const chunk = Buffer.alloc(bytes, 1);
    try {
      for (;;) await file.write(chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  await file.sync();
}
