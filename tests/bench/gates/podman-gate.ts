import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Changes, firstVersion } from '../../e2e/bad-releases/offered.ts';
import { createBaseRegistry } from '../../rig/base-registry.ts';
import { hostArch } from '../../rig/base-roots.ts';
import { buildForTests } from '../../rig/build.ts';
import { pushVariant, type Variant } from '../../rig/image-variant.ts';
import { run, waitFor } from '../../rig/program.ts';
import type { Registry } from '../../rig/registry.ts';
import { pushSmallImage } from '../../rig/small-images.ts';
import { pushStackImages } from '../../rig/stack-images.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import type { Machine } from '../../station-machine/machine.ts';
import { startPodmanMachine } from '../../station-machine/podman-machine.ts';
import {
  changeable,
  type Changeable,
  changedBy,
  checkRetries,
  checkTimeoutSeconds,
  type Check,
  type Checks,
  checksOfForeign,
  checksOfHome,
  type Column,
  type Gate,
  patienceSeconds,
  type Verdict,
} from './gate.ts';

// Units of systemd that Podman makes of `*.container` files, once for each way to say that a service has started. The tag of their
// images is the name of the way.

const ways = ['default', 'healthy'] as const;
type Way = (typeof ways)[number];

const columnOf: Record<Way, Column> = { default: 'Podman', healthy: 'Podman, Notify=healthy' };

/** Lines of the section `[Container]` of each service that a release may change. */
type Settings = Record<Changeable, (way: Way) => string[]>;

/** Time limits that only tell a hang. */
const limits = { backMs: 60_000, updateMs: 600_000 };

type Place = { workspace: Workspace; machine: Machine; registry: Registry };

async function createPlace(): Promise<Place> {
  const workspace = await createWorkspace();
  const { machine, registry } = await startPodmanMachine(workspace);
  for (const way of ways) await machine.writeFile(`/etc/containers/systemd/${way}.network`, '[Network]\n');
  return { workspace, machine, registry };
}

/** `podman auto-update` on a stack that is not Station's. */
export async function podmanOfForeign(): Promise<Gate> {
  const place = await createPlace();
  for (const service of changeable) {
    const image = { repository: `station/${service}`, version: firstVersion, behaviour: 'good', ballast: [] } as const;
    await pushSmallImage(place.registry, image);
  }
  const settings = (): string[] => ['ShmSize=31m', 'PodmanArgs=--memory=32m'];
  return createGate(place, { backend: settings, frontend: settings }, checksOfForeign);
}

const guarded = ['ReadOnly=true', 'DropCapability=all', 'NoNewPrivileges=true', 'Tmpfs=/tmp:size=16m,mode=1777'];

/** `podman auto-update` on backend, frontend and broker of a home. */
export async function podmanOfHome(): Promise<Gate> {
  const place = await createPlace();
  const { workspace, registry } = place;
  await buildForTests('backend', 'web');
  const images = `${registry.address}/station`;
  await pushStackImages(workspace, { registries: [registry], images, versions: [firstVersion] });
  const password = randomBytes(12).toString('hex');
  await startBrokers(place, password);
  const settings: Settings = {
    backend: (way) => [
      ...guarded,
      `Environment=STATION_ID=${randomUUID()} MQTT_URL=mqtt://backend:${password}@${way}-mqtt:1884?inflight=5000`,
      `Volume=${way}-backend:/data`,
      'PodmanArgs=--memory=384m',
    ],
    frontend: () => [...guarded, 'Environment=GOMEMLIMIT=64MiB', 'PodmanArgs=--memory=96m'],
  };
  return createGate(place, settings, checksOfHome);
}

async function startBrokers({ workspace, machine, registry }: Place, password: string): Promise<void> {
  const base = await createBaseRegistry(workspace, [hostArch]);
  const image = 'library/eclipse-mosquitto:2';
  const open = ['--src-tls-verify=false', '--dest-tls-verify=false'];
  const addresses = [base, registry].map(({ address }) => `docker://${address}/${image}`);
  await run('skopeo', ['copy', '--quiet', ...open, ...addresses]);
  for (const file of ['mosquitto.conf', 'start.sh']) {
    const text = await readFile(join(import.meta.dirname, '../../../deploy/mosquitto', file), 'utf8');
    await machine.writeFile(`/etc/station/mosquitto/${file}`, text);
  }
  for (const way of ways) {
    await writeUnit(machine, { way, service: 'mqtt' }, [
      ...guarded,
      `Image=${registry.address}/${image}`,
      'User=1883:1883',
      'PodmanArgs=--entrypoint=/bin/sh',
      'Exec=/mosquitto/config/start.sh',
      `Environment=MQTT_PASSWORD=${password} MQTT_INNER_PORT=1884`,
      'Volume=/etc/station/mosquitto:/mosquitto/config:ro',
      `Volume=${way}-mqtt:/mosquitto/data`,
    ]);
  }
  await machine.must(`systemctl daemon-reload; systemctl start ${ways.map((way) => `${way}-mqtt`).join(' ')}`);
}

