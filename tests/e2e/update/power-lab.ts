import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exists } from '@station/kit/durable-files';
import { agentEnv, createAgentProcess, type AgentProcess, unitEnvironment } from '../../rig/agent-process.ts';
import { agentExecutable, buildForTests } from '../../rig/build.ts';
import { needPackages } from '../../rig/debian.ts';
import { createDockerEngine, type DockerEngine, type ImageStore } from '../../rig/docker-engine.ts';
import { removeLeftovers } from '../../rig/leftovers.ts';
import { run } from '../../rig/program.ts';
import { createRegistry, type Registry } from '../../rig/registry.ts';
import { createReleaseServer, type ReleaseServer } from '../../rig/release-server.ts';
import { createSmallStack, type SmallStack } from '../../rig/small-stack.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { createDisks, type Disks } from '../../station-machine/disks.ts';

/**
 * A machine with one disk for Docker's data, the agent's state and the stack's project. What is outside, the registry and the server of releases,
 * goes on when its power is cut.
 */
export type PowerLab = AsyncDisposable & {
  registry: Registry;
  releases: ReleaseServer;
  engine: DockerEngine;
  stack: SmallStack;
  agent: AgentProcess;
  /** The kernel's id of the current boot, as the agent reads it. */
  bootId(): string;
  /** The disk as it is at this instant is what the next boot finds; all that runs on the machine ends. */
  cutPower(): Promise<void>;
  /** Shuts the machine down and copies its disk; the machine stays off. */
  save(): Promise<string>;
  /** Boots from a copy of a saved disk, after a change of the files of Docker. The agent is not started. */
  boot(saved: string, change?: (dataRoot: string) => Promise<void>): Promise<void>;
};

const diskMegabytes = 1024;

export async function createPowerLab({ store }: { store: ImageStore }): Promise<PowerLab> {
  await using opened = new AsyncDisposableStack();
  const outside = opened.use(await createWorkspace());
  const machine = opened.use(await createWorkspace());
  await needPackages(['btrfs-progs', 'e2fsprogs']);
  await buildForTests('agent');
  const registry = await createRegistry(outside, {});
  const releases = await createReleaseServer(outside);
  const disks = await createDisks(outside);
  const disk = await insertDisk(machine, disks, await makeDisk(outside, disks));
  const engine = await createDockerEngine(machine, { store });
  const stack = await createSmallStack(machine, { engine, registry });
  const boots = await createBoots(machine, engine);
  opened.defer(boots.end);
  const env = agentEnv(
    { engine, releases, stack },
    {
      ...(await unitEnvironment()),
      PATH: `${boots.programs}:${engine.env['PATH']}`,
      AUTO_UPDATE: 'true',
      BOOTSTRAP_ON_START: 'true',
      HEALTHCHECK_TIMEOUT_SECONDS: '60',
    },
  );
  const agent = await createAgentProcess(machine, env, 'agent', ['sh', boots.startScript]);
  const end = async (): Promise<void> => {
    await agent.kill();
    await boots.end();
    // Processes, mounts, bridges and control groups: nothing of this boot goes on.
    await removeLeftovers(machine.folder);
    await rm(join(machine.folder, 'engine/exec'), { recursive: true, force: true });
    await rm(engine.socketPath, { force: true });
  };
  const begin = async (change?: (dataRoot: string) => Promise<void>): Promise<void> => {
    await change?.(engine.dataRoot);
    await boots.begin();
    await engine.start();
  };
  await boots.begin();
  const owned = opened.move();
  return {
    registry,
    releases,
    engine,
    stack,
    agent,
    bootId: boots.id,
    cutPower: async () => {
      const copy = await disks.clone(disk.current());
      await end();
      await disk.replace(copy);
      await begin();
    },
    save: async () => {
      await engine.stop();
      await run('sync', ['-f', engine.dataRoot]);
      const copy = await disks.clone(disk.current());
      await end();
      return copy;
    },
    boot: async (saved, change) => {
      await end();
      await disk.replace(await disks.clone(saved));
      await begin(change);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function makeDisk(outside: Workspace, disks: Disks): Promise<string> {
  const file = join(outside.folder, 'fresh.ext4');
  await run('truncate', ['--size', `${diskMegabytes}M`, file]);
  await run('mkfs.ext4', ['-q', '-m', '0', file]);
  return disks.import(file);
}

/** Folders of the machine, and the folder of its disk that each of them is. */
const onDisk = { 'engine/data': 'docker', 'agent/data': 'agent', station: 'project' };

async function insertDisk(machine: Workspace, disks: Disks, first: string) {
  const root = await machine.subfolder('disk');
  let current = first;
  const mount = async (): Promise<void> => {
    await run('mount', ['-o', 'loop', current, root]);
    for (const [folder, name] of Object.entries(onDisk)) {
      await mkdir(join(root, name), { recursive: true });
      await run('mount', ['--bind', join(root, name), await machine.subfolder(folder)]);
    }
  };
  await mount();
  return {
    current: () => current,
    /** For a machine that is off. */
    replace: async (next: string): Promise<void> => {
      await disks.remove(current);
      current = next;
      await mount();
    },
  };
}

/**
 * What the agent sees of a boot: the kernel's id of it, how long ago it was, containerd where Docker has it, and a service manager that restarts
 * Docker. The real ones are those of the machine that the tests run on.
 */
async function createBoots(machine: Workspace, engine: DockerEngine) {
  const programs = await machine.subfolder('programs');
  const startScript = join(machine.folder, 'start-agent.sh');
  const bootIdFile = join(machine.folder, 'boot-id');
  const wanted = join(machine.folder, 'restart-docker');
  await writeFile(
    join(programs, 'systemctl'),
    `#!/bin/sh\n[ "$*" = "restart docker.service" ] || exit 1\n: >${wanted}\nwhile [ -e ${wanted} ]; do sleep 0.1; done\n`,
    { mode: 0o755 },
  );
  const inside = [
    `mount --bind ${bootIdFile} /proc/sys/kernel/random/boot_id`,
    'mount -t tmpfs run /run',
    'mkdir /run/containerd',
    `ln -s ${engine.containerdSocket} /run/containerd/containerd.sock`,
    `exec ${agentExecutable}`,
  ].join(' && ');
  let bootId = '';
  let running = new AbortController();
  let watching = Promise.resolve();
  return {
    programs,
    startScript,
    id: () => bootId,
    begin: async (): Promise<void> => {
      bootId = randomUUID();
      await writeFile(bootIdFile, `${bootId}\n`);
      const boottime = await nextSecondOfUptime();
      const unshare = `unshare --mount --propagation slave --time --boottime -${boottime}`;
      await writeFile(startScript, `exec ${unshare} sh -c '${inside}'\n`);
      running = new AbortController();
      watching = restartWhenWanted(engine, wanted, running.signal);
    },
    end: async (): Promise<void> => {
      running.abort();
      await watching;
      await rm(wanted, { force: true });
    },
  };
}

/** Whole seconds since this machine started, at the beginning of one: what happened in the boot before was earlier. */
async function nextSecondOfUptime(): Promise<number> {
  const uptime = Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]);
  const next = Math.ceil(uptime);
  await sleep(1000 * (next - uptime) + 20);
  return next;
}

async function restartWhenWanted(engine: DockerEngine, wanted: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(100, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || !(await exists(wanted))) continue;
    await engine.stop();
    if (!signal.aborted) await engine.start().catch(() => undefined);
    await rm(wanted, { force: true });
  }
}
