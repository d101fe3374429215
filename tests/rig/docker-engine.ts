import { chmod, copyFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandResult } from '@station/kit/command';
import { composePlugin, needPackages, trixieDocker } from './debian.ts';
import { bridgePrefixFile, labelOf } from './leftovers.ts';
import { run, startDaemon, systemEnv, tryRun, waitFor, type Daemon, type RunOptions } from './program.ts';
import type { Workspace } from './workspace.ts';

export type DockerEngine = AsyncDisposable & {
  /** Path of the API's Unix socket. */
  socketPath: string;
  /** Path of the socket of the containerd that dockerd starts. */
  containerdSocket: string;
  /** Docker's data root; a mount of its own when `dataDiskMegabytes` was given. */
  dataRoot: string;
  /** Complete environment of a program that uses this engine: PATH, HOME, DOCKER_HOST, DOCKER_CONFIG (with Compose v2). */
  env: Record<string, string>;
  /** Runs `docker …`, returns what it printed. @throws when it fails. */
  docker(...args: string[]): Promise<string>;
  tryDocker(args: readonly string[], options?: RunOptions): Promise<CommandResult>;
  /** Runs `docker compose …` in a project folder. @throws when it fails. */
  compose(folder: string, ...args: string[]): Promise<string>;
  tryCompose(folder: string, args: readonly string[], options?: RunOptions): Promise<CommandResult>;
  /** Starts dockerd after `stop` or `kill`, and waits for its API. */
  start(): Promise<void>;
  /** Stops dockerd regularly; containers with a restart policy start again with it. */
  stop(): Promise<void>;
  /** kill -9 of dockerd alone; its containers keep running. */
  kill(): Promise<void>;
  /** False when dockerd has ended. */
  running(): boolean;
};

/** `overlay2`: the graph driver. `containerd`: containerd's image store, the default of a fresh Docker since version 29. */
export type ImageStore = 'overlay2' | 'containerd';

export type EngineOptions = {
  /** Puts the data root on an ext4 file system of this size, for real "no space left" errors. */
  dataDiskMegabytes?: number;
  /** Folder with the programs of another Docker, before those of this machine. */
  programs?: string;
  /** Debian 13's Docker, and where it keeps its images. Default: this machine's Docker, as it is. */
  store?: ImageStore;
  /** More arguments for dockerd. */
  daemonArgs?: readonly string[];
  /** Folder name in the workspace, when one test needs two engines. */
  name?: string;
};

/**
 * Starts a separate Docker Engine: data, sockets, containerd and bridges belong to the workspace. It does not manage the
 * packet filter (published ports use docker-proxy), so several engines can run side by side. There is no default bridge: containers need a network
 * of their own, as Compose makes, or `--network none|host`. Needs root. Takes about a second.
 */
export async function createDockerEngine(workspace: Workspace, options: EngineOptions = {}): Promise<DockerEngine> {
  await needPackages(['docker.io', 'iproute2', 'e2fsprogs']);
  const folder = await workspace.subfolder(options.name ?? 'engine');
  const dataRoot = join(folder, 'data');
  await workspace.subfolder(`${options.name ?? 'engine'}/data`);
  if (options.dataDiskMegabytes !== undefined) await mountDataDisk(folder, dataRoot, options.dataDiskMegabytes);
  const socketPath = join(folder, 'docker.sock');
  const env = { ...systemEnv, ...(await clientEnv(workspace, folder, socketPath)) };
  const pool = await bridgePool(workspace);
  await letBridgesThrough(workspace, pool);
  const args = [
    '--data-root',
    dataRoot,
    '--exec-root',
    join(folder, 'exec'),
    '-p',
    join(folder, 'docker.pid'),
    '-H',
    `unix://${socketPath}`,
    '--bridge',
    'none',
    '--iptables=false',
    '--ip6tables=false',
    '--ip-forward=false',
    '--default-address-pool',
    `base=${pool},size=24`,
    '--userland-proxy=true',
    '--exec-opt',
    'native.cgroupdriver=cgroupfs',
    '--cgroup-parent',
    `/${labelOf(workspace.folder)}`,
    '--insecure-registry',
    '127.0.0.0/8',
    '--shutdown-timeout',
    '3',
    ...(options.store === undefined ? [] : ['--config-file', await storeConfig(folder, options.store)]),
    ...(options.daemonArgs ?? []),
  ];
  const programs = options.programs ?? (options.store === undefined ? undefined : await trixieDocker());
  const daemonEnv = programs === undefined ? systemEnv : { ...systemEnv, PATH: `${programs}:${systemEnv['PATH']}` };
  let daemon: Daemon | undefined;
  const start = async (): Promise<void> => {
    // A pid file left by kill -9 makes dockerd refuse to start when the number is in use again.
    await rm(join(folder, 'docker.pid'), { force: true });
    const started = await startDaemon('env', ['dockerd', ...args], {
      logFile: join(folder, 'dockerd.log'),
      env: daemonEnv,
    });
    daemon = started;
    const answers = async (): Promise<boolean> => {
      if (!started.running()) throw new Error(`dockerd ended: ${await started.logTail()}`);
      return (await tryRun('docker', ['version', '--format', '{{.Server.Version}}'], { env })).exitCode === 0;
    };
    await waitFor('dockerd to answer', answers, 60_000);
  };
  const tryDocker: DockerEngine['tryDocker'] = (list, more = {}) =>
    tryRun('docker', list, { ...more, env: { ...env, ...more.env } });
  const engine: DockerEngine = {
    socketPath,
    containerdSocket: join(folder, 'exec/containerd/containerd.sock'),
    dataRoot,
    env,
    docker: (...list) => run('docker', list, { env }),
    tryDocker,
    compose: (cwd, ...list) => run('docker', ['compose', ...list], { env, cwd }),
    tryCompose: (cwd, list, more) => tryDocker(['compose', ...list], { cwd, ...more }),
    start,
    stop: async () => daemon?.stop(30_000),
    kill: async () => {
      daemon?.kill('SIGKILL');
      await daemon?.ended;
    },
    running: () => daemon?.running() ?? false,
    [Symbol.asyncDispose]: async () => {
      if (engine.running()) await removeContainers(tryDocker);
      await daemon?.stop(30_000);
    },
  };
  workspace.own(engine);
  await start();
  return engine;
}

