import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { needPackages } from './debian.ts';
import { packLayer, pushImage, type ImageFile, type Layer } from './image-push.ts';
import type { Registry } from './registry.ts';

/** Bytes of a layer: random ones, or zeros, which are nothing until they are unpacked. */
export type Ballast = number | { zeros: number };

/**
 * How a service of the small stack behaves.
 * - `good`: `GET /api/health` answers 200 `{ status: "ok", version, checks }` within milliseconds of the start
 * - `unhealthy`: answers 503 `{ status: "error", version }` to everything
 * - `crash-loop`: exits 1 at once
 * - `ignore-sigterm`: good, but only SIGKILL ends it
 * - `hang`: accepts connections and never answers
 * - `slow-start`: nothing listens for `seconds`, then good
 * - `crash-after`: good for `seconds`, then exits 1 (and again after each restart)
 * - `unhealthy-after`: good for `seconds`, then 503 for ever
 * - `fill-memory-after`: good, and after `seconds` nearly all of its memory is taken for ever
 */
export type Behaviour =
  | 'good'
  | 'unhealthy'
  | 'crash-loop'
  | 'ignore-sigterm'
  | 'hang'
  | { kind: 'slow-start' | 'crash-after' | 'unhealthy-after' | 'fill-memory-after'; seconds: number };

export type SmallImage = {
  repository: string;
  version: string;
  behaviour: Behaviour;
  /** Additional layers that do not compress, in bytes each: something to pull. */
  ballast: readonly Ballast[];
};

/** Builds a tiny image (busybox and a script, 1 MB) and pushes it under its version as tag. @returns its digest. */
export async function pushSmallImage(registry: Registry, image: SmallImage): Promise<string> {
  const layers: Layer[] = [await busyboxLayer()];
  for (const [index, size] of image.ballast.entries()) {
    layers.push(
      await packLayer([
        { path: `ballast/${index}`, content: typeof size === 'number' ? randomBytes(size) : Buffer.alloc(size.zeros) },
      ]),
    );
  }
  layers.push(await packLayer(serviceFiles(image)));
  return pushImage(
    registry,
    { repository: image.repository, tag: image.version },
    {
      layers,
      config: {
        Cmd: ['/start'],
        Labels: { 'org.opencontainers.image.version': image.version },
        ExposedPorts: { '80/tcp': {} },
      },
    },
  );
}

let busybox: Promise<Layer> | undefined;

function busyboxLayer(): Promise<Layer> {
  return (busybox ??= packBusybox());
}

const packBusybox = async (): Promise<Layer> => packLayer(await busyboxFiles());

/** What every service of a small stack needs to run. */
export async function busyboxFiles(): Promise<ImageFile[]> {
  await needPackages(['busybox-static']);
  const applets = ['sh', 'httpd', 'nc', 'sleep', 'wget', 'kill', 'cat', 'dd'];
  return [
    { path: 'bin/busybox', content: await readFile('/bin/busybox') },
    ...applets.map((name) => ({ path: `bin/${name}`, linkTo: 'busybox' })),
  ];
}

/** A service's own files on those of busybox; `/start` runs it. */
export function serviceFiles({ version, behaviour, repository }: Omit<SmallImage, 'ballast'>): ImageFile[] {
  const unhealthy = JSON.stringify({ status: 'error', version });
  return [
    { path: 'www/api/health', content: JSON.stringify({ status: 'ok', version, checks: {} }) },
    { path: 'www/index.html', content: `${repository} ${version}\n` },
    { path: 'start', content: `#!/bin/sh\necho "${version} starts"\n${startScript(behaviour)}\n` },
    // The request is read first: closing a socket with unread input resets the connection.
    {
      path: 'unhealthy',
      content: `#!/bin/sh
while read -r line; do [ "\${#line}" -le 1 ] && break; done
printf 'HTTP/1.1 503 Service Unavailable\\r\\nContent-Type: application/json\\r\\nContent-Length: ${unhealthy.length}\\r\\nConnection: close\\r\\n\\r\\n${unhealthy}'
`,
    },
    { path: 'hang', content: '#!/bin/sh\nexec sleep 100000\n' },
  ];
}

const serve = 'httpd -f -p 80 -h /www';

function startScript(behaviour: Behaviour): string {
  switch (behaviour) {
    case 'good':
      return `exec ${serve}`;
    case 'unhealthy':
      return 'exec nc -ll -p 80 -e /unhealthy';
    case 'crash-loop':
      return 'echo "this release cannot start" >&2; exit 1';
    case 'ignore-sigterm':
      return `trap '' TERM; ${serve} & while :; do sleep 1; done`;
    case 'hang':
      return 'exec nc -ll -p 80 -e /hang';
    default:
      return timedScript(behaviour);
  }
}

function timedScript({ kind, seconds }: Exclude<Behaviour, string>): string {
  switch (kind) {
    case 'slow-start':
      return `sleep ${seconds}; exec ${serve}`;
    case 'crash-after':
      return `${serve} & sleep ${seconds}; exit 1`;
    case 'fill-memory-after':
      // A file system in memory counts as memory of the container; it ends just below the limit.
      return `(sleep ${seconds}; dd if=/dev/zero of=/dev/shm/full bs=64k) & exec ${serve}`;
    case 'unhealthy-after':
      // All of the server: a child of it that waits for a request keeps the port.
      return `${serve} & sleep ${seconds}; kill -9 -1; until nc -ll -p 80 -e /unhealthy; do sleep 0.1; done`;
  }
}
