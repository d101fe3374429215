import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '@station/kit/durable-files';
import { buildAgent } from '../../scripts/build-agent.ts';
import { loadBaseImages } from '../rig/base-images.ts';
import { buildForTests } from '../rig/build.ts';
import { needPackages } from '../rig/debian.ts';
import { createDockerEngine, type DockerEngine } from '../rig/docker-engine.ts';
import { run } from '../rig/program.ts';
import type { Registry } from '../rig/registry.ts';
import { pushSmallImage } from '../rig/small-images.ts';
import { pushStackImages } from '../rig/stack-images.ts';
import type { Workspace } from '../rig/workspace.ts';
import type { Surroundings } from './surroundings.ts';

const repository = join(import.meta.dirname, '../..');

/** The published folder that `install.sh` and stations fetch from, and the images in the registry that it names. */
export type Site = {
  url: string;
  folder: string;
  /** What an answer file must say, because nothing of the internet is there. */
  answers: Record<string, string>;
  /** Makes a published release the one that stations find. */
  announce(version: string): Promise<void>;
  /** The repository of the images, as in STATION_IMAGES. */
  images: string;
  /** The first release is announced, and `install.sh` is the one of it. */
  restore(): Promise<void>;
  /** Builds the agent with another version and publishes it. */
  publishAgent(version: string): Promise<void>;
  /** Publishes an `install.sh` for a published agent and a release. */
  publishInstaller(agentVersion: string, version: string): Promise<void>;
};

export type SiteOptions = {
  /** Releases that work; the first is the one that `install.sh` installs. */
  good: readonly string[];
  /** Releases whose backend never becomes healthy. */
  bad: readonly string[];
};

/** Builds the repository's images for this machine's architecture and publishes them with all that belongs to a release. */
export async function createSite(
  workspace: Workspace,
  { registry, files, network, dockerRepository }: Surroundings,
  { good, bad }: SiteOptions,
): Promise<Site> {
  await needPackages(['minisign', 'xz-utils']);
  await buildForTests('agent', 'backend', 'web');
  const folder = await workspace.subfolder('site');
  files.folders.set('site', folder);
  const url = `${files.origin}/site`;
  const key = await createKey(await workspace.subfolder('site-key'));
  const images = `${registry.address}/station`;
  await using engine = await createDockerEngine(workspace, {
    name: 'build-engine',
    daemonArgs: ['--insecure-registry', `${network.host}/32`],
  });
  const broker = `${registry.address}/eclipse-mosquitto:2`;
  await pushBroker(engine, broker);
  await pushStackImages(workspace, { registries: [registry], images, versions: good });
  await pushStackImages(workspace, { registries: [registry], images, versions: bad, services: ['frontend'] });
  for (const version of bad) {
    await pushSmallImage(registry, { repository: 'station/backend', version, behaviour: 'unhealthy', ballast: [] });
  }
  for (const version of [...good, ...bad]) await publishRelease({ folder, key, registry, images, version });
  const [first] = good;
  if (first === undefined) throw new Error('a site needs a release that works');
  const agentVersion = await run(join(repository, 'dist/agent', agentFile), ['--version']);
  await publishAgent(key, join(folder, 'agent', agentVersion), join(repository, 'dist/agent'));
  const site: Site = {
    restore: async () => {
      await site.announce(first);
      await site.publishInstaller(agentVersion, first);
    },
    url,
    folder,
    images,
    publishAgent: async (version) => {
      const output = await workspace.subfolder(`agent-${version}`);
      await buildAgent({ entry: 'apps/agent/src/main.ts', output, arch: 'x64', version });
      await publishAgent(key, join(folder, 'agent', version), output);
    },
    answers: { MQTT_IMAGE: broker, DOCKER_REPOSITORY: dockerRepository },
    announce: async (version) => {
      for (const end of ['', '.minisig'])
        await copyFile(join(folder, `releases/${version}.json${end}`), join(folder, `manifest.json${end}`));
    },
    publishInstaller: (agentVersion, version) =>
      publishInstaller({ folder, constants: { url, agentVersion, version, images, publicKey: key.publicKey } }),
  };
  await mkdir(join(folder, 'firmware'), { recursive: true });
  await writeSigned(key, join(folder, 'firmware/manifest.json'), '{}\n');
  await site.restore();
  return site;
}

