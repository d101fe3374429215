import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { architectures, buildAgent } from '../../scripts/build-agent.ts';
import { createImageBuilder, type ChangeConfig } from '../../scripts/release/images.ts';
import type { ReleaseOptions } from '../../scripts/release/options.ts';
import { makeRelease } from '../../scripts/release/release.ts';
import type { Agents } from '../../scripts/release/site.ts';
import { makeThrowAwayKey, openSigner } from '../../scripts/release/signing.ts';
import { buildForTests } from './build.ts';
import { needPackages } from './debian.ts';
import type { Registry } from './registry.ts';
import { writeRegistriesConf } from './stack-images.ts';
import type { Workspace } from './workspace.ts';

/** How the backend of a release behaves: `unhealthy` answers 503 to everything, `crash-loop` exits at once. */
type BackendBehaviour = 'good' | 'unhealthy' | 'crash-loop';

type TestRelease = {
  version: string;
  backend?: BackendBehaviour;
  /**
   * Builds the agent again, with this version in it (10 s). Otherwise every release has the agent of the first one, whose
   * files only get another name.
   */
  freshAgent?: boolean;
};

export type TestReleases = {
  /** The published site: what releases so far have written, the newest last. Serve it under `site`. */
  folder: string;
  /** Secret key of minisign, without a password. */
  keyFile: string;
  /** The public key, as UPDATE_PUBLIC_KEY takes it. */
  publicKey: string;
  /** Repository of the images. */
  images: string;
  /** The agent's executables of the newest release. */
  agentFolder(): string;
  /** Makes a release with `scripts/release`, pushes its images and adds it to {@link folder}. */
  make(release: TestRelease): Promise<void>;
};

/**
 * Makes releases as `npm run release` does, for one registry. The first takes about 40 s (both architectures of everything), the
 * next ones a few seconds: they share images' layers and the agent's files.
 * @param options.site public address under which `folder` will be served
 * @param options.like takes the key and the agent of other releases
 */
export async function createTestReleases(
  workspace: Workspace,
  options: { registry: Registry; site: string; name?: string; like?: TestReleases },
): Promise<TestReleases> {
  await needPackages(['binutils', 'minisign', 'skopeo', 'xz-utils']);
  await buildForTests('backend', 'web');
  const { name = 'site', like } = options;
  const folder = await workspace.subfolder(name);
  const keyFile = like?.keyFile ?? join(workspace.folder, `${name}.key`);
  await makeThrowAwayKey(keyFile);
  const registriesConf = await writeRegistriesConf(workspace, [options.registry], architectures);
  const builder = workspace.own(await createImageBuilder(architectures, registriesConf));
  const images = `${options.registry.address}/station`;
  let agents: Agents | null = like ? { folder: like.agentFolder() } : null;
  const make = async ({ version, backend = 'good', freshAgent = false }: TestRelease): Promise<void> => {
    if (agents === null || freshAgent) agents = { folder: await buildAgents(workspace, version) };
    const output = await workspace.subfolder(`${name}-releases/${version}`);
    const common = { kind: 'stack', version, stationVersion: version, output, site: options.site, images } as const;
    const how = { keyFile, nextKey: null, push: true, dryRun: true, built: true };
    const release: ReleaseOptions = { ...common, ...how };
    const parts = { agents, builder, changeBackend: behaviours[backend] };
    await makeRelease(
      release,
      { password: null, registriesConf },
      { step: () => undefined, end: () => undefined },
      parts,
    );
    agents.compressed ??= join(output, 'agent', version);
    await cp(output, folder, { recursive: true });
  };
  const { publicKey } = await openSigner(keyFile, null, new Date());
  return { folder, keyFile, publicKey, images, make, agentFolder: () => agents?.folder ?? '' };
}

async function buildAgents(workspace: Workspace, version: string): Promise<string> {
  const output = await workspace.subfolder(`agents/${version}`);
  for (const arch of architectures) await buildAgent({ entry: 'apps/agent/src/main.ts', output, arch, version });
  return output;
}

const unhealthyServer = `require('node:http').createServer((_, response) => response.writeHead(503).end('{}')).listen(3000)`;

const behaviours: Record<BackendBehaviour, ChangeConfig | undefined> = {
  good: undefined,
  unhealthy: (config) => ({ ...config, Cmd: ['node', '-e', unhealthyServer] }),
  'crash-loop': (config) => ({ ...config, Cmd: ['node', '-e', 'process.exit(1)'] }),
};
