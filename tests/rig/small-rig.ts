import { loadBaseImages } from './base-images.ts';
import { createDockerEngine, type DockerEngine, type EngineOptions } from './docker-engine.ts';
import { createRegistry, type Credentials, type Registry } from './registry.ts';
import { createLink, type Link } from './link.ts';
import { createReleaseServer, type ReleaseServer } from './release-server.ts';
import { createSmallStack, type PublishOptions, type PublishedRelease, type SmallStack } from './small-stack.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

export type SmallRig = AsyncDisposable & {
  workspace: Workspace;
  engine: DockerEngine;
  registry: Registry;
  /** Between engine and registry when `throughLink` was asked for. */
  link: Link;
  /** Address in the image references: the link's or the registry's own. */
  registryAddress: string;
  releases: ReleaseServer;
  stack: SmallStack;
  /** Pushes a release and publishes it in the manifest. */
  release(options: PublishOptions): Promise<PublishedRelease>;
};

export type SmallRigOptions = {
  /** Makes the registry private. */
  credentials?: Credentials;
  engine?: EngineOptions;
  /** Image references use {@link SmallRig.link}, which can be slow or cut. */
  throughLink?: boolean;
  /** Adds Caddy as a `proxy` service that no release contains. */
  proxy?: boolean;
};

const proxyImage = 'caddy:2';

/**
 * Everything an update test needs, in one: engine, registry, release server and small stack, about two seconds.
 * `await using rig = await createSmallRig()` removes all of it at the end of the block.
 */
export async function createSmallRig(options: SmallRigOptions = {}): Promise<SmallRig> {
  const workspace = await createWorkspace();
  try {
    const [engine, registry, releases] = await Promise.all([
      createDockerEngine(workspace, options.engine),
      createRegistry(workspace, options.credentials ? { credentials: options.credentials } : {}),
      createReleaseServer(workspace),
    ]);
    const link = await createLink(workspace, registry.address);
    const registryAddress = options.throughLink ? link.address : registry.address;
    if (options.proxy) await loadBaseImages(engine, [proxyImage]);
    const proxy = options.proxy ? { proxyImage } : {};
    const stack = await createSmallStack(workspace, { engine, registry, registryAddress, ...proxy });
    return {
      workspace,
      engine,
      registry,
      link,
      registryAddress,
      releases,
      stack,
      release: async (wanted) => {
        const published = await stack.publish(wanted);
        releases.setManifest(published.manifest);
        return published;
      },
      [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
    };
  } catch (error) {
    await workspace[Symbol.asyncDispose]();
    throw error;
  }
}
