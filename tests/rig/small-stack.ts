import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { DockerEngine } from './docker-engine.ts';
import { findFreePort } from '@station/kit/free-port';
import type { Registry } from './registry.ts';
import { type Ballast, type Behaviour, pushSmallImage } from './small-images.ts';
import type { Workspace } from './workspace.ts';

const services = ['backend', 'frontend'] as const;
export type Service = (typeof services)[number];

/** A published release: exactly the body of a release manifest, and the digests to pin by. */
export type PublishedRelease = {
  manifest: { version: string; images: Record<Service, string> };
  digests: Record<Service, string>;
};

export type PublishOptions = {
  version: string;
  /** The backend's; default `good`. */
  behaviour?: Behaviour;
  /** The frontend's; default `good`. */
  frontend?: Behaviour;
  /** Layers of random bytes in the backend image, bytes each (default none): something to pull. */
  ballast?: readonly Ballast[];
  /** Services named in the manifest whose image is not pushed. */
  missing?: readonly Service[];
};

/** One container of the project as the engine sees it now. */
type StackContainer = {
  id: string;
  service: string;
  /** The reference it was created from. */
  image: string;
  imageId: string;
  state: string;
  restartCount: number;
  startedAt: string;
};

export type SmallStack = {
  /** The Compose project's folder (COMPOSE_PROJECT_PATH). */
  folder: string;
  composeFile: string;
  /** Where a client reaches the stack; through Caddy when it has a proxy. */
  url: string;
  healthUrl: string;
  /** Pushes a release to the registry; the engine has no part of it before it pulls. */
  publish(options: PublishOptions): Promise<PublishedRelease>;
  /** Writes the compose file with a release's images in it. Containers are named `station-backend` and so on. */
  writeProject(release: PublishedRelease): Promise<void>;
  /** `docker compose up -d` without a file argument, as an operator does it: the project folder decides. */
  up(): Promise<void>;
  /** Containers of the project, also stopped ones. */
  containers(): Promise<StackContainer[]>;
  /** The health answer right now, or null when nothing answers within a second. */
  health(): Promise<{ statusCode: number; status: string; version: string } | null>;
};

export type SmallStackOptions = {
  engine: DockerEngine;
  registry: Registry;
  /** Address that the image references name; default the registry's own. A link's, to make pulls slow or fail. */
  registryAddress?: string;
  /** Image of a third service `proxy`, which no release contains: Caddy on the published port, as in the real stack. */
  proxyImage?: string;
  /** Compose project name; default `station`. */
  project?: string;
};

/** A stack that starts in well under a second. Its containers go with the engine. */
export async function createSmallStack(workspace: Workspace, options: SmallStackOptions): Promise<SmallStack> {
  const { engine, registry, project = 'station' } = options;
  const folder = await workspace.subfolder(project);
  const composeFile = join(folder, 'docker-compose.yml');
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const healthUrl = `${url}/api/health`;
  return {
    folder,
    composeFile,
    url,
    healthUrl,
    publish: (wanted) => publish(registry, options.registryAddress ?? registry.address, project, wanted),
    writeProject: async (release) => {
      if (options.proxyImage !== undefined) await writeFile(join(folder, 'Caddyfile'), caddyfile);
      const content = composeContent(project, release, port, options.proxyImage);
      await writeFile(composeFile, stringify(content));
    },
    up: async () => {
      await engine.compose(folder, 'up', '-d');
    },
    containers: () => listContainers(engine, project),
    health: () => readHealth(healthUrl),
  };
}

async function publish(
  registry: Registry,
  address: string,
  project: string,
  options: PublishOptions,
): Promise<PublishedRelease> {
  const images: Partial<Record<Service, string>> = {};
  const digests: Partial<Record<Service, string>> = {};
  for (const service of services) {
    const repository = `${project}/${service}`;
    images[service] = `${address}/${repository}:${options.version}`;
    if (options.missing?.includes(service)) {
      digests[service] = `sha256:${'0'.repeat(64)}`;
      continue;
    }
    digests[service] = await pushSmallImage(registry, {
      repository,
      version: options.version,
      behaviour: (service === 'backend' ? options.behaviour : options.frontend) ?? 'good',
      ballast: service === 'backend' ? (options.ballast ?? []) : [],
    });
  }
  const manifest = { version: options.version, images: images as Record<Service, string> };
  return { manifest, digests: digests as Record<Service, string> };
}

/** The same release with every image named `name@sha256:…` instead of `name:tag`. */
export function pinnedByDigest(release: PublishedRelease): PublishedRelease {
  const pin = (service: Service): string =>
    `${release.manifest.images[service].replace(/:[^:/]+$/, '')}@${release.digests[service]}`;
  const images = { backend: pin('backend'), frontend: pin('frontend') };
  return { ...release, manifest: { ...release.manifest, images } };
}

const caddyfile = `{
	admin off
	auto_https off
}
:80 {
	handle /api/* {
		reverse_proxy backend:80 {
			lb_try_duration 30s
			lb_try_interval 100ms
		}
	}
	handle {
		reverse_proxy frontend:80 {
			lb_try_duration 30s
			lb_try_interval 100ms
		}
	}
}
`;

function composeContent(project: string, release: PublishedRelease, port: number, proxyImage?: string): object {
  const published = { ports: [`127.0.0.1:${port}:80`] };
  const service = (name: Service, more: object = {}): object => ({
    image: release.manifest.images[name],
    container_name: `${project}-${name}`,
    init: true,
    restart: 'unless-stopped',
    mem_limit: '32m',
    shm_size: '31m',
    ...more,
  });
  const proxy = proxyImage !== undefined && {
    proxy: {
      image: proxyImage,
      container_name: `${project}-proxy`,
      command: ['caddy', 'run', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
      volumes: ['./Caddyfile:/etc/caddy/Caddyfile:ro'],
      restart: 'unless-stopped',
      ...published,
    },
  };
  return {
    name: project,
    services: { backend: service('backend', proxy ? {} : published), frontend: service('frontend'), ...proxy },
  };
}

async function listContainers(engine: DockerEngine, project: string): Promise<StackContainer[]> {
  const label = `label=com.docker.compose.project=${project}`;
  const ids = (await engine.docker('ps', '--all', '--quiet', '--no-trunc', '--filter', label))
    .split('\n')
    .filter(Boolean);
  if (ids.length === 0) return [];
  // A container may disappear between the two calls; the others are still printed.
  const { stdout } = await engine.tryDocker(['inspect', '--type', 'container', ...ids]);
  return (JSON.parse(stdout) as Inspected[]).map((one) => ({
    id: one.Id,
    service: one.Config.Labels['com.docker.compose.service'] ?? '',
    image: one.Config.Image,
    imageId: one.Image,
    state: one.State.Status,
    restartCount: one.RestartCount,
    startedAt: one.State.StartedAt,
  }));
}

type Inspected = {
  Id: string;
  Image: string;
  RestartCount: number;
  Config: { Image: string; Labels: Record<string, string> };
  State: { Status: string; StartedAt: string };
};

async function readHealth(url: string): ReturnType<SmallStack['health']> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    const body = (await response.json()) as { status: string; version: string };
    return { statusCode: response.status, ...body };
  } catch {
    return null;
  }
}
