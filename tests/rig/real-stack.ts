import { randomBytes, randomUUID } from 'node:crypto';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadBaseImages } from './base-images.ts';
import { buildForTests } from './build.ts';
import type { DockerEngine } from './docker-engine.ts';
import { findFreePort } from '@station/kit/free-port';
import type { Registry } from './registry.ts';
import type { Service } from './small-stack.ts';
import { pushStackImages } from './stack-images.ts';
import type { Workspace } from './workspace.ts';

const repository = join(import.meta.dirname, '../..');

export type RealStack = {
  /** The Compose project's folder, with what `deploy/` gives a station and a filled-in `.env`. */
  folder: string;
  composeFile: string;
  /** The proxy's address. */
  url: string;
  healthUrl: string;
  mqttPort: number;
  /** Nothing listens there before an agent made certificates in `tlsFolder`. */
  httpsPort: number;
  mqttTlsPort: number;
  tlsFolder: string;
  /** The backend's login at the broker. */
  mqttPassword: string;
  firmwareFolder: string;
  agentSocketFolder: string;
  stationId: string;
  /** Manifest bodies of the published releases, in the order they were asked for. */
  releases: { version: string; images: Record<Service, string> }[];
};

export type RealStackOptions = {
  engine: DockerEngine;
  registry: Registry;
  /** Releases to make of what was built and push; the first is the one the project begins with. */
  versions: readonly string[];
  /** Uses the existing `dist/` instead of building it. */
  prebuilt?: boolean;
};

/**
 * Builds the repository's own images, pushes them as releases and writes a Compose project for them. The engine keeps
 * none of the images but the broker's, so that a station pulls what it runs. About 10 seconds.
 */
export async function createRealStack(workspace: Workspace, options: RealStackOptions): Promise<RealStack> {
  const { engine, registry, versions } = options;
  if (!options.prebuilt) await buildForTests('backend', 'web');
  await loadBaseImages(engine, ['eclipse-mosquitto:2']);
  const images = `${registry.address}/station`;
  await pushStackImages(workspace, { registries: [registry], images, versions });
  return writeProject(workspace, images, versions);
}

/** Writes a Compose project of the shipped files for images that are, or will be, in a registry. */
export async function writeProject(
  workspace: Workspace,
  images: string,
  versions: readonly string[],
): Promise<RealStack> {
  const folder = await workspace.subfolder('station');
  const firmwareFolder = await workspace.subfolder('firmware-cache');
  const agentSocketFolder = await workspace.subfolder('agent-socket');
  const composeFile = join(folder, 'docker-compose.yml');
  await cp(join(repository, 'deploy/docker-compose.yml'), composeFile);
  for (const name of ['proxy', 'mosquitto']) {
    await cp(join(repository, 'deploy', name), join(folder, name), { recursive: true });
  }
  const tlsFolder = await workspace.subfolder('tls');
  const httpPort = await findFreePort();
  const httpsPort = await findFreePort();
  const mqttPort = await findFreePort();
  const mqttTlsPort = await findFreePort();
  const mqttPassword = randomBytes(12).toString('hex');
  const stationId = randomUUID();
  const variables = {
    STATION_IMAGES: images,
    STATION_VERSION: versions[0] ?? '',
    STATION_ID: stationId,
    MQTT_PASSWORD: mqttPassword,
    HTTP_PORT: `127.0.0.1:${httpPort}`,
    HTTPS_PORT: `127.0.0.1:${httpsPort}`,
    MQTT_PORT: `127.0.0.1:${mqttPort}`,
    MQTT_TLS_PORT: `127.0.0.1:${mqttTlsPort}`,
    TLS_DIR: tlsFolder,
    FIRMWARE_CACHE_DIR: firmwareFolder,
    AGENT_SOCKET_DIR: agentSocketFolder,
    BLUEZ_DIR: await workspace.subfolder('bluez'),
  };
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, '.env'), lines.join(''), { mode: 0o600 });
  const url = `http://127.0.0.1:${httpPort}`;
  return {
    folder,
    composeFile,
    url,
    healthUrl: `${url}/api/health`,
    mqttPort,
    httpsPort,
    mqttTlsPort,
    tlsFolder,
    mqttPassword,
    firmwareFolder,
    agentSocketFolder,
    stationId,
    releases: versions.map((version) => ({
      version,
      images: { backend: `${images}/backend:${version}`, frontend: `${images}/frontend:${version}` },
    })),
  };
}
