import { basename, join } from 'node:path';
import { createDockerEngine } from '@station/agent/stack/adapters/docker/docker-engine';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import type { DockerEngine } from '../../rig/docker-engine.ts';
import type { SmallRig } from '../../rig/small-rig.ts';

type Adapter = ReturnType<typeof createDockerEngine>;

/** The agent's adapter on an engine of the rig and a Compose project, without an override. @param bootedAtMs see `LeaseParts`. */
export const adapterOn = (
  { socketPath, containerdSocket, env }: Pick<DockerEngine, 'socketPath' | 'containerdSocket' | 'env'>,
  project: { folder: string; composeFile: string; workFolder: string; bootedAtMs?: () => number },
): Adapter =>
  createDockerEngine({
    disk: nodeDisk,
    socketPath,
    program: 'docker',
    projectPath: project.folder,
    composeFile: project.composeFile,
    overridePath: join(project.workFolder, 'no-override.yml'),
    containerNames: {},
    credentials: null,
    env: { ...env },
    clock: systemClock,
    alive: () => undefined,
    onLink: () => undefined,
    onRestart: () => undefined,
    onRemoved: () => undefined,
    onRepaired: () => undefined,
    archivePath: join(project.workFolder, 'rebuilding.tar'),
    containerdSockets: [containerdSocket],
    ...(project.bootedAtMs && { bootedAtMs: project.bootedAtMs }),
  });

/** The agent's adapter on the rig's engine and stack. */
export const engineOf = ({ engine, stack, workspace }: SmallRig): Adapter =>
  adapterOn(engine, {
    folder: stack.folder,
    composeFile: basename(stack.composeFile),
    workFolder: workspace.folder,
  });
