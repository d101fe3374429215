import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { needPackages, patientApt, sourcesOfMachine, tell } from '../rig/debian.ts';
import { run } from '../rig/program.ts';
import { takeLock } from './lock.ts';
import {
  bootModules,
  guestFolder,
  guestPackages,
  hostPackages,
  maskedUnits,
  moduleTrees,
  recipeHash,
} from './recipe.ts';

/** A bootable Debian: paths of its root disk (ext4, raw; never written to), kernel and initramfs. */
export type Image = { disk: string; kernel: string; initramfs: string };

/** Room on the root disk, most of it never touched: the file is sparse. */
const diskBytes = 1500 * 1024 * 1024;
const dayMs = 24 * 3_600_000;

/**
 * The image of the virtual station, built when the cache has none of the present recipe: about a minute and 400 MB, as root, from the
 * machine's own Debian sources. Several processes may ask at once. Images of other recipes go when they were not used for a day.
 * @param cacheFolder by default `station-vstation` in the temporary folder.
 * @throws when not root, or a program fails.
 */
export async function openImage(cacheFolder = join(tmpdir(), 'station-vstation')): Promise<Image> {
  await needPackages(hostPackages);
  if (process.getuid?.() !== 0) throw new Error('the virtual station is built as root');
  await mkdir(cacheFolder, { recursive: true });
  await using _lock = await takeLock(join(cacheFolder, 'lock'));
  const facts = { suite: await suiteOfMachine(), kernelPackage: await kernelPackage() };
  const folder = join(cacheFolder, `image-${recipeHash(facts)}`);
  if (!(await exists(folder))) {
    await removeOld(cacheFolder);
    await build(facts, await mkdtemp(join(cacheFolder, 'build-')), folder);
  }
  const now = new Date();
  await utimes(folder, now, now);
  return { disk: join(folder, 'root.img'), kernel: join(folder, 'vmlinuz'), initramfs: join(folder, 'initramfs.gz') };
}

/** Called under the lock: what is half built was left by a process that is gone. */
async function removeOld(cacheFolder: string): Promise<void> {
  for (const name of await readdir(cacheFolder)) {
    const path = join(cacheFolder, name);
    const isOld = name.startsWith('image-') && Date.now() - (await stat(path)).mtimeMs > dayMs;
    if (isOld || name.startsWith('build-')) await rm(path, { recursive: true, force: true });
  }
}

async function build(facts: Facts, work: string, target: string): Promise<void> {
  const started = performance.now();
  const progress = (what: string): void =>
    tell(`virtual station: ${what} (${((performance.now() - started) / 1000).toFixed(0)} s)`);
  progress(`building Debian ${facts.suite}; about a minute`);
  const rootfs = join(work, 'rootfs');
  const [, kernel] = await Promise.all([bootstrap(facts.suite, rootfs), unpackKernel(facts.kernelPackage, work)]);
  progress('system and kernel are here');
  await installModules(kernel, rootfs);
  await configure(rootfs);
  const result = join(work, 'result');
  await mkdir(result);
  await buildInitramfs(kernel.release, rootfs, join(work, 'initramfs'), join(result, 'initramfs.gz'));
  await cp(kernel.image, join(result, 'vmlinuz'));
  await makeDisk(rootfs, join(result, 'root.img'), diskBytes);
  await rename(result, target);
  await rm(work, { recursive: true, force: true });
  progress('built');
}

/** Writes the content of a folder into a new ext4 image without a journal. The file is sparse. */
export async function makeDisk(folder: string, path: string, bytes: number): Promise<void> {
  await writeFile(path, '');
  await truncate(path, bytes);
  const features = '^has_journal,^metadata_csum';
  await run('mke2fs', [
    '-q',
    '-F',
    '-t',
    'ext4',
    '-O',
    features,
    '-E',
    'lazy_itable_init=1',
    '-m0',
    '-d',
    folder,
    path,
  ]);
}

type Facts = { suite: string; kernelPackage: string };
type Kernel = { release: string; image: string; modules: string };

async function suiteOfMachine(): Promise<string> {
  const suite = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1];
  if (suite === undefined) throw new Error('/etc/os-release names no VERSION_CODENAME');
  return suite;
}

/** The package that linux-image-amd64 depends on now. */
async function kernelPackage(): Promise<string> {
  const find = async (): Promise<string | undefined> =>
    /^\s*Depends: (linux-image-\d\S+-amd64)$/m.exec(await run('apt-cache', ['depends', 'linux-image-amd64']))?.[1];
  let found = await find().catch(() => undefined);
  if (found === undefined) {
    await run('apt-get', [...patientApt, 'update', '-q']);
    found = await find();
  }
  if (found === undefined) throw new Error('the package sources of this machine have no linux-image-amd64');
  return found;
}

