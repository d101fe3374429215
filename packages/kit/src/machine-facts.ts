import { lookup } from 'node:dns/promises';
import { readFile, realpath, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type DiskHealth, type DiskSpace, type Lookup, mountOf, wearOf, writtenOf } from './machine-decide.ts';
import { isIP } from './node-tables.ts';

/** Where the kernel shows its files; other ones in tests. */
export type KernelFiles = { sys: string; proc: string };
const kernelFiles: KernelFiles = { sys: '/sys', proc: '/proc' };

/** Space of the file system of a folder, or of its nearest parent that exists. @throws the file system's error. */
export async function readDiskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize, ffree, files } = await statfs(await nearest(folder));
  return { folder, freeBytes: bavail * bsize, sizeBytes: blocks * bsize, freeFiles: files > 0 ? ffree : null };
}

/**
 * What the kernel says about the disk of a folder: mount, errors counted by ext4 (Documentation/ABI/testing/sysfs-fs-ext4), wear of
 * an eMMC (Documentation/driver-api/mmc/mmc-dev-attrs.rst), and how much was written. What it does not say is null.
 */
export async function readDiskHealth(folder: string, { sys, proc }: KernelFiles = kernelFiles): Promise<DiskHealth> {
  const path = await realpath(await nearest(folder));
  const mount = mountOf((await readKernel(join(proc, 'self/mountinfo'))) ?? '', path);
  const block = mount && (await realpath(join(sys, 'dev/block', mount.majorMinor)).catch(() => null));
  const health = { folder, device: block && basename(block), isReadOnly: mount?.isReadOnly ?? false };
  if (!block) return { ...health, errors: null, wear: null, writtenBytes: null };
  const isPartition = (await readKernel(join(block, 'partition'))) !== null;
  const disk = isPartition ? dirname(block) : block;
  const [lifeTime, reserve, stat] = await Promise.all([
    readKernel(join(disk, 'device/life_time')),
    readKernel(join(disk, 'device/pre_eol_info')),
    readKernel(join(disk, 'stat')),
  ]);
  return {
    ...health,
    errors: await readExt4Errors(join(sys, 'fs/ext4', basename(block))),
    wear: wearOf(lifeTime, reserve),
    writtenBytes: writtenOf(stat),
  };
}

/** Type of the file system of a folder as mount(8) names it; null: the kernel does not say. */
export async function readFileSystemType(folder: string, { proc }: KernelFiles = kernelFiles): Promise<string | null> {
  return mountOf((await readKernel(join(proc, 'self/mountinfo'))) ?? '', await realpath(folder))?.type ?? null;
}

async function readExt4Errors(folder: string): Promise<DiskHealth['errors']> {
  const names = ['errors_count', 'first_error_time', 'last_error_time'];
  const [count, firstAt = 0, lastAt = 0] = await Promise.all(
    names.map(async (name) => {
      const text = await readKernel(join(folder, name));
      return text === null ? undefined : Number(text);
    }),
  );
  return count === undefined ? null : { count, firstAt, lastAt };
}

/** Resolves each name as connections of this program do (getaddrinfo). Addresses are left out. */
export async function lookUpNames(hosts: readonly string[], signal: AbortSignal): Promise<Lookup[]> {
  const names = [...new Set(hosts)].filter((host) => host !== '' && isIP(host) === 0 && host !== 'localhost');
  return Promise.all(names.map(async (host) => ({ host, failure: await lookUp(host, signal) })));
}

async function lookUp(host: string, signal: AbortSignal): Promise<string | null> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const onAbort = (): void => resolve('no answer in time');
  // Half of the time of a check: the result is then still reported.
  const timer = setTimeout(onAbort, lookupMs);
  signal.addEventListener('abort', onAbort, { once: true });
  const found = lookup(host).then(
    () => null,
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'no address'),
  );
  try {
    return await Promise.race([found, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

const lookupMs = 5_000;

/** A small file of the kernel without its line break; null when there is none or it may not be read. */
async function readKernel(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return null;
  }
}

async function nearest(folder: string): Promise<string> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      return await realpath(at);
    } catch (error) {
      if (dirname(at) === at) throw error;
    }
  }
}
