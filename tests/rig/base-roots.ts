import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { runtimeOf, type Architecture } from '../../scripts/build-agent.ts';
import type { BaseRecipe } from './base-recipes.ts';
import { cacheFolder, downloadPackages, needPackages } from './debian.ts';
import { run, tryRun } from './program.ts';

export const hostArch: Architecture = process.arch === 'arm64' ? 'arm64' : 'x64';

/** Its name in OCI images and in Debian. */
export const debianArch = (arch: Architecture): 'amd64' | 'arm64' => (arch === 'x64' ? 'amd64' : 'arm64');

/** Where the files of an architecture are on this machine. */
type Source = {
  /** Path on this machine of a recipe's path. */
  file(path: string): Promise<string>;
  /** Path in the image → path on this machine, for the shared libraries that a program loads. */
  libraries(program: string): Promise<Record<string, string>>;
};

/** Fills the root folder of a base image for one architecture. Needs root (file owners). */
export async function buildRoot(recipe: BaseRecipe, root: string, arch: Architecture): Promise<void> {
  await needPackages([...recipe.packages, 'busybox-static']);
  const foreign = arch === hostArch ? null : await unpackForeign(recipe, arch);
  try {
    await fillRoot(recipe, root, foreign === null ? host : foreignSource(join(foreign, 'root'), arch));
  } finally {
    if (foreign !== null) await rm(foreign, { recursive: true });
  }
}

async function fillRoot(recipe: BaseRecipe, root: string, source: Source): Promise<void> {
  await mkdir(join(root, 'bin'), { recursive: true });
  await put(await source.file('/bin/busybox'), join(root, 'bin/busybox'));
  // The two architectures have the same applets, because they have the same version.
  for (const applet of (await run('/bin/busybox', ['--list'])).split('\n')) {
    if (applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet));
  }
  for (const [path, target] of Object.entries(recipe.files)) {
    await put(await source.file(path), join(root, target));
    for (const [name, library] of Object.entries(await source.libraries(await source.file(path)))) {
      await put(library, join(root, name));
    }
  }
  await writeUsers(recipe, root);
  for (const [path, capability] of Object.entries(recipe.capabilities ?? {})) {
    await run('setcap', [capability, join(root, path)]);
  }
}

async function writeUsers({ user: { name, id }, folders }: BaseRecipe, root: string): Promise<void> {
  await mkdir(join(root, 'etc'), { recursive: true });
  await writeFile(join(root, 'etc/passwd'), `root:x:0:0:root:/root:/bin/sh\n${name}:x:${id}:${id}:${name}:/:/bin/sh\n`);
  await writeFile(join(root, 'etc/group'), `root:x:0:\n${name}:x:${id}:\n`);
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  await mkdir(join(root, 'tmp'));
  await chmod(join(root, 'tmp'), 0o1777);
  for (const folder of folders) {
    await mkdir(join(root, folder), { recursive: true });
    await chown(join(root, folder), id, id);
  }
}

async function put(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  // A symbolic link of its own would be followed: only busybox's applets are links here, and a file replaces its applet.
  await rm(target, { force: true });
  await copyFile(source, target);
}

const triplets = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' } as const;

/** A recipe's path on this machine. */
export const onThisMachine = (path: string): string => path.replace('<triplet>', triplets[hostArch]);

const host: Source = {
  file: async (path) => onThisMachine(path),
  /** None for a static program or a script; the loader is among them (ldd(1)). */
  libraries: async (program) => {
    const { stdout } = await tryRun('ldd', [program]);
    return Object.fromEntries([...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => [path, path]));
  },
};

/** Libraries of Debian's programs in the recipes; those of the other architecture are not installed. */
const libraryPackages = ['libatomic1', 'libc6', 'libgcc-s1', 'libstdc++6', 'libtinfo6'];

/** Unpacks the packages of a recipe and their libraries for another architecture, into a temporary folder. */
async function unpackForeign(recipe: BaseRecipe, arch: Architecture): Promise<string> {
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(join(cacheFolder, 'foreign-'));
  const packages = new Set([...recipe.packages, 'busybox-static', ...libraryPackages]);
  await downloadPackages([...packages], debianArch(arch), folder);
  for (const name of await readdir(folder)) await run('dpkg', ['-x', join(folder, name), join(folder, 'root')]);
  return folder;
}

function foreignSource(root: string, arch: Architecture): Source {
  const find = async (library: string): Promise<[string, string] | null> => {
    for (const folder of [`/lib/${triplets[arch]}`, `/usr/lib/${triplets[arch]}`]) {
      if (await exists(join(root, folder, library))) return [`${folder}/${library}`, join(root, folder, library)];
    }
    return null;
  };
  const libraries = async (program: string): Promise<Record<string, string>> => {
    const { stdout } = await tryRun('readelf', ['--dynamic', '--program-headers', '--wide', program]);
    const interpreter = /program interpreter: (\S+)\]/.exec(stdout)?.[1];
    const found: Record<string, string> = interpreter ? { [interpreter]: join(root, interpreter) } : {};
    for (const [, name = ''] of stdout.matchAll(/\(NEEDED\)\s+Shared library: \[(.+)\]/g)) {
      const library = await find(name);
      if (library === null) continue;
      found[library[0]] = library[1];
      Object.assign(found, await libraries(library[1]));
    }
    return found;
  };
  return {
    file: async (path) => {
      // npm's Node is no Debian package, and a package's installation makes the file of certificates.
      if (path === process.execPath) return runtimeOf(arch);
      return path.startsWith('/etc/') ? path : join(root, path.replace('<triplet>', triplets[arch]));
    },
    libraries,
  };
}
