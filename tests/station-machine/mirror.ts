import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { debianSource, patientApt } from '../rig/debian.ts';
import { run } from '../rig/program.ts';
import { offeredPackages, suite } from './recipe.ts';

export type MirrorParts = {
  /** The system that the packages are for: what it has is not offered. */
  rootfs: string;
  /** Debian package with the Compose plugin. */
  composeDeb: string;
  /** For intermediate files. */
  work: string;
  target: string;
};

/**
 * Builds two signed package repositories below `target`: `debian/` with everything that an installation may ask for, and `docker/linux/debian/`
 * with the package names and the layout of download.docker.com, made of Debian's own Docker.
 * @returns the path of the public key, in the binary form that apt reads.
 */
export async function buildMirror(parts: MirrorParts): Promise<{ keyring: string }> {
  const { work, target } = parts;
  const key = await createKey(join(work, 'gnupg'));
  try {
    const pool = join(target, 'debian/pool');
    await download(parts, pool);
    await index(key, join(target, 'debian'), 'main');
    // Debian 13 has a Compose v2 of its own, so nothing is asked of Docker's repository.
    if (suite === 'bookworm') await buildDockerRepository(key, parts, pool);
    return { keyring: key.binary };
  } finally {
    await run('gpgconf', ['--homedir', key.home, '--kill', 'all']);
  }
}

async function buildDockerRepository(key: Key, { composeDeb, work, target }: MirrorParts, pool: string): Promise<void> {
  const docker = join(target, 'docker/linux/debian');
  await mkdir(join(docker, 'pool'), { recursive: true });
  await packDocker(pool, composeDeb, work, join(docker, 'pool'));
  await index(key, docker, 'stable');
  await copyFile(key.armored, join(docker, 'gpg'));
}

type Key = { home: string; binary: string; armored: string };

