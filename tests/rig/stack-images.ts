import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Architecture } from '../../scripts/build-agent.ts';
import { services, type ImageName } from '../../scripts/release/image-recipes.ts';
import { createImageBuilder, pushImage } from '../../scripts/release/images.ts';
import { createBaseRegistry } from './base-registry.ts';
import { hostArch } from './base-roots.ts';
import { needPackages } from './debian.ts';
import type { Registry } from './registry.ts';
import type { Workspace } from './workspace.ts';

/**
 * Writes a configuration of registries with which `docker.io/library/…` is the rig's own registry of base images, and the given
 * ones may be used without TLS. @returns its path.
 */
export async function writeRegistriesConf(
  workspace: Workspace,
  registries: readonly Registry[],
  archs: readonly Architecture[],
): Promise<string> {
  await needPackages(['skopeo']);
  const base = await createBaseRegistry(workspace, archs);
  const plain = registries.map(({ address }) => `[[registry]]\nlocation = "${address}"\ninsecure = true\n`);
  const dockerHub = `[[registry]]\nprefix = "docker.io/library"\nlocation = "${base.address}/library"\ninsecure = true\n`;
  const file = join(workspace.folder, 'registries.conf');
  await writeFile(file, [dockerHub, ...plain].join('\n'));
  return file;
}

/**
 * Pushes the images of the stack, as a release assembles them from `dist/`, for this machine's architecture.
 * @param images repository without the service's name
 */
export async function pushStackImages(
  workspace: Workspace,
  target: {
    registries: readonly Registry[];
    images: string;
    versions: readonly string[];
    services?: readonly ImageName[];
  },
): Promise<void> {
  const conf = await writeRegistriesConf(workspace, target.registries, [hostArch]);
  await using builder = await createImageBuilder([hostArch], conf);
  for (const name of target.services ?? services) {
    for (const version of name === 'proxy' ? ['2'] : target.versions) {
      const folder = await workspace.subfolder(`images/${name}-${version}`);
      await builder.build(name, version, folder);
      await pushImage(folder, version, `${target.images}/${name}:${version}`, conf);
    }
  }
}
