import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { fetchRelease } from '@station/agent/stack/image-fetch';
import { systemClock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import { events } from '@station/protocol/events';
import type { Release } from '@station/protocol/release';
import { seededRandom } from '@station/simulators/devices/random';
import { extent } from '../../rig/extent.ts';
import { createImageLab, type ImageLab, randomFiles } from './image-lab.ts';

/*
 * Power cuts while Docker pulls the images of a first start: its data is on a disk of its own, and a copy of that disk at one instant is what the next
 * boot finds. The images of the release share a base, and the proxy shares a layer with the frontend. Whether they are whole in the end is read
 * from the files of a container of each, never from the agent's answer.
 */

const rounds = extent(2, 30);
/** The same cuts in every run, others in every sweep. */
const seed = process.env['STATION_SEED'] ?? extent('1', String(randomInt(1_000_000)));
const mostMsAfterwards = 1000;
const { signal } = new AbortController();

const base = [...randomFiles('node', 4, 4_000_000), ...randomFiles('lib', 100, 10_000)];
const caddy = randomFiles('caddy', 1, 6_000_000);
const contents = {
  backend: [base, randomFiles('app', 20, 100_000)],
  frontend: [base, caddy, randomFiles('srv', 100, 10_000)],
  proxy: [caddy, randomFiles('etc', 1, 2000)],
};

for (const store of ['containerd', 'overlay2'] as const) {
  test(`after power cuts in pulls the agent has every image whole in ${store} (STATION_SEED=${seed}, ${rounds} cuts)`, async (context) => {
    const random = seededRandom(seed);
    await using lab = await createImageLab({ store, contents });
    const { engine, images } = lab;
    const names = Object.keys(images);
    const fresh = await lab.stopAndCopyDisk();
    const pullAll = async (): Promise<void> => {
      const pulls = Object.values(images).map(({ reference }) => engine.tryDocker(['pull', '--quiet', reference]));
      await Promise.all(pulls);
    };
    await lab.boot(fresh);
    const started = performance.now();
    await pullAll();
    const wholeMs = performance.now() - started;

    const counts = { cuts: 0, rebuilt: 0 };
    for (let round = 1; round <= rounds; round += 1) {
      await lab.boot(fresh);
      const pulls = pullAll();
      // Half of them soon after the pulls: all is there, and nothing is on disk.
      const isAfter = round % 2 === 1;
      if (isAfter) await pulls;
      const ms = Math.round(random() * (isAfter ? mostMsAfterwards : wholeMs));
      await new Promise((resolve) => setTimeout(resolve, ms));
      const cut = await lab.copyDisk();
      await pulls;
      await lab.boot(cut);
      const told = await fetchWhole(lab);
      counts.cuts += 1;
      counts.rebuilt += told.rebuilt;
      const damage: string[] = [];
      for (const name of names) {
        const found = await lab.damageOf(name);
        if (found !== null) damage.push(`${name}: ${found}`);
      }
      assert.deepEqual(damage, [], `cut ${round}, ${ms} ms after the ${isAfter ? 'end' : 'begin'} of the pulls`);
    }
    context.diagnostic(JSON.stringify({ store, wholeMs: Math.round(wholeMs), ...counts }));
  });
}

/** What the agent does with a fetch that began in another boot: fetch, check, make again. */
async function fetchWhole({ adapter, images }: ImageLab): Promise<{ rebuilt: number }> {
  const { proxy, ...own } = Object.fromEntries(
    Object.entries(images).map(([name, { reference }]) => [name, reference]),
  );
  const release: Release = { version: '1.0.0', images: own, imageIds: {}, digests: {}, layers: {} };
  const logger = createLogger({
    catalogue: events,
    clock: systemClock,
    write: () => undefined,
    level: 'info',
    secrets: [],
  });
  const common = { logger, clock: systemClock, signal, alive: () => undefined, onProgress: () => undefined, spare: [] };
  let rebuilt = 0;
  for (let tries = 1; tries <= 3; tries += 1) {
    const fetched = await fetchRelease(release, { ...common, engine: adapter });
    assert.equal(fetched.kind, 'ok', JSON.stringify(fetched));
    assert.ok(proxy && fetched.kind === 'ok');
    if ((await adapter.imageId(proxy)) === null) await pullAsUp(adapter, proxy);
    const named = await adapter.namedImages(signal);
    const found = await adapter.checkImages(Object.keys(named), { isIdle: false, signal });
    const damaged = [...found].flatMap(([id, condition]) => (condition === 'damaged' ? [id] : []));
    if (damaged.length === 0) return { rebuilt };
    const { rebuilding, refused } = await adapter.planRebuild(damaged, named, signal);
    assert.deepEqual(refused, []);
    assert.ok(rebuilding);
    assert.deepEqual(await adapter.rebuildImages(rebuilding, signal), { kind: 'rebuilt' });
    rebuilt += 1;
  }
  return assert.fail('images stay damaged');
}

/** As the start of a stack fetches what no release names: what dead pulls hold is dropped when it fails. */
async function pullAsUp(adapter: ImageLab['adapter'], reference: string): Promise<void> {
  const pull = async () => (await adapter.pull(reference, () => undefined, signal)).kind === 'ok';
  if (await pull()) return;
  await adapter.repairStorage([], signal);
  assert.ok(await pull(), `${reference} is not pulled`);
}