async function createKey(home: string): Promise<Key> {
  await mkdir(home, { mode: 0o700 });
  const gpg = ['--homedir', home, '--batch', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', ''];
  await run('gpg', [
    ...gpg,
    '--quick-generate-key',
    'Station test mirror <mirror@example.com>',
    'rsa2048',
    'sign',
    '1y',
  ]);
  const binary = join(home, 'key.gpg');
  const armored = join(home, 'key.asc');
  await run('gpg', [...gpg, '--output', binary, '--export']);
  await run('gpg', [...gpg, '--armor', '--output', armored, '--export']);
  return { home, binary, armored };
}

/** By the host's apt, which is told that the machine's packages are installed. */
async function download({ rootfs, work }: MirrorParts, pool: string): Promise<void> {
  await mkdir(join(pool, 'partial'), { recursive: true });
  const apt = [
    ...patientApt,
    ...(await listsOfSuite(work)),
    `-oDir::State::status=${join(rootfs, 'var/lib/dpkg/status')}`,
    `-oDir::Cache::archives=${pool}`,
    `-oDir::Cache::pkgcache=${join(work, 'pkgcache.bin')}`,
    `-oDir::Cache::srcpkgcache=${join(work, 'src.bin')}`,
    '-oDebug::NoLocking=1',
    '-oAPT::Sandbox::User=root',
    '-oAPT::Keep-Downloaded-Packages=1',
    'install',
    '-y',
    '-q',
    '--download-only',
    ...offeredPackages,
  ];
  await run('apt-get', apt).catch(async () => {
    await run('apt-get', [...patientApt, ...(await listsOfSuite(work)), 'update', '-q']);
    await run('apt-get', apt);
  });
  await rm(join(pool, 'partial'), { recursive: true });
  // Installed in the machine already, but an installer may name them.
  await rm(join(pool, 'lock'), { force: true });
}

/** Package lists of its own where the machine has another release than the host. */
async function listsOfSuite(work: string): Promise<string[]> {
  if (suite === 'bookworm') return [];
  const lists = join(work, 'lists');
  await mkdir(join(lists, 'partial'), { recursive: true });
  const source = await debianSource(suite, work);
  return [`-oDir::State::Lists=${lists}`, `-oDir::Etc::SourceList=${source}`, '-oDir::Etc::SourceParts=/dev/null'];
}

async function index(key: Key, root: string, component: string): Promise<void> {
  const binary = `dists/${suite}/${component}/binary-amd64`;
  await mkdir(join(root, binary), { recursive: true });
  const packages = await run(
    'sh',
    ['-c', 'dpkg-scanpackages --multiversion pool 2>/dev/null > "$1/Packages"', 'sh', binary],
    {
      cwd: root,
    },
  );
  if (packages !== '') throw new Error(`dpkg-scanpackages: ${packages}`);
  const release = join(root, `dists/${suite}`);
  const options = [
    'Origin=Station',
    'Label=Station',
    `Suite=${suite}`,
    `Codename=${suite}`,
    'Architectures=amd64',
    `Components=${component}`,
  ].flatMap((each) => ['-o', `APT::FTPArchive::Release::${each}`]);
  await run('sh', ['-c', 'out=$1; shift; apt-ftparchive "$@" release . > "$out/Release"', 'sh', release, ...options], {
    cwd: release,
  });
  const sign = ['--homedir', key.home, '--batch', '--quiet', '--clearsign', '--output', 'InRelease', 'Release'];
  await run('gpg', sign, { cwd: release });
}

/** Docker's package names, with Debian's programs in them. */
async function packDocker(pool: string, composeDeb: string, work: string, target: string): Promise<void> {
  const debs = await readdir(pool);
  const debOf = (name: string): string => {
    const found = debs.find((each) => each.startsWith(`${name}_`));
    if (found === undefined) throw new Error(`apt-get downloaded no ${name}`);
    return join(pool, found);
  };
  const unpack = async (from: string, name: string): Promise<string> => {
    const folder = join(work, `docker-${name}`);
    await run('dpkg-deb', ['-R', from, folder]);
    return folder;
  };
  const engine = await unpack(debOf('docker.io'), 'docker-ce');
  const containerd = await unpack(debOf('containerd'), 'containerd.io');
  await run('dpkg-deb', ['-x', debOf('runc'), containerd]);
  // Docker's own package has this program in it; Debian's points to another package.
  const tini = join(work, 'tini');
  await run('dpkg-deb', ['-x', debOf('tini'), tini]);
  await rm(join(engine, 'usr/bin/docker-init'), { force: true });
  await run('mv', [join(tini, 'usr/bin/tini-static'), join(engine, 'usr/bin/docker-init')]);
  const client = join(work, 'docker-docker-ce-cli');
  await mkdir(join(client, 'usr/bin'), { recursive: true });
  await run('mv', [join(engine, 'usr/bin/docker'), join(client, 'usr/bin/docker')]);
  const plugin = join(work, 'docker-docker-compose-plugin');
  await mkdir(plugin);
  await run('dpkg-deb', ['-x', composeDeb, plugin]);
  await run('chmod', ['755', join(plugin, 'usr/libexec/docker/cli-plugins/docker-compose')]);
  const libraries = 'iptables, libc6, libdevmapper1.02.1, libsystemd0';
  const packages = [
    {
      name: 'docker-ce',
      version: '5:20.10.24-1~debian.12~bookworm',
      depends: `containerd.io, docker-ce-cli, ${libraries}`,
    },
    { name: 'docker-ce-cli', version: '5:20.10.24-1~debian.12~bookworm', depends: 'libc6' },
    { name: 'containerd.io', version: '1.6.20-1', depends: 'libc6, libseccomp2' },
    { name: 'docker-compose-plugin', version: '2.26.1-1~debian.12~bookworm', depends: 'libc6' },
  ];
  for (const { name, version, depends } of packages) {
    const folder = join(work, `docker-${name}`);
    await mkdir(join(folder, 'DEBIAN'), { recursive: true });
    for (const extra of ['md5sums', 'triggers']) await rm(join(folder, 'DEBIAN', extra), { force: true });
    await writeFile(join(folder, 'DEBIAN/control'), controlOf(name, version, depends));
    await run('dpkg-deb', ['-Zgzip', '-z1', '--root-owner-group', '-b', folder, join(target, `${name}.deb`)]);
    await rm(folder, { recursive: true });
  }
}

/** Debian's own packages of the same programs are not installed beside them. */
const conflicts: Record<string, string> = {
  'docker-ce': 'docker.io',
  'docker-ce-cli': 'docker.io',
  'containerd.io': 'containerd, runc',
  'docker-compose-plugin': 'docker-compose',
};

function controlOf(name: string, version: string, depends: string): string {
  return `Package: ${name}
Version: ${version}
Architecture: amd64
Maintainer: Station tests <mirror@example.com>
Depends: ${depends}
Conflicts: ${conflicts[name] ?? ''}
Section: admin
Priority: optional
Description: ${name} of the test mirror
`;
}
