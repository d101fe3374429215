import { basename, join } from 'node:path';
import { createDockerEngine } from '@station/agent/stack/adapters/docker/docker-engine';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import type { SmallRig } from '../../rig/small-rig.ts';

/** The agent's adapter on the rig's engine and stack, without an override. */
export const engineOf = (rig: SmallRig): ReturnType<typeof createDockerEngine> =>
  createDockerEngine({
    disk: nodeDisk,
    socketPath: rig.engine.socketPath,
    program: 'docker',
    projectPath: rig.stack.folder,
    composeFile: basename(rig.stack.composeFile),
    overridePath: join(rig.workspace.folder, 'no-override.yml'),
    containerNames: {},
    credentials: null,
    env: { ...rig.engine.env },
    clock: systemClock,
    alive: () => undefined,
    onLink: () => undefined,
    onRestart: () => undefined,
    onRemoved: () => undefined,
    onRepaired: () => undefined,
    archivePath: join(rig.workspace.folder, 'rebuilding.tar'),
    containerdSockets: [rig.engine.containerdSocket],
  });
