import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createDockerEngine as createAdapter } from '@station/agent/stack/adapters/docker/docker-engine';
import { fetchRelease } from '@station/agent/stack/image-fetch';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createLogger } from '@station/kit/logger';
import { events } from '@station/protocol/events';
import type { Release } from '@station/protocol/release';
import { seededRandom } from '@station/simulators/devices/random';
import { needPackages } from '../../rig/debian.ts';
import { createDockerEngine, type DockerEngine } from '../../rig/docker-engine.ts';
import { extent } from '../../rig/extent.ts';
import { packLayer, pushImage, type ImageFile } from '../../rig/image-push.ts';
import { run } from '../../rig/program.ts';
import { createRegistry, type Registry } from '../../rig/registry.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { createDisks } from '../../station-machine/disks.ts';

/*
 * Power cuts while Docker pulls the images of a first start: its data is on a disk of its own, and a copy of that disk at one instant is what the next
 * boot finds. The frontend and the proxy share a layer, as in the shipped stack.
 */

const rounds = extent(1, 30);
/** The same cuts in every run, others in every sweep. */
const seed = process.env['STATION_SEED'] ?? extent('1', String(randomInt(1_000_000)));
const { signal } = new AbortController();

test(`after power cuts in pulls, one fetch stores every image (STATION_SEED=${seed}, ${rounds} cuts)`, async (context) => {
  const random = seededRandom(seed);
  await using workspace = await createWorkspace();
  const registry = await createRegistry(workspace, {});
  const release = await pushRelease(registry);
  const proxy = `${registry.address}/station/proxy:1`;
  const station = await createStation(workspace, [...Object.values(release.images), proxy]);
  const { engine } = station;
  const pullAll = async (): Promise<void> => {
    await Promise.all(Object.values(release.images).map((image) => engine.tryDocker(['pull', '--quiet', image])));
    await engine.tryDocker(['pull', '--quiet', proxy]);
  };
  await station.boot('fresh');
  const started = performance.now();
  await pullAll();
  const wholeMs = performance.now() - started;

  const counts = { healed: 0, stuck: 0, repaired: 0 };
  for (let round = 1; round <= rounds; round += 1) {
    await station.boot('fresh');
    const pulls = pullAll();
    const ms = Math.round(random() * wholeMs);
    await new Promise((resolve) => setTimeout(resolve, ms));
    await station.cutPower();
    await pulls;
    await station.boot('cut');
    const { seen, fetch } = station.startAgent(release);
    // As without the repair of the storage.
    let answer = await fetch(false);
    for (let tries = 1; tries < 3 && answer.kind === 'failed'; tries += 1) answer = await fetch(false);
    if (seen.has('image_healed')) counts.healed += 1;
    if (answer.kind === 'failed') {
      counts.stuck += 1;
      context.diagnostic(`cut ${round} after ${ms} ms: ${answer.code}, ${answer.detail ?? answer.reason}`);
      answer = await fetch(true);
      if (seen.has('repaired')) counts.repaired += 1;
    }
    assert.equal(answer.kind, 'ok', `cut ${round} after ${ms} ms: ${JSON.stringify(answer)}`);
  }
  context.diagnostic(JSON.stringify({ rounds, wholeMs: Math.round(wholeMs), ...counts }));
});

async function pushRelease(registry: Registry): Promise<Release> {
  const files = (folder: string, count: number, bytes: number): ImageFile[] =>
    Array.from({ length: count }, (_, index) => ({ path: `${folder}/${index}`, content: randomBytes(bytes) }));
  const pack = (folder: string, count: number, bytes: number) => packLayer(files(folder, count, bytes));
  const caddy = await pack('caddy', 1, 12_000_000);
  const node = await pack('node', 4, 4_000_000);
  const contents = {
    backend: [node, await pack('app', 20, 100_000)],
    frontend: [caddy, await pack('etc', 1, 1000), await pack('srv', 100, 10_000)],
    proxy: [caddy, await pack('etc', 1, 2000)],
  };
  for (const [name, layers] of Object.entries(contents)) {
    await pushImage(registry, { repository: `station/${name}`, tag: '1' }, { layers, config: { Cmd: ['/none'] } });
  }
  const image = (name: string): string => `${registry.address}/station/${name}:1`;
  const images = { backend: image('backend'), frontend: image('frontend') };
  return { version: '1.0.0', images, imageIds: {}, digests: {}, layers: {} };
}

/** An engine whose data is on a disk that can lose its power. */
async function createStation(workspace: Workspace, images: readonly string[]) {
  await needPackages(['btrfs-progs', 'e2fsprogs']);
  const disks = await createDisks(workspace);
  const file = join(workspace.folder, 'fresh.ext4');
  await run('truncate', ['--size', '1G', file]);
  await run('mkfs.ext4', ['-q', '-m', '0', file]);
  const fresh = await disks.import(file);
  const dataRoot = await workspace.subfolder('engine/data');
  let disk = await disks.clone(fresh);
  await run('mount', ['-o', 'loop', disk, dataRoot]);
  const engine = await createDockerEngine(workspace);
  const project = await workspace.subfolder('project');
  const services = images.map((image, index) => `  s${index}:\n    image: ${image}\n`).join('');
  await writeFile(join(project, 'compose.yml'), `name: station\nservices:\n${services}`);
  let left: string | null = null;
  const cutPower = async (): Promise<void> => {
    left = await disks.clone(disk);
    await engine.stop();
  };
  const boot = async (from: 'fresh' | 'cut'): Promise<void> => {
    if (engine.running()) await engine.stop();
    await run('umount', ['--detach-loop', dataRoot]);
    await disks.remove(disk);
    disk = from === 'cut' && left !== null ? left : await disks.clone(fresh);
    await run('mount', ['-o', 'loop', disk, dataRoot]);
    await engine.start();
  };
  const startAgent = (release: Release) => createFetch(engine, project, release);
  return { engine, boot, cutPower, startAgent };
}

/** The agent's fetch after a boot, with and without the repair of the storage. */
function createFetch(engine: DockerEngine, project: string, release: Release) {
  const seen = new Set<string>();
  const adapter = createAdapter({
    disk: nodeDisk,
    socketPath: engine.socketPath,
    program: 'docker',
    projectPath: project,
    composeFile: 'compose.yml',
    overridePath: join(project, 'no-override.yml'),
    containerNames: {},
    credentials: null,
    env: { ...engine.env },
    clock: systemClock,
    alive: () => undefined,
    onLink: () => undefined,
    onRestart: () => undefined,
    onRemoved: () => undefined,
    onRepaired: () => void seen.add('repaired'),
  });
  const write = (line: string): void => void seen.add((JSON.parse(line) as { event: string }).event);
  const logger = createLogger({ catalogue: events, clock: systemClock, write, level: 'info', secrets: [] });
  const fetch = (withRepair: boolean) =>
    fetchRelease(release, true, {
      engine: withRepair ? adapter : { ...adapter, repairStorage: async () => false },
      logger,
      clock: systemClock,
      signal,
      alive: () => undefined,
      onProgress: () => undefined,
      spare: [],
    });
  return { seen, fetch };
}
