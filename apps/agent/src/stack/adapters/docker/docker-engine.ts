import { runCommand } from '@station/kit/command';
import { StationError } from '@station/kit/station-error';
import type { BrokerFile } from '../../../core/backup-ports.ts';
import type { ServiceOperator } from '../../../core/operator-ports.ts';
import { setOwnValue } from '@station/protocol/own-value';
import type { ImageCondition, StackEngine } from '../../stack-ports.ts';
import { createBrokerFile } from './broker-file.ts';
import { type ComposeParts, createCompose, createProjectReader } from './compose.ts';
import { followContainerLog } from './container-log.ts';
import {
  listContainers,
  listPins,
  memoryUse,
  pinImage,
  pinName,
  restartContainers,
  setRunning,
  unpinImage,
} from './containers.ts';
import { dropDeadLeases, type LeaseParts } from './dead-leases.ts';
import { createEngineApi, createInfo, freeBytes, type ReadInfo } from './engine-api.ts';
import { type CheckParts, createImageCheck } from './image-check.ts';
import { imageFolder, usesContainerd } from './image-folder.ts';
import { planRebuild, rebuildImages, type RebuildParts } from './image-rebuild.ts';
import { askLayers, imageId, pull, removeImage } from './images.ts';
import { removeLooseLayers } from './loose-layers.ts';
import { namedImages } from './missing-images.ts';
import { createStart, type StartParts } from './project-start.ts';
import { type Repaired, type RepairParts, repairStorage } from './storage-repair.ts';

export type DockerParts = Omit<ComposeParts, 'env'> &
  Pick<LeaseParts, 'containerdSockets' | 'bootedAtMs'> &
  Pick<StartParts, 'credentials' | 'env' | 'clock' | 'alive' | 'onLink' | 'onRestart' | 'onRemoved'> & {
    socketPath: string;
    /** BACKEND_CONTAINER_NAME and FRONTEND_CONTAINER_NAME, by service: see `listContainers`. */
    containerNames: Readonly<Record<string, string>>;
    /** Called after the repair of the storage has removed something. */
    onRepaired: (repaired: Repaired) => void;
    /** Path of a file that may be as large as all images of the stack. */
    archivePath: string;
  };

/** A graph driver removes a compressed layer once it is unpacked; containerd keeps it. */
const usualRoomPerByte = 3;
const keptRoomPerByte = usualRoomPerByte + 1;

