import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { run, tryRun } from './program.ts';

/** For apt, which gives up at the first fault of the network, and when another one runs. */
export const patientApt = ['-oAcquire::Retries=5', '-oAcquire::http::Timeout=30', '-oDPkg::Lock::Timeout=600'];

const noninteractive = { DEBIAN_FRONTEND: 'noninteractive' };

/** Cache for what is slow to build or fetch; `npm ci` deletes it. */
export const cacheFolder = join(import.meta.dirname, '../../node_modules/.cache/station');

/**
 * Makes sure that Debian packages are installed: installs the missing ones as root.
 * @throws naming the missing packages when not root, or when apt-get fails.
 */
export async function needPackages(names: readonly string[]): Promise<void> {
  const missing = await missingOf(names);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new Error(`these Debian packages are needed: run "apt-get install ${missing.join(' ')}" as root first`);
  }
  tell(`Installing Debian packages: ${missing.join(', ')}`);
  const install = [...patientApt, 'install', '-y', '-q', '--no-install-recommends', ...missing];
  const first = await tryRun('apt-get', install, { env: noninteractive });
  if (first.exitCode === 0) return;
  // Usually the package lists are missing or older than the mirror.
  await run('apt-get', [...patientApt, 'update', '-q'], { env: noninteractive });
  await run('apt-get', install, { env: noninteractive });
}

/** Prints a progress line for people; it is never part of a test's result. */
export function tell(message: string): void {
  process.stderr.write(`rig: ${message}\n`);
}

async function missingOf(names: readonly string[]): Promise<string[]> {
  const listed = await tryRun('dpkg-query', ['-W', '-f', '${Package} ${db:Status-Status}\n', ...names]);
  const installed = new Set(
    listed.stdout.split('\n').flatMap((line) => (line.endsWith(' installed') ? [line.split(' ')[0]] : [])),
  );
  return names.filter((name) => !installed.has(name));
}

/**
 * Path of the Compose v2 CLI plugin. Debian 12 has none, so this uses Debian 13's, which needs no newer libc. Only that
 * one file is used; the machine's package sources do not change. Fetched once into the cache.
 */
