import { dirname, join } from 'node:path';
import { hostToFind } from '@station/kit/outgoing-proxy';
import { type Clock, isoTime, systemClock } from '@station/kit/clock';
import { runChecks } from '@station/kit/doctor';
import { nodeDisk } from '@station/kit/durable-files';
import { decideClock, decideDiskHealth, decideDiskSpace, decideNames } from '@station/kit/machine-decide';
import { lookUpNames, readDiskHealth, readDiskSpace } from '@station/kit/machine-facts';
import { describeError } from '@station/kit/station-error';
import type { DoctorReport } from '@station/protocol/doctor';
import { agentFindings } from '@station/protocol/agent-findings';
import type { Release } from '@station/protocol/release';
import { formatKeyId, type SigningKey } from '@station/protocol/signing-key';
import { maxManifestBytes } from '@station/protocol/release-manifest';
import { certificateMaker } from './tls/adapters/certificates.ts';
import { createEngineApi, type EngineApi } from './stack/adapters/docker/engine-api.ts';
import {
  areImageFilesSynced,
  isImageMissing,
  readEngineVersion,
  readImageFolder,
} from './stack/adapters/docker/engine-checks.ts';
import { fetchSmallFile } from './core/adapters/http-client.ts';
import {
  askBackend,
  isAvahiInstalled,
  isTimeSynchronised,
  listSecurityUpdates,
  listWirelessDevices,
  modeOf,
  readProject,
  readUnit,
} from './doctor/adapters/machine-checks.ts';
import { readPublicCertificate } from './doctor/adapters/proxy-checks.ts';
import { kernelPaths } from './core/adapters/kernel-files.ts';
import { createMdnsName } from './core/adapters/mdns-name.ts';
import { isDnsPortTaken, readBlocked } from './wifi/adapters/network-manager/host.ts';
import type { Config } from './config.ts';
import type { NeededImage, ProjectFacts, StateFacts } from './doctor/doctor-ports.ts';
import { learnedKeysFile, readLearnedKeys } from './core/update-keys.ts';
import {
  decideBackend,
  decideConfiguration,
  decideEncryption,
  decideEngine,
  decideImages,
  decideLocalName,
  decideMachineUpdates,
  decidePublicCertificate,
  decideReleaseServer,
  decideServices,
  decideState,
  decideUnit,
  decideUpdateKeys,
  decideWifi,
  type Outcome,
} from './doctor/doctor-decide.ts';
import { readJournal } from './stack/journal.ts';
import { findStaleFiles } from './stack/state-files.ts';
import { readWebCertificate } from './tls/station-certificates.ts';
import { agentVersion } from './version.ts';

export const agentUnit = 'station-agent.service';
const composeTimeoutMs = 30_000;
/** Less than a check has: what else it looks at is told when Docker hangs, too. */
const engineTimeoutMs = 8_000;
/** Both, and the time in which a hanging Compose ends. */
const stackTimeoutMs = engineTimeoutMs + composeTimeoutMs + 7_000;
/** The manifest may be slow, but a person waits. */
const manifestTimeoutMs = 12_000;

type Parts = { config: Config; envFile: string; warnings: readonly string[]; clock: Pick<Clock, 'now'> };