/** Docker Engine and Compose v2 as the station's container engine. */
export function createDockerEngine(
  parts: DockerParts,
): StackEngine & Disposable & { broker: BrokerFile; operator: ServiceOperator } {
  const open = openEngine(parts);
  const { api, info, readProject, projectName, free } = open;
  const fetches = createFetches(parts, open);
  const checks = createChecks(parts, open, fetches);
  const repair = createRepair(parts, open, checks);
  return {
    services: async () => {
      const { running, declared } = await readProject({ evenIfOld: false });
      return { running, declared };
    },
    containers: async () => listContainers(api, await projectName(), parts.containerNames),
    imageId: (reference) => imageId(api, reference),
    pinnedImages: async () => (await listPins(api, await projectName())).map((pin) => pin.ImageID),
    pinImage: async (imageId) => pinImage(api, await projectName(), imageId, free),
    unpinImage: async (imageId) => unpinImage(api, await projectName(), imageId),
    removeImage: async (reference, { force }) => removeImage(api, await projectName(), reference, force),
    ...fetches,
    freeBytes: free,
    roomPerByte: async () => (usesContainerd(await info()) ? keptRoomPerByte : usualRoomPerByte),
    ...checks.port,
    repairStorage: repair,
    up: createStart({ ...parts, ...open, repair }),
    setRunning: async (service, running) => setRunning(api, await projectName(), service, running),
    memoryUse: (containers) => memoryUse(api, containers),
    sync: () => syncStorage(info, parts.env),
    broker: createBrokerFile(api, projectName),
    operator: {
      restart: async (service) => restartContainers(api, await projectName(), service),
      followLog: async (service, options, onLine, signal) =>
        followContainerLog(api, await projectName(), { ...options, service }, onLine, signal),
    },
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}

type OpenEngine = ReturnType<typeof openEngine>;

function openEngine(parts: DockerParts) {
  const { socketPath, clock } = parts;
  const api = createEngineApi(socketPath);
  const compose = createCompose({ ...parts, env: { ...parts.env, DOCKER_HOST: `unix://${socketPath}` } });
  const info = createInfo(api, clock.now);
  const readProject = createProjectReader(compose, clock.now);
  return {
    api,
    compose,
    info,
    readProject,
    projectName: async (): Promise<string> => (await readProject({ evenIfOld: true })).name,
    free: async (): Promise<number | null> => freeBytes(await imageFolder(await info())),
  };
}

/** The sizes of layers, which the registry tells, make the progress of a pull. */
function createFetches({ credentials }: DockerParts, { api, info }: OpenEngine): Pick<StackEngine, 'layers' | 'pull'> {
  const sizes = new Map<string, Record<string, number>>();
  return {
    layers: async (reference, signal) => {
      const answer = await askLayers(api, info, credentials, reference, signal);
      if (answer.kind === 'ok') sizes.set(reference, answer.layers);
      return answer;
    },
    pull: async (reference, onProgress, signal) =>
      pull(api, info, reference, { credentials, sizes: sizes.get(reference) ?? {}, onProgress, signal }),
  };
}

async function syncStorage(info: ReadInfo, env: Record<string, string>): Promise<void> {
  const facts = await info();
  const folders = new Set([facts.DockerRootDir, await imageFolder(facts)]);
  const result = await runCommand('sync', ['-f', ...folders], { env });
  if (result.exitCode !== 0)
    throw new StationError('internal', 'the file system of the container engine cannot be synced');
}

/** Whether images are whole, and how damaged ones are made again. */
function createChecks(parts: DockerParts, open: OpenEngine, fetches: Pick<StackEngine, 'layers' | 'pull'>) {
  const { clock, alive, env, archivePath } = parts;
  const { api, info, compose, projectName, free } = open;
  const pin: CheckParts['pin'] = async (id) => {
    const project = await projectName();
    const kind = await pinImage(api, project, id, free);
    return kind === 'pinned' ? { kind, name: pinName(project, id) } : { kind };
  };
  const check = createImageCheck({ api, info, clock, alive, freeBytes: free, pin });
  const dropLeases = async (): Promise<number> =>
    usesContainerd(await info()) ? dropDeadLeases({ ...parts, api, info }) : 0;
  const rebuildParts = async (): Promise<RebuildParts> => ({
    ...fetches,
    api,
    check,
    archivePath,
    clock,
    alive,
    project: await projectName(),
    dropLeftovers: async () => {
      await removeLooseLayers(api, info);
      await dropLeases();
    },
    sync: () => syncStorage(info, env),
  });
  const port: Pick<StackEngine, 'namedImages' | 'checkImages' | 'planRebuild' | 'rebuildImages'> = {
    namedImages: async (signal) => {
      const found: Record<string, string> = {};
      for (const reference of await namedImages(compose, signal)) {
        const id = await imageId(api, reference);
        if (id !== null) setOwnValue(found, id, reference);
      }
      return found;
    },
    checkImages: async (imageIds, options) => {
      const found = new Map<string, ImageCondition>();
      for (const id of imageIds) found.set(id, (await check(id, options)).kind);
      return found;
    },
    planRebuild: async (damaged, references, signal) => planRebuild(await rebuildParts(), damaged, references, signal),
    rebuildImages: async (rebuilding, signal) => rebuildImages(await rebuildParts(), rebuilding, signal),
  };
  return { port, check, dropLeases };
}

/** Repairs once: what a power cut has damaged is there from the start of the agent. @returns whether something was removed. */
function createRepair(
  { credentials, alive, onRepaired }: DockerParts,
  { api, info, compose, projectName }: OpenEngine,
  { check, dropLeases }: Pick<RepairParts, 'check' | 'dropLeases'>,
): StackEngine['repairStorage'] {
  const findOffered: RepairParts['findOffered'] = async (reference, signal) => {
    const answer = await askLayers(api, info, credentials, reference, signal);
    return answer.kind === 'ok' ? answer.imageIds : [];
  };
  let isDone = false;
  return async (fetched, signal) => {
    if (isDone) return false;
    const project = await projectName();
    const images = { named: await namedImages(compose, signal), fetched };
    const repaired = await repairStorage({ api, info, project, check, findOffered, dropLeases, alive }, images, signal);
    isDone = true;
    if (repaired.images.length === 0 && repaired.layers === 0) return false;
    onRepaired(repaired);
    return true;
  };
}
