import { mkdir, mkdtemp, readdir, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { composePackage, debianSource, needPackages, sourcesOfMachine, tell } from '../rig/debian.ts';
import { run } from '../rig/program.ts';
import { takeLock } from '../vstation/lock.ts';
import { buildMirror } from './mirror.ts';
import { basePackages, hostPackages, maskedUnits, recipeHash, suite } from './recipe.ts';

/** What every station machine begins with. */
export type MachineImage = {
  /** Root file system: ext4 with a journal, in a sparse raw file. Never written to. */
  disk: string;
  /** Folder that a web server offers as package sources: `debian/`, and `docker/` shaped like Docker's own. */
  mirror: string;
};

/** Room on the root disk. The file is sparse. */
const diskBytes = 6 * 1024 ** 3;
const dayMs = 24 * 3_600_000;

/**
 * The image, built when the cache has none of the present recipe: a minute or two and 700 MB, as root, from the package sources of the host.
 * Several processes may ask at once. Images of other recipes are removed when they were not used for a day.
 * @throws when not root, or a program fails.
 */
export async function openMachineImage(cache = join(tmpdir(), 'station-machine')): Promise<MachineImage> {
  await needPackages(hostPackages);
  if (process.getuid?.() !== 0) throw new Error('the station machine is built as root');
  await mkdir(cache, { recursive: true });
  await using _lock = await takeLock(join(cache, 'lock'));
  const folder = join(cache, `image-${recipeHash()}`);
  if (!(await exists(folder))) {
    await removeOld(cache);
    await build(await mkdtemp(join(cache, 'build-')), folder);
  }
  const now = new Date();
  await utimes(folder, now, now);
  return { disk: join(folder, 'root.img'), mirror: join(folder, 'mirror') };
}

/** Called under the lock: a half-built folder belongs to a process that has ended. */
async function removeOld(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    const isOld = name.startsWith('image-') && Date.now() - (await stat(path)).mtimeMs > dayMs;
    if (isOld || name.startsWith('build-')) await rm(path, { recursive: true, force: true });
  }
}

async function build(work: string, target: string): Promise<void> {
  const started = performance.now();
  const progress = (what: string): void =>
    tell(`station machine: ${what} (${((performance.now() - started) / 1000).toFixed(0)} s)`);
  progress(`building Debian ${suite}; about a minute`);
  const rootfs = join(work, 'rootfs');
  const result = join(work, 'result');
  await mkdir(result);
  const [composeDeb] = await Promise.all([composePackage(work), bootstrap(rootfs, work)]);
  progress('the system is here');
  const { keyring } = await buildMirror({ rootfs, composeDeb, work, target: join(result, 'mirror') });
  progress('the package mirror is here');
  await configure(rootfs, keyring);
  await makeDisk(rootfs, join(result, 'root.img'));
  await rename(result, target);
  await rm(work, { recursive: true, force: true });
  progress('built');
}

async function bootstrap(rootfs: string, work: string): Promise<void> {
  const sources = suite === 'bookworm' ? await sourcesOfMachine(suite) : [await debianSource(suite, work)];
  const exclude = ['man', 'doc', 'locale', 'info'].flatMap((name) => [`--dpkgopt=path-exclude=/usr/share/${name}/*`]);
  await run('mmdebstrap', [
    '--mode=root',
    '--variant=minbase',
    `--include=${basePackages.join(',')}`,
    ...exclude,
    '--aptopt=Acquire::Retries "5"',
    '--aptopt=Acquire::Languages "none"',
    suite,
    rootfs,
    ...sources,
  ]);
}

/**
 * nspawn mounts the control groups of version 1 read-only. On a real machine Docker may write to them, so this unit makes them writable.
 */
const cgroupUnit = `[Unit]
Description=Writable control groups, as outside of a container
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'for at in /sys/fs/cgroup/*/; do mount -o remount,bind,rw,nosuid,nodev,noexec "$at" || true; done'
[Install]
WantedBy=sysinit.target
`;

async function configure(rootfs: string, keyring: string): Promise<void> {
  const inside = (path: string): string => join(rootfs, path);
  await configureSystem(rootfs);
  await run('cp', [keyring, inside('usr/share/keyrings/station-mirror.gpg')]);
  for (const name of ['etc/resolv.conf', 'etc/apt/sources.list']) await rm(inside(name), { force: true });
  await rm(inside('etc/apt/sources.list.d'), { recursive: true, force: true });
  await mkdir(inside('etc/apt/sources.list.d'));
}

/** What a Debian needs to boot as a station machine. @param root its root folder, just unpacked. */
export async function configureSystem(root: string): Promise<void> {
  const inside = (path: string): string => join(root, path);
  await run('chroot', [root, 'passwd', '-d', 'root']);
  await writeFile(inside('etc/hostname'), 'debian\n');
  await run('chmod', ['644', inside('etc/hostname')]);
  await writeFile(inside('etc/hosts'), '127.0.0.1 localhost\n127.0.1.1 debian\n');
  await writeFile(inside('etc/fstab'), '');
  await writeFile(inside('etc/machine-id'), 'c0ffee00c0ffee00c0ffee00c0ffee01\n');
  await writeFile(inside('etc/locale.conf'), 'LANG=C.UTF-8\n');
  // The journal survives a power cut, so that a test can read what came before it.
  await mkdir(inside('var/log/journal'), { recursive: true });
  const units = inside('etc/systemd/system');
  for (const unit of maskedUnits) await link('/dev/null', join(units, unit));
  await writeFile(join(units, 'station-machine-cgroups.service'), cgroupUnit);
  await link('../station-machine-cgroups.service', join(units, 'sysinit.target.wants/station-machine-cgroups.service'));
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });
  await symlink(target, path);
}

/** Makes a root disk of a folder. */
export async function makeDisk(folder: string, path: string): Promise<void> {
  await writeFile(path, '');
  await truncate(path, diskBytes);
  await run('mke2fs', ['-q', '-F', '-t', 'ext4', '-m0', '-E', 'lazy_itable_init=1', '-d', folder, path]);
}