/** Checks the station as the agent sees it. Changes nothing, and works whether the agent runs or not. */
export async function examineStation({ config, envFile, warnings, clock }: Parts): Promise<DoctorReport> {
  const { dataDir, release, stack, health, wifi, childEnv } = config;
  const env = { ...childEnv, DOCKER_HOST: `unix://${stack.dockerSocket}` };
  using engine = createEngineApi(stack.dockerSocket, { timeoutMs: engineTimeoutMs });
  const state = await readState(dataDir);
  const engineVersion = readEngineVersion(engine);
  const project = engineVersion.then((found): ProjectFacts | Promise<ProjectFacts> => {
    if ('failure' in found) return { kind: 'failed', reason: found.failure };
    const asking = { folder: stack.projectPath, env, abort: AbortSignal.timeout(composeTimeoutMs) };
    return readProject(stack.dockerProgram, asking);
  });
  const folders = readImageFolder(engine, dataDir).then((images) => [
    dataDir,
    stack.projectPath,
    ...(images === null ? [] : [images]),
  ]);
  return await runChecks({
    program: 'agent',
    version: agentVersion,
    catalogue: agentFindings,
    clock,
    checks: [
      {
        id: 'configuration',
        run: async () => decideConfiguration({ file: envFile, mode: await modeOf(envFile), warnings }),
      },
      { id: 'state', run: async () => decideState(dataDir, state) },
      { id: 'disk_space', run: async () => decideDiskSpace(await Promise.all((await folders).map(readDiskSpace))) },
      {
        id: 'disk_health',
        run: async () => decideDiskHealth(await Promise.all((await folders).map((folder) => readDiskHealth(folder)))),
      },
      { id: 'clock', run: () => checkClock(dataDir, clock) },
      { id: 'service', run: (signal) => checkUnit(childEnv, signal) },
      {
        id: 'engine',
        timeoutMs: stackTimeoutMs,
        run: async () => decideEngine(stack.projectPath, await engineVersion, await project),
      },
      { id: 'images', run: () => checkImages(engine, state, env) },
      {
        id: 'services',
        timeoutMs: stackTimeoutMs,
        run: async () => decideServices(await project, installedServices(state)),
      },
      {
        id: 'backend',
        run: async (signal) => decideBackend(health.url.href, portOf(health.url), await askBackend(health.url, signal)),
      },
      { id: 'wifi', run: (signal) => checkWifi(wifi, childEnv, signal) },
      { id: 'local_name', run: checkLocalName },
      { id: 'machine_updates', timeoutMs: composeTimeoutMs, run: (signal) => checkUpdates(childEnv, signal) },
      { id: 'names', run: async (signal) => decideNames(await lookUpNames(hostsOf(config), signal)) },
      { id: 'update_keys', run: () => checkUpdateKeys(config) },
      { id: 'encryption', run: () => checkEncryption(config, clock) },
      {
        id: 'public_certificate',
        timeoutMs: composeTimeoutMs,
        run: (abort) => checkPublicCertificate(config, { env, abort, clock }),
      },
      {
        id: 'release_server',
        timeoutMs: manifestTimeoutMs,
        run: (signal) => checkReleaseServer(release.manifestUrl, signal),
      },
    ],
  });
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80');

async function readState(dataDir: string): Promise<StateFacts> {
  try {
    const reading = await readJournal(nodeDisk, dataDir);
    if (reading.kind !== 'ok') return reading;
    const { installed, kept } = reading.journal;
    const stale = Object.keys(await findStaleFiles(nodeDisk, dataDir, reading.journal));
    const previous = kept[0]?.release;
    const images = [...imagesOf(installed, true), ...imagesOf(previous ?? null, false)];
    return { kind: 'ok', stale, images };
  } catch (error) {
    return { kind: 'unreadable', reason: describeError(error) };
  }
}

const imagesOf = (release: Release | null, isInstalled: boolean): NeededImage[] =>
  Object.entries(release?.imageIds ?? {}).map(([service, imageId]) => ({
    service,
    imageId,
    isInstalled,
    version: release?.version ?? '?',
  }));

const installedServices = (state: StateFacts): string[] =>
  state.kind === 'ok' ? state.images.filter(({ isInstalled }) => isInstalled).map(({ service }) => service) : [];

async function checkImages(engine: EngineApi, state: StateFacts, env: Record<string, string>): Promise<Outcome | null> {
  if (state.kind !== 'ok' || state.images.length === 0) return null;
  const missing: NeededImage[] = [];
  for (const image of state.images) {
    if (await isImageMissing(engine, image.imageId)) missing.push(image);
  }
  return decideImages(state.images, missing, await areImageFilesSynced(engine, env));
}

/** Without a file to compare with, only the synchronisation counts. */
async function checkClock(dataDir: string, { now }: Pick<Clock, 'now'>): Promise<Outcome> {
  const reading = await readJournal(nodeDisk, dataDir).catch(() => null);
  const floor = reading?.kind === 'ok' ? reading.journal.timeFloor : null;
  return decideClock({
    now: now(),
    knownAt: floor === null ? null : Date.parse(floor),
    isSynchronised: await isTimeSynchronised(),
  });
}

async function checkUnit(env: Config['childEnv'], signal: AbortSignal): Promise<Outcome | null> {
  const unit = await readUnit(agentUnit, env, signal);
  return unit && decideUnit(unit);
}

async function checkWifi(
  { watchdog: mode, interface: device }: Config['wifi'],
  env: Config['childEnv'],
  signal: AbortSignal,
): Promise<Outcome | null> {
  const manager = await readUnit('NetworkManager.service', env, signal);
  return decideWifi(
    { mode, device },
    {
      devices: await listWirelessDevices(),
      isBlocked: (await readBlocked(kernelPaths.sys)) !== 'no',
      isNetworkManagerActive: manager === null || manager.active === 'active',
      isDnsPortTaken: await isDnsPortTaken(kernelPaths.proc),
    },
  );
}

/** Null: nobody gives this machine a name. */
async function checkLocalName(): Promise<Outcome | null> {
  if (!(await isAvahiInstalled())) return null;
  await using name = createMdnsName({ clock: systemClock });
  return decideLocalName(await name.read());
}

async function checkUpdates(env: Config['childEnv'], signal: AbortSignal): Promise<Outcome | null> {
  const packages = await listSecurityUpdates(env, signal);
  return packages && decideMachineUpdates(packages);
}

async function checkUpdateKeys({ release, dataDir }: Config): Promise<Outcome | null> {
  const configured = release.publicKeys;
  const learned = await readLearnedKeys({ configured, disk: nodeDisk, dataDir });
  const idsOf = (keys: readonly SigningKey[]): string[] => keys.map(({ keyId }) => formatKeyId(keyId));
  return decideUpdateKeys({ configured: idsOf(configured), learned: idsOf(learned), learnedFile: learnedKeysFile });
}

async function checkEncryption({ encryption, dataDir }: Config, clock: Pick<Clock, 'now'>): Promise<Outcome> {
  const { folder } = encryption;
  const found = await readWebCertificate({ folder, dataDir, disk: nodeDisk, maker: certificateMaker });
  const shown = found && {
    names: [...found.names, ...found.addresses],
    validFrom: isoTime(found.notBefore),
    validUntil: isoTime(found.notAfter),
    fingerprint: found.fingerprint,
    beforeUntil: found.beforeUntil === null ? null : isoTime(found.beforeUntil),
  };
  return decideEncryption(encryption, shown, isoTime(clock.now()));
}

type PublicCheck = { env: Record<string, string>; abort: AbortSignal; clock: Pick<Clock, 'now'> };

async function checkPublicCertificate(
  { encryption, stack }: Config,
  { env, abort, clock }: PublicCheck,
): Promise<Outcome | null> {
  if (encryption.acme === null) return null;
  const { dockerProgram: program, projectPath: folder, reverseProxyService: service } = stack;
  const { name } = encryption.acme;
  const facts = await readPublicCertificate({ program, folder, service, env, abort }, name);
  return decidePublicCertificate(name, facts, isoTime(clock.now()));
}

async function checkReleaseServer(url: URL, signal: AbortSignal): Promise<Outcome> {
  const fetched = await fetchSmallFile(url, { maxBytes: maxManifestBytes, etag: null, signal });
  const isThere = fetched.kind === 'ok' || fetched.kind === 'not_modified';
  return decideReleaseServer(url.href, isThere ? null : fetched.reason);
}

const hostsOf = ({ release, stack, proxy }: Config): string[] => [
  release.manifestUrl.protocol === 'file:' ? '' : hostToFind(release.manifestUrl, proxy),
  // Docker asks it, by the proxy of its own settings.
  proxy.https === null ? (stack.registry ?? '').replace(/:\d+$/, '') : '',
];

/** The environment file beside the executable. */
export const environmentFile = (directory = dirname(process.execPath)): string => join(directory, '.env');