async function writeUnit(
  machine: Machine,
  { way, service }: { way: Way; service: string },
  lines: readonly string[],
): Promise<void> {
  const container = [`ContainerName=${way}-${service}`, `Network=${way}.network`, 'RunInit=true', 'StopTimeout=3'];
  const unit = ['[Container]', ...container, ...lines];
  const behaviour = ['[Service]', 'Restart=always', `TimeoutStartSec=${patienceSeconds}`];
  await machine.writeFile(
    `/etc/containers/systemd/${way}-${service}.container`,
    [...unit, ...behaviour].map((line) => `${line}\n`).join(''),
  );
}

function healthOf(check: Check | null, way: Way): string[] {
  if (check === null) return [];
  return [
    `HealthCmd=${check.command.join(' ')}`,
    `HealthInterval=${check.intervalSeconds}s`,
    `HealthTimeout=${checkTimeoutSeconds}s`,
    `HealthRetries=${checkRetries}`,
    `HealthStartPeriod=${check.startSeconds}s`,
    ...(way === 'healthy' ? ['Notify=healthy'] : []),
  ];
}

async function createGate(place: Place, settings: Settings, checks: Checks): Promise<Gate> {
  for (const way of ways) {
    for (const service of changeable) {
      const image = [`Image=${imageOf(place, service, way)}`, 'AutoUpdate=registry'];
      const lines = [...image, ...healthOf(checks[service], way), ...settings[service](way)];
      await writeUnit(place.machine, { way, service }, lines);
    }
  }
  await place.machine.must('systemctl daemon-reload');
  await restore(place, changeable);
  let count = 0;
  return {
    judge: async (changes) => {
      count += 1;
      try {
        return await judge(place, changes, `${count}\n`);
      } finally {
        await restore(place, changedBy(changes));
      }
    },
    [Symbol.asyncDispose]: () => place.workspace[Symbol.asyncDispose](),
  };
}

const imageOf = ({ registry }: Place, service: Changeable, way: Way): string =>
  `${registry.address}/station/${service}:${way}`;

const push = ({ registry }: Place, service: Changeable, way: Way, variant: Variant): Promise<string> =>
  pushVariant(registry, { repository: `station/${service}`, from: firstVersion, tag: way }, variant);

/** The first release again, running and healthy. */
async function restore(place: Place, services: readonly Changeable[]): Promise<void> {
  const units: string[] = [];
  const pulls: string[] = [];
  for (const way of ways) {
    for (const service of services) {
      await push(place, service, way, {});
      units.push(`${way}-${service}`);
      pulls.push(`podman pull --quiet ${imageOf(place, service, way)}`);
    }
  }
  const all = units.join(' ');
  const script = `systemctl stop ${all}; systemctl reset-failed; ${pulls.join(' && ')} && systemctl start ${all}`;
  await place.machine.must(script, { timeoutMs: limits.updateMs });
}

/** One row of what `podman auto-update --format json` prints. */
type Row = { Unit: string; Updated: 'true' | 'false' | 'rolled back' | 'failed' };

async function judge(place: Place, changes: Changes, mark: string): Promise<Partial<Record<Column, Verdict>>> {
  const { machine } = place;
  const services = changedBy(changes);
  const before = new Map<string, string>();
  for (const service of services) {
    // Podman takes what has another digest, and one of the releases changes nothing.
    const { files = [], ...variant } = changes[service] ?? {};
    const marked = { ...variant, files: [...files, { path: 'etc/release', content: mark }] };
    for (const way of ways) {
      before.set(`${way}-${service}`, await runningImage(machine, `${way}-${service}`));
      await push(place, service, way, marked);
    }
  }
  const { stdout, stderr } = await machine.run('podman auto-update --format json', { timeoutMs: limits.updateMs });
  const rows = stdout.trim() === '' ? [] : (JSON.parse(stdout) as Row[]);
  const verdictOf = async (unit: string): Promise<Verdict> => {
    const said = rows.find(({ Unit }) => Unit === `${unit}.service`)?.Updated;
    if (said === 'true') return 'kept';
    if (said !== 'rolled back' && said !== 'failed')
      throw new Error(`Podman does not judge ${unit}: ${stdout}${stderr}`);
    const isBack = async (): Promise<boolean> => (await runningImage(machine, unit)) === before.get(unit);
    await waitFor(`the image before in ${unit}, which Podman says is ${said}`, isBack, limits.backMs);
    return 'caught';
  };
  const verdicts: Partial<Record<Column, Verdict>> = {};
  for (const way of ways) {
    const all: Verdict[] = [];
    for (const service of services) all.push(await verdictOf(`${way}-${service}`));
    verdicts[columnOf[way]] = all.includes('caught') ? 'caught' : 'kept';
  }
  return verdicts;
}

/** @throws when the unit has no container at this moment. */
const runningImage = (machine: Machine, unit: string): Promise<string> =>
  machine.must(`podman inspect --format '{{.Image}} {{.State.Status}}' ${unit}`);
