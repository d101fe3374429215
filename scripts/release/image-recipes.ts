// What the images of the stack are made of. They need no build container: only files are added to a base image, so an image of
// another architecture needs no emulation and no Docker.

/** One layer, a difference to what is below it. Layers that change rarely come first: a station pulls only what changed. */
export type LayerRecipe = {
  /** Path in the image → file or folder of the repository, or a file of the base image without its extended attributes. */
  files?: Readonly<Record<string, string | { fromBase: string }>>;
  /** Empty folders, which belong to the image's user. */
  folders?: readonly string[];
};

/** Docker's image configuration; `Healthcheck` is Docker's addition to the OCI image specification. */
export type ImageConfig = {
  Env: string[];
  User: string;
  WorkingDir?: string;
  ExposedPorts: Record<string, object>;
  Volumes?: Record<string, object>;
  Healthcheck: { Test: string[]; Interval: number; Timeout: number; StartPeriod: number };
  Entrypoint: string[] | null;
  Cmd: string[];
  Labels: Record<string, string>;
};

export type ImageRecipe = { base: string; layers: readonly LayerRecipe[]; config: (version: string) => ImageConfig };

export const services = ['backend', 'frontend', 'proxy'] as const;
export type ImageName = (typeof services)[number];

const nanoseconds = 1e9;
const healthcheck = (startSeconds: number, ...command: string[]): ImageConfig['Healthcheck'] => ({
  Test: ['CMD', ...command],
  Interval: 30 * nanoseconds,
  Timeout: 5 * nanoseconds,
  StartPeriod: startSeconds * nanoseconds,
});

const backend: ImageRecipe = {
  base: 'docker.io/library/node:26-bookworm-slim',
  layers: [
    { files: { '/usr/local/bin/healthcheck': 'deploy/backend/healthcheck.sh' }, folders: ['/data'] },
    { files: { '/app': 'dist/backend' } },
  ],
  config: (version) => ({
    // MALLOC_ARENA_MAX=1: with one arena, glibc can return freed memory to the system.
    Env: [
      'MALLOC_ARENA_MAX=1',
      'NODE_ENV=production',
      'HOST=0.0.0.0',
      'PORT=3000',
      'DATA_DIR=/data',
      `STATION_VERSION=${version}`,
    ],
    User: '10002:10002',
    WorkingDir: '/app',
    ExposedPorts: { '3000/tcp': {} },
    Volumes: { '/data': {} },
    Healthcheck: healthcheck(20, 'bash', '/usr/local/bin/healthcheck'),
    Entrypoint: null,
    // A small young generation (an even smaller one costs 10 % more time per message) and a garbage collection in idle
    // moments (core/adapters/quiet-collection.ts) keep the heap of an idle backend about 20 MB smaller.
    // Threads that mark garbage would take the processor from the program under a flood (docs/benchmarks.md, strangers).
    Cmd: ['node', '--max-semi-space-size=4', '--no-concurrent-marking', '--expose-gc', '/app/station-backend.mjs'],
    Labels: labels('station-backend', version),
  }),
};

/**
 * Caddy's executable has a file capability (cap_net_bind_service). The kernel refuses to start such a program in a container
 * without capabilities; a copy has none. This layer is the same in all releases.
 */
const caddy: LayerRecipe = { files: { '/opt/station/caddy': { fromBase: '/usr/bin/caddy' } } };

const caddyConfig = (user: string, healthUrl: string, label: Record<string, string>): ImageConfig => ({
  // Caddy writes to a temporary file system, because the root is read-only.
  Env: ['XDG_CONFIG_HOME=/tmp/caddy', 'XDG_DATA_HOME=/tmp/caddy'],
  User: user,
  ExposedPorts: { '8080/tcp': {} },
  Healthcheck: healthcheck(10, 'wget', '-q', '-O', '/dev/null', healthUrl),
  Entrypoint: null,
  Cmd: ['/opt/station/caddy', 'run', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
  Labels: label,
});

const frontend: ImageRecipe = {
  base: 'docker.io/library/caddy:2',
  layers: [
    caddy,
    { files: { '/etc/caddy/Caddyfile': 'deploy/frontend/Caddyfile' } },
    { files: { '/srv': 'dist/web' } },
  ],
  config: (version) => caddyConfig('10003:10003', 'http://127.0.0.1:8080/', labels('station-frontend', version)),
};

/** Without a version: it is the same in all releases until Caddy or its configuration changes. */
const proxy: ImageRecipe = {
  base: 'docker.io/library/caddy:2',
  layers: [caddy, { files: { '/etc/caddy/Caddyfile': 'deploy/proxy/Caddyfile' } }],
  config: () =>
    caddyConfig('10001:10001', 'http://127.0.0.1:8081/', { 'org.opencontainers.image.title': 'station-proxy' }),
};

const labels = (title: string, version: string): Record<string, string> => ({
  'org.opencontainers.image.title': title,
  'org.opencontainers.image.version': version,
});

export const imageRecipes: Readonly<Record<ImageName, ImageRecipe>> = { backend, frontend, proxy };
