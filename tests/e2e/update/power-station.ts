import assert from 'node:assert/strict';
import type { Status } from '@station/protocol/agent-api';
import { appendFile } from 'node:fs/promises';
import type { ImageStore } from '../../rig/docker-engine.ts';
import type { ImageFile } from '../../rig/image-push.ts';
import { waitFor } from '../../rig/program.ts';
import type { Registry } from '../../rig/registry.ts';
import { type Behaviour, busyboxFiles, serviceFiles } from '../../rig/small-images.ts';
import { findDamage, type LabImage, type LayerStore, pushFiles, randomFiles } from './image-lab.ts';
import { createPowerLab, type PowerLab } from './power-lab.ts';
import { type Moment, type Station, versions } from './power-moments.ts';

type Disks = Record<Moment['from'], string>;

type Pushed = { releases: Map<string, Record<'backend' | 'frontend', LabImage>>; broker: LabImage };

/** Far longer than a recovery takes on a machine with a load of 30, where the check of images alone took five minutes. */
const patienceMs = 600_000;

/** Conditions that need nobody. */
const harmless = ['updates_unsigned'];
const harmlessOffline = [...harmless, 'registry_unreachable'];

/** All images share a base; the frontend and the broker share one more layer on it. The releases differ in the layers above. */
async function pushReleases(registry: Registry): Promise<Pushed> {
  const packed: LayerStore = new Map();
  const base = [...(await busyboxFiles()), ...randomFiles('node', 2, 500_000), ...randomFiles('lib', 20, 10_000)];
  const caddy = randomFiles('caddy', 1, 1_000_000);
  const push = async (name: string, tag: string, parts: readonly (readonly ImageFile[])[], behaviour: Behaviour) => {
    const own = serviceFiles({ repository: name, version: tag, behaviour });
    const config = { Cmd: ['/start'], ExposedPorts: { '80/tcp': {} } };
    return pushFiles(registry, packed, { name, tag, parts: [...parts, own], config });
  };
  const releases: Pushed['releases'] = new Map();
  for (const version of Object.values(versions)) {
    const behaviour = version === versions.bad ? 'crash-loop' : 'good';
    releases.set(version, {
      backend: await push('backend', version, [base, randomFiles('app', 20, 50_000)], behaviour),
      frontend: await push('frontend', version, [base, caddy, randomFiles('srv', 50, 20_000)], 'good'),
    });
  }
  return { releases, broker: await push('broker', '1', [base, caddy, randomFiles('etc', 1, 2000)], 'good') };
}

export type PowerStation = AsyncDisposable & {
  lab: PowerLab;
  disks: Disks;
  publish(version: string): void;
  /** Begins a round: what was cut before is forgotten. */
  round(): Station & { cut(): Promise<void> };
};

/** Installs a station, and keeps its disk before, after it, and when its agent was killed. */
export async function createPowerStation(store: ImageStore): Promise<PowerStation> {
  await using opened = new AsyncDisposableStack();
  const lab = opened.use(await createPowerLab({ store }));
  const pushed = await pushReleases(lab.registry);
  const manifestOf = (version: string) => {
    const images = Object.entries(pushed.releases.get(version) ?? {});
    return { version, images: Object.fromEntries(images.map(([name, { reference }]) => [name, reference])) };
  };
  const publish = (version: string): void => lab.releases.setManifest(manifestOf(version));
  const round: PowerStation['round'] = () => createRound(lab, pushed);

  await lab.stack.writeProject({ manifest: manifestOf(versions.first), digests: {} } as never);
  await appendFile(
    lab.stack.composeFile,
    `  broker:\n    image: ${pushed.broker.reference}\n    container_name: station-broker\n    init: true\n    restart: unless-stopped\n`,
  );
  publish(versions.first);
  const bare = await lab.save();
  await lab.boot(bare);
  await lab.agent.start();
  await round().untilRest([versions.first]);
  assert.equal(await lab.agent.stop(), 0);
  const installed = await lab.save();
  await lab.boot(installed);
  await lab.agent.start();
  await round().untilRest([versions.first]);
  await lab.agent.kill();
  const unclean = await lab.save();
  const owned = opened.move();
  return {
    lab,
    disks: { bare, installed, unclean },
    publish,
    round,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function createRound(lab: PowerLab, pushed: Pushed): ReturnType<PowerStation['round']> {
  const { agent, engine, stack } = lab;
  let isCut = false;
  const journal: Station['journal'] = async () => {
    const text = await agent.readState('journal.json');
    return text === null || text === '' ? null : (JSON.parse(text) as { journal: Record<string, unknown> }).journal;
  };
  const imagesOf = (version: string): LabImage[] => Object.values(pushed.releases.get(version) ?? {});
  return {
    lab,
    isCut: () => isCut,
    cut: async () => {
      isCut = true;
      await lab.cutPower();
    },
    referencesOf: (version) => imagesOf(version).map(({ reference }) => reference),
    journal,
    untilRest: async (on, { isOffline = false } = {}) => {
      const rests = async (): Promise<string> => {
        const fault = await whyRestless(await agent.status(), await journal(), isOffline);
        if (fault !== null) throw new Error(fault);
        const health = await stack.health();
        assert.equal(health?.statusCode, 200, 'the stack is healthy');
        assert.ok(on.includes(health.version), `it is ${health.version}`);
        const running = (await stack.containers()).filter(({ state }) => state === 'running');
        assert.deepEqual(running.map(({ service }) => service).sort(), ['backend', 'broker', 'frontend']);
        return health.version;
      };
      return waitFor(`a station at rest on ${on.join(' or ')}`, rests, patienceMs);
    },
    damage: async (version) => {
      const found: string[] = [];
      const images: Record<string, LabImage> = { ...pushed.releases.get(version), broker: pushed.broker };
      for (const { service, imageId } of await stack.containers()) {
        const truth = images[service]?.truth;
        assert.ok(truth, service);
        const damage = await findDamage(engine, imageId, truth);
        if (damage !== null) found.push(`${service}: ${damage}`);
      }
      return found;
    },
    explain: async (since) => {
      const lines = agent.events.slice(since).filter(({ level }) => level !== 'debug');
      const containers = await engine.tryDocker(['ps', '--all']);
      const images = await engine.tryDocker(['images', '--all', '--digests']);
      return [
        ...lines.slice(-60).map((line) => JSON.stringify(line).slice(0, 600)),
        JSON.stringify(await journal()),
        JSON.stringify(await agent.status().catch(String)),
        `${containers.stdout}${containers.stderr}`,
        `${images.stdout}${images.stderr}`,
      ].join('\n');
    },
  };

  /** Null: nothing is left to do, and no person is needed. */
  async function whyRestless(
    { operation, conditions, currentVersion }: Status,
    kept: Record<string, unknown> | null,
    isOffline: boolean,
  ): Promise<string | null> {
    if (operation !== null || !kept || kept['operation'] !== null) return 'an operation is under way';
    if (kept['rebuilding']) return 'images are being made again';
    if (kept['imagesTrustedIn'] !== lab.bootId()) return 'the images are not checked';
    const open = conditions.map(({ id }) => id).filter((id) => !(isOffline ? harmlessOffline : harmless).includes(id));
    if (open.length > 0) return `conditions: ${open.join(', ')}`;
    return currentVersion === null ? 'no release is installed' : null;
  }
}