type Key = { secret: string; publicKey: string };

async function createKey(folder: string): Promise<Key> {
  const [secret, open] = [join(folder, 'secret.key'), join(folder, 'public.key')];
  await run('minisign', ['-G', '-W', '-p', open, '-s', secret]);
  const publicKey = (await readFile(open, 'utf8')).trim().split('\n').at(-1);
  if (publicKey === undefined) throw new Error('minisign wrote no public key');
  return { secret, publicKey };
}

const sign = (key: Key, path: string): Promise<string> => run('minisign', ['-S', '-s', key.secret, '-m', path]);

async function writeSigned(key: Key, path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await sign(key, path);
}

async function pushBroker(engine: DockerEngine, broker: string): Promise<void> {
  await loadBaseImages(engine, ['eclipse-mosquitto:2']);
  await engine.docker('tag', 'eclipse-mosquitto:2', broker);
  await engine.docker('push', '--quiet', broker);
}

type Release = { folder: string; key: Key; registry: Registry; images: string; version: string };

async function publishRelease({ folder, key, registry, images, version }: Release): Promise<void> {
  const manifest = { version, images: {} as Record<string, string> };
  for (const service of ['backend', 'frontend'])
    manifest.images[service] =
      `${images}/${service}:${version}@${await digestOf(registry, `station/${service}`, version)}`;
  await mkdir(join(folder, 'releases'), { recursive: true });
  await writeSigned(key, join(folder, `releases/${version}.json`), JSON.stringify(manifest));
  const deploy = join(folder, 'deploy', version);
  await mkdir(deploy, { recursive: true });
  const names = ['docker-compose.yml', 'proxy/Caddyfile', 'mosquitto', 'station-agent.service', 'reset.sh'];
  const present: string[] = [];
  for (const name of names) if (await exists(join(repository, 'deploy', name))) present.push(name);
  const stable = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0'];
  await run('tar', [
    ...stable,
    '-C',
    join(repository, 'deploy'),
    '-czf',
    join(deploy, 'station-deploy.tar.gz'),
    ...present,
  ]);
  await writeSums(key, deploy);
}

async function digestOf(registry: Registry, name: string, tag: string): Promise<string> {
  const accept = 'application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json';
  const answer = await registry.request(`/v2/${name}/manifests/${tag}`, { method: 'HEAD', headers: { accept } });
  const digest = answer.headers.get('docker-content-digest');
  if (!answer.ok || digest === null) throw new Error(`the registry has no ${name}:${tag}`);
  return digest;
}

type Installer = {
  folder: string;
  constants: { url: string; agentVersion: string; version: string; images: string; publicKey: string };
};

async function publishInstaller({ folder, constants }: Installer): Promise<void> {
  const values: Record<string, string> = {
    INSTALLER_URL: constants.url,
    AGENT_VERSION: constants.agentVersion,
    STATION_VERSION: constants.version,
    STATION_IMAGES: constants.images,
    UPDATE_SERVER_URL: `${constants.url}/manifest.json`,
    UPDATE_PUBLIC_KEY: constants.publicKey,
  };
  for (const script of ['install.sh', 'reset.sh']) {
    const source = join(repository, 'deploy', script);
    if (!(await exists(source))) continue;
    const text = await readFile(source, 'utf8');
    await writeFile(
      join(folder, script),
      text.replaceAll(/@([A-Z_]+)@/g, (whole, name: string) => values[name] ?? whole),
    );
  }
}

const agentFile = 'station-agent-linux-x64';

/** The sums name the executable too: a station compares what it has with them. */
async function publishAgent(key: Key, folder: string, from: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await copyFile(join(from, agentFile), join(folder, agentFile));
  await run('xz', ['-0', '--threads=2', '--keep', join(folder, agentFile)]);
  await writeSums(key, folder);
}

async function writeSums(key: Key, folder: string): Promise<void> {
  const lines: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const digest = createHash('sha256')
      .update(await readFile(join(folder, name)))
      .digest('hex');
    lines.push(`${digest}  ${name}\n`);
  }
  await writeSigned(key, join(folder, 'SHA256SUMS'), lines.join(''));
}