async function storeConfig(folder: string, store: ImageStore): Promise<string> {
  const path = join(folder, 'daemon.json');
  await writeFile(path, JSON.stringify({ features: { 'containerd-snapshotter': store === 'containerd' } }));
  return path;
}

async function removeContainers(tryDocker: DockerEngine['tryDocker']): Promise<void> {
  const ids = (await tryDocker(['ps', '--all', '--quiet'])).stdout.split('\n').filter(Boolean);
  if (ids.length > 0) await tryDocker(['rm', '--force', '--volumes', ...ids]);
  await tryDocker(['network', 'prune', '--force']);
}

async function clientEnv(workspace: Workspace, folder: string, socketPath: string): Promise<Record<string, string>> {
  const config = join(folder, 'client');
  const plugins = await workspace.subfolder(`${folder.slice(workspace.folder.length + 1)}/client/cli-plugins`);
  const plugin = join(plugins, 'docker-compose');
  await copyFile(await composePlugin(), plugin);
  await chmod(plugin, 0o755);
  await writeFile(join(config, 'config.json'), '{}\n', { mode: 0o600 });
  return { DOCKER_HOST: `unix://${socketPath}`, DOCKER_CONFIG: config, DOCKER_BUILDKIT: '0', HOME: folder };
}

async function mountDataDisk(folder: string, dataRoot: string, megabytes: number): Promise<void> {
  const image = join(folder, 'data.ext4');
  await run('truncate', ['--size', `${megabytes}M`, image]);
  await run('mkfs.ext4', ['-q', '-m', '0', image]);
  await run('mount', ['-o', 'loop', image, dataRoot]);
}

/**
 * Picks a private range that the machine has no address or route in, and notes it for the clean-up. Two engines on one
 * machine would otherwise both begin with 172.17.0.0/16.
 */
async function bridgePool(workspace: Workspace): Promise<string> {
  const routes = await run('ip', ['-4', 'route', 'show', 'table', 'all']);
  const prefixes = Array.from({ length: 56 }, (_, index) => `10.${200 + index}.`);
  const free = prefixes.filter((prefix) => !routes.includes(prefix)).sort(() => Math.random() - 0.5);
  const own = join(workspace.folder, bridgePrefixFile);
  for (const prefix of free) {
    // Noted before it looks: of two engines that choose the same range at once, at least the later one sees the other.
    await writeFile(own, prefix);
    const claims = await tryRun('sh', ['-c', `grep -lxF ${prefix} ${tmpdir()}/station-rig-*/${bridgePrefixFile}`]);
    if (claims.stdout.trim() === own) return `${prefix}0.0/16`;
  }
  throw new Error('no free range below 10.200.0.0/13 for the bridges');
}

/**
 * Where the machine forwards nothing by default (its own Docker Engine sets that), not even containers on one bridge
 * reach each other: one rule for this pool, labelled with the workspace and removed with it, lets them.
 */
async function letBridgesThrough(workspace: Workspace, pool: string): Promise<void> {
  const chain = await tryRun('iptables', ['-w', '-S', 'FORWARD']);
  if (!chain.stdout.includes('-P FORWARD DROP')) return;
  const comment = ['-m', 'comment', '--comment', labelOf(workspace.folder)];
  await run('iptables', ['-w', '-I', 'FORWARD', '-s', pool, '-d', pool, ...comment, '-j', 'ACCEPT']);
}
