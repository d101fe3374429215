import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadBaseImages } from '../rig/base-images.ts';
import { createDockerEngine } from '../rig/docker-engine.ts';
import { createTestReleases } from '../rig/release.ts';
import type { Workspace } from '../rig/workspace.ts';
import type { Surroundings } from './surroundings.ts';

/** What releases have published: the folder that `install.sh` and stations fetch from, and the images in the registry that it names. */
export type Site = {
  url: string;
  /** The repository of the images, as in STATION_IMAGES. */
  images: string;
  /** What an answer file must say, because nothing of the internet is there. */
  answers: Record<string, string>;
  /** Makes a published release the one that stations find. */
  announce(version: string): Promise<void>;
  /** The first release is announced, and `install.sh` is the one of it. */
  restore(): Promise<void>;
  /** Publishes a release with a newly built agent of the same version, and its `install.sh`; another release stays announced. */
  publishAgent(version: string, announced: string): Promise<void>;
};

export type SiteOptions = {
  /** Releases that work; the first is the one that `install.sh` installs. */
  good: readonly [string, ...string[]];
  /** Releases whose backend never becomes healthy. */
  bad: readonly string[];
};

/** Makes releases as `npm run release` does and serves them to the machines. */
export async function createSite(
  workspace: Workspace,
  surroundings: Surroundings,
  { good, bad }: SiteOptions,
): Promise<Site> {
  const { registry, files, dockerRepository } = surroundings;
  const url = `${files.origin}/site`;
  const broker = await pushBroker(workspace, surroundings);
  const { folder, images, make } = await createTestReleases(workspace, { registry, site: url });
  for (const version of good) await make({ version });
  for (const version of bad) await make({ version, backend: 'unhealthy' });
  files.folders.set('site', folder);
  const announce = async (version: string): Promise<void> => {
    for (const end of ['', '.minisig'])
      await copyFile(join(folder, `releases/${version}.json${end}`), join(folder, `manifest.json${end}`));
  };
  const site: Site = {
    url,
    images,
    answers: { MQTT_IMAGE: broker, DOCKER_REPOSITORY: dockerRepository },
    announce,
    restore: async () => {
      await announce(good[0]);
      await copyFile(join(workspace.folder, `site-releases/${good[0]}/install.sh`), join(folder, 'install.sh'));
    },
    publishAgent: async (version, announced) => {
      await make({ version, freshAgent: true });
      await announce(announced);
    },
  };
  await site.restore();
  return site;
}

/** The broker is no image of a release. @returns its reference in the registry. */
async function pushBroker(workspace: Workspace, { registry, network }: Surroundings): Promise<string> {
  const daemonArgs = ['--insecure-registry', `${network.host}/32`];
  await using engine = await createDockerEngine(workspace, { name: 'broker-engine', daemonArgs });
  const reference = `${registry.address}/eclipse-mosquitto:2`;
  await loadBaseImages(engine, ['eclipse-mosquitto:2']);
  await engine.docker('tag', 'eclipse-mosquitto:2', reference);
  await engine.docker('push', '--quiet', reference);
  return reference;
}