async function bootstrap(suite: string, rootfs: string): Promise<void> {
  const exclude = ['man', 'doc', 'locale', 'info'].flatMap((name) => [`--dpkgopt=path-exclude=/usr/share/${name}/*`]);
  await run('mmdebstrap', [
    '--mode=root',
    '--variant=minbase',
    '--architectures=amd64',
    `--include=${guestPackages.join(',')}`,
    ...exclude,
    '--aptopt=Acquire::Retries "5"',
    '--aptopt=Acquire::Languages "none"',
    '--aptopt=APT::Install-Recommends "false"',
    suite,
    rootfs,
    ...(await sourcesOfMachine(suite)),
  ]);
}

async function unpackKernel(packageName: string, work: string): Promise<Kernel> {
  const folder = join(work, 'kernel');
  await mkdir(folder);
  // The unprivileged user apt would download as cannot reach this folder.
  const download = [...patientApt, '-oAPT::Sandbox::User=root', 'download', '-q', packageName];
  await run('apt-get', download, { cwd: folder }).catch(async () => {
    await run('apt-get', [...patientApt, 'update', '-q']);
    await run('apt-get', download, { cwd: folder });
  });
  const deb = (await readdir(folder)).find((name) => name.endsWith('.deb'));
  if (deb === undefined) throw new Error(`apt-get downloaded no ${packageName}`);
  await run('dpkg-deb', ['-x', deb, '.'], { cwd: folder });
  const release = packageName.slice('linux-image-'.length);
  return {
    release,
    image: join(folder, `boot/vmlinuz-${release}`),
    modules: join(folder, 'lib/modules', release),
  };
}

async function installModules({ release, modules }: Kernel, rootfs: string): Promise<void> {
  const target = join(rootfs, 'lib/modules', release);
  await mkdir(join(target, 'kernel'), { recursive: true });
  for (const name of ['modules.builtin', 'modules.builtin.modinfo', 'modules.order'])
    await cp(join(modules, name), join(target, name));
  for (const tree of moduleTrees) {
    const place = join(target, 'kernel', tree);
    await mkdir(dirname(place), { recursive: true });
    await cp(join(modules, 'kernel', tree), place, { recursive: true });
  }
  await run('chroot', [rootfs, 'depmod', release]);
}

async function configure(rootfs: string): Promise<void> {
  const inGuest = (path: string): string => join(rootfs, path);
  await cp(guestFolder, rootfs, { recursive: true, filter: (path) => path !== join(guestFolder, 'init') });
  await writeFile(inGuest('etc/hostname'), 'vstation\n');
  await writeFile(inGuest('etc/hosts'), '127.0.0.1 localhost vstation\n');
  await writeFile(inGuest('etc/fstab'), '/dev/vda / ext4 defaults,noatime 0 0\n');
  await rm(inGuest('etc/resolv.conf'), { force: true });
  await writeFile(inGuest('etc/resolv.conf'), '');
  await writeFile(inGuest('etc/machine-id'), 'c0ffee00c0ffee00c0ffee00c0ffee00\n');
  await run('chroot', [rootfs, 'passwd', '-d', 'root']);
  const units = inGuest('etc/systemd/system');
  for (const unit of maskedUnits) await link('/dev/null', join(units, unit));
  for (const unit of ['vstation-radios.service', 'vstation-channel.service'])
    await link(`../${unit}`, join(units, 'multi-user.target.wants', unit));
  await link('/lib/systemd/system/multi-user.target', join(units, 'default.target'));
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });
  await symlink(target, path);
}

async function buildInitramfs(release: string, rootfs: string, folder: string, target: string): Promise<void> {
  for (const name of ['bin', 'modules', 'dev', 'proc', 'sys', 'root'])
    await mkdir(join(folder, name), { recursive: true });
  await cp('/usr/bin/busybox', join(folder, 'bin/busybox')).catch(() =>
    cp('/bin/busybox', join(folder, 'bin/busybox')),
  );
  await cp(join(guestFolder, 'init'), join(folder, 'init'));
  const order: string[] = [];
  for (const name of bootModules) {
    const listed = await run('chroot', [rootfs, 'modprobe', '-S', release, '--show-depends', name]);
    for (const [, path] of listed.matchAll(/^insmod (\S+)/gm)) {
      if (path === undefined || order.includes(basename(path))) continue;
      order.push(basename(path));
      await cp(join(rootfs, path), join(folder, 'modules', basename(path)));
    }
  }
  await writeFile(join(folder, 'modules/order'), `${order.join('\n')}\n`);
  await run('sh', ['-c', 'find . | cpio -o -H newc --quiet | gzip -1 > "$1"', 'sh', target], { cwd: folder });
}
