import { globSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A part of the end-to-end tests: `tests/e2e/NAME.test.ts`, or all files of `tests/e2e/NAME/` in one process.
 * `tests/architecture/parts.test.ts` keeps the table below complete.
 */
export type Part = {
  name: string;
  /** Files and folders (with what is below them) whose changes it tries. */
  covers: readonly string[];
  /** Whether it is in `.ci/run`: nothing of it needs a virtual machine, a random seed or a speed. */
  isGate: boolean;
  /** Where it runs: beside others, in a network of its own, or alone on the one virtual station. */
  place: 'beside others' | 'own network' | 'virtual station';
};

const agent = 'apps/agent/src';
const backend = 'apps/backend/src';
const web = 'apps/web';

function part(name: string, ...covers: string[]): Part {
  return { name, covers, isGate: false, place: 'beside others' };
}

const gate = (one: Part): Part => ({ ...one, isGate: true });
/** A browser stops fetching when an interface of the machine comes or goes, and the container engines of other parts make some. */
const inOwnNetwork = (one: Part): Part => ({ ...one, place: 'own network' });
const onVirtualStation = (one: Part): Part => ({ ...one, place: 'virtual station' });

/** The parts that take longest first: the others fill the gaps. */
export const parts: readonly Part[] = [
  part('install', 'deploy', 'scripts/release', `${agent}/command-line.ts`, `${agent}/doctor`, 'tests/station-machine'),
  onVirtualStation(part('wifi', `${agent}/wifi`, `${agent}/portal`, `${agent}/core/adapters`, 'simulators/wifi')),
  onVirtualStation(part('ble', 'apps/ble-helper', `${backend}/provisioning`, 'simulators/radio', 'tests/vstation')),
  part('firmware/rollouts', `${agent}/firmware`, `${backend}/firmware`, 'simulators/firmware', 'simulators/devices'),
  inOwnNetwork(part('web-provisioning', `${web}/src/features/provisioning`, `${backend}/provisioning`)),
  part('replicas/replicas', `${backend}/replicas`, `${backend}/mqtt`, `${backend}/store`, `${backend}/history`),
  part('backend/postgres', `${backend}/store`, `${backend}/history`, `${backend}/replicas`, `${backend}/devices`),
  part(
    'year',
    `${agent}/stack`,
    `${agent}/firmware`,
    `${backend}/automations`,
    `${backend}/storage`,
    'simulators/station',
  ),
  part('update-kill', `${agent}/stack`, `${agent}/core`),
  part('update/power', `${agent}/stack`),
  part('release', 'scripts', 'deploy', '.github'),
  part(
    'devices/chaos',
    `${backend}/mqtt`,
    `${backend}/store`,
    `${backend}/history`,
    `${backend}/storage`,
    'simulators/devices',
  ),
  part('backend/restarts', `${backend}/mqtt`, `${backend}/store`, `${backend}/history`, `${backend}/devices`),
  part('update/interrupted', `${agent}/stack`),
  inOwnNetwork(part('web/household', web, `${backend}/people`, `${backend}/http`)),
  part('bad-releases/more', `${agent}/stack`, 'deploy/frontend', `${web}/src/app`),
  part('bad-releases/foreign', `${agent}/stack`),
  part('bad-releases/probation', `${agent}/stack`),
  gate(part('bad-releases/people', `${agent}/stack`, 'deploy/proxy')),
  gate(part('stack', 'deploy', 'apps/backend', 'scripts/release')),
  gate(inOwnNetwork(part('web', web, `${backend}/http`, `${backend}/system`, 'simulators/frontend'))),
  gate(part('update/releases', `${agent}/stack`, `${agent}/core`)),
  gate(part('update/start', `${agent}/stack`, `${agent}/agent.ts`, `${agent}/agent-features.ts`, `${agent}/main.ts`)),
  gate(part('npm-start', 'simulators', 'scripts', 'package.json', 'package-lock.json')),
  gate(part('setup', 'scripts/setup.mjs', 'package.json', 'package-lock.json', '.npmrc')),
  inOwnNetwork(part('web/station', web, `${agent}/logs`, `${backend}/system`)),
  inOwnNetwork(part('web/firmware', web, `${backend}/firmware`)),
  inOwnNetwork(part('web/passkeys', web, `${backend}/people`)),
  inOwnNetwork(part('web/notifications', web, `${backend}/notifications`, 'simulators/notifications')),
  inOwnNetwork(part('web/every-page', web)),
  inOwnNetwork(part('web/automations', web, `${backend}/automations`)),
  inOwnNetwork(part('web/scenes', web, `${backend}/scenes`)),
  inOwnNetwork(part('web/devices', web, `${backend}/devices`)),
  inOwnNetwork(part('web/history', web, `${backend}/devices`, `${backend}/store`, `${backend}/history`)),
  part('consumers/home-assistant', `${backend}/consumers`, `${backend}/mqtt`),
  part('consumers/iobroker', `${backend}/consumers`),
  part('consumers/node-red', `${backend}/consumers`),
  inOwnNetwork(part('web/find', web)),
  inOwnNetwork(part('web/clock', web, `${agent}/clock`, `${backend}/system`)),
  inOwnNetwork(part('web/cloud', web, `${backend}/cloud`)),
  inOwnNetwork(part('web/backup', web, `${backend}/backup`)),
  inOwnNetwork(part('web/device-types', web, 'packages/protocol/src')),
  inOwnNetwork(part('web/unknown-devices', web, `${backend}/devices`)),
  inOwnNetwork(part('web/gateways', web, `${backend}/gateways`)),
  inOwnNetwork(part('web/consumers', web, `${backend}/consumers`)),
  inOwnNetwork(part('backend/browser', web, `${backend}/http`, `${backend}/socket`)),
  part('gateways/zigbee2mqtt', `${backend}/gateways`, `${backend}/mqtt`),
  part('gateways/heard', `${backend}/gateways`, `${backend}/mqtt`),
  part('gateways/esphome', `${backend}/gateways`, `${backend}/mqtt`),
  part('gateways/shelly-gen1', `${backend}/gateways`, `${backend}/mqtt`),
  part('gateways/tasmota', `${backend}/gateways`, `${backend}/mqtt`),
  part('gateways/shelly', `${backend}/gateways`, `${backend}/mqtt`),
  part('device-types', `${backend}/devices`, 'packages/protocol/src', `${web}/src/features/devices`),
  part('cloud/process', `${backend}/cloud`, 'simulators/cloud'),
  part('cloud/life', `${backend}/cloud`, 'simulators/cloud'),
  part('cloud/rejected', `${backend}/cloud`),
  part('cloud/replicas', `${backend}/cloud`, `${backend}/replicas`),
  part('cloud/reset', `${backend}/cloud`),
  gate(part('cloud/faults', `${backend}/cloud`, 'simulators/cloud')),
  part('backend/kills', `${backend}/mqtt`, `${backend}/store`, `${backend}/history`),
  part('backend/provisioning', `${backend}/provisioning`),
  part('backend/full-disk', `${backend}/storage`, `${backend}/store`),
  part('backend/other-brokers', `${backend}/mqtt`),
  part('backend/removed-while-offline', `${backend}/devices`),
  part('backend/broker-logins', `${backend}/mqtt`, 'deploy/mosquitto'),
  part('backend/doctor', `${backend}/doctor`, `${backend}/command-line.ts`, 'packages/kit/src/doctor.ts'),
  gate(part('backend/mosquitto', `${backend}/mqtt`, 'deploy/mosquitto', 'packages/protocol/src')),
  gate(part('backend/late-commands', `${backend}/mqtt`, `${backend}/devices`)),
  gate(part('trust/backup-file', `${backend}/backup`, `${backend}/store/migrations`)),
  part('trust/storage', `${backend}/backup`),
  part('trust/cloud', `${backend}/cloud`),
  part('trust/container', 'deploy', `${backend}/system`, `${agent}/http`),
  inOwnNetwork(part('trust/crowd', `${backend}/people`, `${backend}/http`, `${backend}/socket`)),
  part('trust/device', `${backend}/mqtt`, `${backend}/devices`),
  gate(
    part('trust/flood', `${backend}/http`, `${backend}/mqtt`, 'deploy/proxy', 'deploy/mosquitto', 'packages/kit/src'),
  ),
  gate(part('trust/radio', `${backend}/provisioning`, 'apps/ble-helper')),
  part('trust/guest', `${backend}/people`, `${backend}/devices`),
  part('trust/mirror', `${agent}/stack`, `${agent}/core`),
  part('trust/stolen-card', `${agent}/core`, `${backend}/store`, 'packages/kit/src'),
  inOwnNetwork(part('trust/web-page', web, `${backend}/http`)),
  part('acme', 'deploy/proxy', `${agent}/tls`),
  inOwnNetwork(part('https/mqtt', `${agent}/tls`, `${backend}/mqtt`, 'deploy/mosquitto')),
  part('https/ten-years', `${agent}/tls`, 'deploy/proxy', 'deploy/mosquitto'),
  inOwnNetwork(part('https/padlock', web, `${agent}/tls`, `${backend}/http`, `${backend}/people`, 'deploy/proxy')),
  part('machine-power', `${agent}/machine`),
  part('firmware/field', `${backend}/firmware`, 'simulators/devices'),
  part('firmware/agent', `${agent}/firmware`, `${agent}/core/adapters`),
  part('firmware/hand-over', `${agent}/firmware`, `${backend}/firmware`),
  part('update/automatic', `${agent}/stack`, 'simulators/releases'),
  part('update/cut-pulls', `${agent}/stack/adapters/docker`),
  part('update/damaged-release', `${agent}/stack`),
  part('update/image-pin', `${agent}/stack`),
  part('update/port-80-lock', `${agent}/stack`, `${agent}/portal`),
  part('update/private-registry', `${agent}/stack`),
  gate(part('world/held-database', `${backend}/core/adapters`, `${backend}/store`)),
  gate(part('world/late-will', `${backend}/mqtt`, 'deploy/mosquitto')),
  gate(part('world/two-boards', `${backend}/mqtt`)),
  gate(part('world/mqtt-versions', `${backend}/mqtt`, 'deploy/mosquitto')),
  gate(part('world/partial-release', `${agent}/stack`, 'packages/protocol/src/release-manifest.ts')),
  gate(
    part('world/wifi-profiles', 'deploy/install.sh', `${agent}/wifi/adapters/network-manager`, 'packages/protocol/src'),
  ),
  gate(
    part('world/station-name', 'deploy/install.sh', `${agent}/core/adapters/mdns-name.ts`, `${backend}/provisioning`),
  ),
  gate(part('world/package-locks', 'deploy/install.sh', 'deploy/reset.sh')),
  part('world/image-disk', `${agent}/stack/adapters/docker`),
  inOwnNetwork(part('world/entrance', web, `${backend}/http`)),
  part('world/podman', 'deploy/install.sh'),
  part('world/outgoing-proxy', `${backend}/core/adapters`, `${backend}/cloud`, 'packages/kit/src/outgoing-proxy.ts'),
  gate(part('update/damaged-images', `${agent}/stack/adapters/docker`)),
  gate(part('update/offline', `${agent}/stack`)),
  gate(part('update/bad-input', `${agent}/stack`, `${agent}/core`, 'packages/protocol/src')),
  gate(part('update/operator', `${agent}/stack`, `${agent}/http`)),
  part('update-powercut', 'tests/faults', `${agent}/stack`),
  part('devices/never-harm', `${backend}/devices`, `${backend}/mqtt`),
  gate(part('devices/wifi-change', `${backend}/provisioning`, `${backend}/devices`, 'simulators/devices')),
  gate(part('portal', `${agent}/portal`)),
  gate(part('backup/backup', `${backend}/backup`, `${agent}/backup`)),
  part('backup/destinations', `${backend}/backup`),
  gate(part('backup/webdav-servers', `${backend}/backup`)),
  part('mail-servers', `${backend}/notifications`),
  gate(part('clock/boots', `${backend}/system`, `${backend}/core`, 'packages/kit/src/clock.ts')),
  gate(part('clock/time-zone', `${agent}/config.ts`)),
  gate(part('clock/time-synchronisation', `${agent}/clock`)),
  gate(part('bluez/write', 'apps/ble-helper')),
  gate(part('bluez/process', 'apps/ble-helper')),
  gate(part('bluez/improv', 'apps/ble-helper')),
  gate(part('bluez/scan', 'apps/ble-helper')),
  gate(part('network-manager/network-manager', `${agent}/wifi`)),
  gate(part('network-manager/join', `${agent}/wifi/adapters/network-manager`)),
  gate(part('network-manager/hotspot', `${agent}/wifi/adapters/network-manager`)),
  gate(part('network-manager/saved-networks', `${agent}/wifi/adapters/network-manager`)),
  gate(part('agent-executable', agent, 'scripts/build-agent.ts', 'packages/kit/src')),
  gate(part('reset-script', 'deploy/reset.sh')),
  gate(part('install-script', 'deploy/install.sh')),
  gate(part('deployment', 'deploy', '.ci')),
  part('agent-doctor', `${agent}/doctor`, `${agent}/examine-station.ts`),
  part('agent-build', 'scripts', 'package-lock.json'),
  part('agent-arm64', 'scripts/build-agent.ts', 'package-lock.json'),
  gate(part('replicas/shared-writes', `${backend}/replicas`, `${backend}/store`, `${backend}/history`)),
  part('rig', 'tests/rig'),
];

/**
 * Parts outside the folder of a topic that `npm run e2e -- TOPIC` runs too. `tests/architecture/security.test.ts` compares those of
 * `trust` with `docs/security.md`.
 */
export const topics: Readonly<Record<string, readonly string[]>> = {
  trust: [
    'wifi/neighbour',
    'network-manager/hotspot',
    'network-manager/saved-networks',
    'portal',
    'backend/mosquitto',
    'backend/broker-logins',
    'update/bad-input',
    'install-script',
    'install/https',
    'stack',
    'acme',
    'web/passkeys',
    'https/padlock',
    'https/mqtt',
  ],
  https: ['install/https', 'acme', 'web/passkeys', 'trust/web-page'],
  world: ['backup/webdav-servers', 'mail-servers'],
  doctor: ['agent-doctor', 'backend/doctor'],
};

/** Whether `path` is `place`, or below it. */
export const isWithin = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`);

/** Paths of the test files below `tests/e2e`, without `.test.ts`. */
export const findStories = (): string[] =>
  globSync('{*,*/*}.test.ts', { cwd: join(import.meta.dirname) })
    .map((file) => file.slice(0, -'.test.ts'.length))
    .sort();

/** Stories of the part: one file, or all files of its folder. */
export const storiesOf = ({ name }: Part, stories: readonly string[]): string[] =>
  stories.includes(name) ? [name] : stories.filter((story) => isWithin(story, name));