export async function composePlugin(): Promise<string> {
  const plugin = join(cacheFolder, 'docker-compose');
  if (await exists(plugin)) return plugin;
  tell("Fetching Debian 13's docker-compose (once)");
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(join(cacheFolder, 'compose-'));
  try {
    await run('dpkg', ['-x', await composePackage(folder), 'unpacked'], { cwd: folder });
    const unpacked = join(folder, 'unpacked/usr/libexec/docker/cli-plugins/docker-compose');
    await run('chmod', ['755', unpacked]);
    await rename(unpacked, plugin);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return plugin;
}

/** Downloads Debian 13's package docker-compose into a folder below `folder`. @returns the path of the package. */
export async function composePackage(folder: string): Promise<string> {
  const [deb] = await trixiePackages(['docker-compose'], folder);
  if (deb === undefined) throw new Error('apt-get downloaded no docker-compose package');
  return deb;
}

async function trixiePackages(names: readonly string[], folder: string): Promise<string[]> {
  const work = await mkdtemp(join(folder, 'trixie-'));
  const sources = await debianSource('trixie', work);
  await download(names, [`-oDir::Etc::SourceList=${sources}`, '-oDir::Etc::SourceParts=/dev/null'], work);
  return (await readdir(work)).filter((name) => name.endsWith('.deb')).map((name) => join(work, name));
}

/** Folder with the programs of Debian 13's Docker, which can keep images in containerd: `dockerd`, `containerd` … Fetched once. */
export async function trixieDocker(): Promise<string> {
  const folder = join(cacheFolder, 'docker-trixie');
  if (!(await exists(folder))) {
    tell("Fetching Debian 13's docker.io and containerd (once)");
    await mkdir(cacheFolder, { recursive: true });
    const work = await mkdtemp(join(cacheFolder, 'docker-'));
    try {
      const packages = await trixiePackages(['docker.io', 'containerd'], work);
      for (const deb of packages) await run('dpkg', ['-x', deb, 'unpacked'], { cwd: work });
      const programs = join(work, 'unpacked/usr/bin');
      for (const name of await readdir(join(work, 'unpacked/usr/sbin')))
        await rename(join(work, 'unpacked/usr/sbin', name), join(programs, name));
      await rename(programs, folder);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
  return folder;
}

/** Files of apt that name Debian's own archive, for the suite of this machine. */
export async function sourcesOfMachine(suite: string): Promise<string[]> {
  const parts = '/etc/apt/sources.list.d';
  const names = (await readdir(parts).catch(() => [])).filter((name) => /\.(list|sources)$/.test(name));
  const paths = ['/etc/apt/sources.list', ...names.map((name) => join(parts, name))];
  const found: string[] = [];
  for (const path of paths) {
    const text = (await readFile(path, 'utf8').catch(() => '')).replaceAll(/^\s*#.*$/gm, '');
    if (new RegExp(`\\b${suite}\\b`).test(text) && /debian/i.test(text)) found.push(path);
  }
  if (found.length === 0) throw new Error(`no package source for Debian ${suite} found on this machine`);
  return found;
}

/**
 * Downloads Debian packages of an architecture from the machine's own package sources into `folder`, as `.deb` files. Neither
 * the machine's package lists nor its packages change.
 */
export async function downloadPackages(names: readonly string[], arch: string, folder: string): Promise<void> {
  const state = await mkdtemp(join(cacheFolder, 'apt-'));
  try {
    await writeFile(join(state, 'status'), '');
    const foreign = [`-oAPT::Architecture=${arch}`, `-oAPT::Architectures=${arch}`];
    await download(names, [...foreign, `-oDir::State::status=${join(state, 'status')}`], state);
    for (const name of await readdir(state)) {
      if (name.endsWith('.deb')) await rename(join(state, name), join(folder, name));
    }
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}

/** `apt-get download` with package lists of its own, all of it in `folder`. */
async function download(names: readonly string[], options: readonly string[], folder: string): Promise<void> {
  for (const name of ['lists/partial', 'archives/partial']) await mkdir(join(folder, name), { recursive: true });
  const apt = [
    ...patientApt,
    ...options,
    `-oDir::State::Lists=${join(folder, 'lists')}`,
    `-oDir::Cache=${folder}`,
    // apt's unprivileged download user cannot access this folder.
    '-oAPT::Sandbox::User=root',
  ];
  await run('apt-get', [...apt, 'update', '-q'], { cwd: folder });
  await run('apt-get', [...apt, 'download', '-q', ...names], { cwd: folder });
}

/**
 * Writes a deb822 source for a release of Debian, from the mirror and with the key that this machine uses for its own Debian packages.
 * @returns its path, in `folder`.
 */
export async function debianSource(suite: string, folder: string): Promise<string> {
  const { uri, signedBy } = await debianMirror();
  const path = join(folder, `${suite}.sources`);
  const lines = ['Types: deb', `URIs: ${uri}`, `Suites: ${suite}`, 'Components: main', `Signed-By: ${signedBy}`, ''];
  await writeFile(path, lines.join('\n'));
  return path;
}

const debianKeys = '/usr/share/keyrings/debian-archive-keyring.gpg';

async function debianMirror(): Promise<{ uri: string; signedBy: string }> {
  const parts = '/etc/apt/sources.list.d';
  const names = await readdir(parts).catch(() => []);
  for (const name of names.filter((each) => each.endsWith('.sources'))) {
    for (const stanza of (await readFile(join(parts, name), 'utf8')).split(/\n\s*\n/)) {
      const field = (key: string): string | undefined =>
        new RegExp(`^${key}:\\s*(.+)$`, 'mi').exec(stanza)?.[1]?.trim();
      const uri = field('URIs')?.split(/\s+/)[0];
      if (uri !== undefined && isDebian(field('Suites') ?? ''))
        return { uri, signedBy: field('Signed-By') ?? debianKeys };
    }
  }
  const lists = [
    '/etc/apt/sources.list',
    ...names.filter((each) => each.endsWith('.list')).map((each) => join(parts, each)),
  ];
  for (const path of lists) {
    const text = await readFile(path, 'utf8').catch(() => '');
    for (const line of text.split('\n')) {
      const [, uri, suite] = /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s/.exec(line.trim()) ?? [];
      if (uri !== undefined && isDebian(suite ?? '')) return { uri, signedBy: debianKeys };
    }
  }
  throw new Error('no Debian package source found on this machine (the rig needs Debian 12 or 13)');
}

const isDebian = (suites: string): boolean => /(^|\s)(bookworm|trixie)(\s|$)/.test(suites);
