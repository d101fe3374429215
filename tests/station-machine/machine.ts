import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '@station/kit/command';
import { createGuest, type Guest, type JobResult } from '../rig/guest.ts';
import { interfacePrefixOf, labelOf } from '../rig/leftovers.ts';
import { startDaemon, systemEnv, tryRun, waitFor, type Daemon } from '../rig/program.ts';
import type { Workspace } from '../rig/workspace.ts';
import type { Disks } from './disks.ts';
import type { Network } from './network.ts';

/** A running Debian with its own systemd, root disk and network: a container of systemd-nspawn on the host's kernel. */
export type Machine = AsyncDisposable &
  Guest & {
    /** From the start until systemd said that it is up. */
    bootMs: number;
    /** Process number of its first process on the host, for nsenter(1). */
    leader: number;
    /** Shuts down in order. @returns its disk. */
    powerOff(): Promise<string>;
    /**
     * Takes the power away: all processes end at once, and what the machine had written but not flushed to its disk is lost.
     * @returns a disk with what had reached it.
     */
    cutPower(): Promise<string>;
  };

export type MachineOptions = { workspace: Workspace; disks: Disks; network: Network; disk: string };

const bootTimeoutMs = 90_000;
const outputBytes = 8 * 1024 * 1024;
let count = 0;

/**
 * Boots a disk; one machine at a time on a network. It ends with this process, whatever happens to that.
 * @throws with the end of the console when it does not come up.
 */
export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { workspace, network, disk } = options;
  const name = `${(count += 1)}`;
  const folder = await workspace.subfolder(`machine-${name}`);
  const port = `${interfacePrefixOf(workspace.folder)}${name}`;
  const root = join(folder, 'root');
  await mkdir(root);
  const label = `${labelOf(workspace.folder)}/machine-${name}`;
  const started = performance.now();
  const daemon = await startDaemon('setpriv', containerArguments({ disk, root, label, port }), {
    logFile: join(folder, 'console.log'),
    // Docker sets addresses and forwarding below /proc/sys/net.
    env: { SYSTEMD_NSPAWN_API_VFS_WRITABLE: 'network' },
  });
  try {
    const leader = await waitFor('the first process', () => leaderOf(daemon), bootTimeoutMs);
    await waitFor('the cable', () => plugIn(port, network));
    await waitFor('systemd', () => isUp(daemon, leader), bootTimeoutMs);
    const machine = createMachine({ ...options, daemon, leader, bootMs: performance.now() - started });
    return workspace.own(machine);
  } catch (error) {
    const log = await daemon.logTail();
    await kill(daemon);
    throw new Error(`the station machine did not come up:\n${log}`, { cause: error });
  }
}

/**
 * The disk is mounted, and all processes run, in namespaces of one process. When that is killed (by its parent's death too), the kernel ends
 * all others, unmounts the disk and frees the loop device.
 */
function containerArguments({ disk, root, label, port }: Record<'disk' | 'root' | 'label' | 'port', string>): string[] {
  const inside = `
    device=$(losetup --direct-io=on --find --show "$1") && mount -o noatime "$device" "$2" && losetup --detach "$device" || exit 1
    for hierarchy in systemd unified cpu cpuacct memory blkio pids freezer devices; do
      group=/sys/fs/cgroup/$hierarchy/$3
      [ -d "/sys/fs/cgroup/$hierarchy" ] && mkdir -p "$group" && echo 0 >"$group/cgroup.procs"
    done
    shift 3; exec systemd-nspawn "$@"`;
  const nspawn = [
    '--quiet',
    '--register=no',
    '--keep-unit',
    '--machine=debian',
    `--directory=${root}`,
    '--boot',
    `--network-veth-extra=${port}:eth0`,
    '--capability=all',
    '--system-call-filter=@known',
    '--resolv-conf=off',
    '--link-journal=no',
    '--timezone=off',
    '--console=pipe',
    // The systemd of Debian 13 starts on control groups of version 1 only when it is told to.
    'SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1',
  ];
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
  return ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'bash', '-c', inside, 'bash', disk, root, label, ...nspawn];
}

/** The one child of nspawn, which is the one child of unshare, once it is systemd. */
async function leaderOf(daemon: Daemon): Promise<number | null> {
  if (!daemon.running()) throw new Error('the container has ended');
  const childOf = async (pid: number): Promise<number> =>
    Number((await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')).split(' ')[0]);
  const nspawn = await childOf(daemon.pid);
  const leader = nspawn > 0 ? await childOf(nspawn) : 0;
  const name = leader > 0 ? await readFile(`/proc/${leader}/comm`, 'utf8').catch(() => '') : '';
  return name === 'systemd\n' ? leader : null;
}

async function plugIn(port: string, { bridge }: Network): Promise<boolean> {
  const plugged = await tryRun('ip', ['link', 'set', port, 'master', bridge, 'up']);
  return plugged.exitCode === 0;
}

async function isUp(daemon: Daemon, leader: number): Promise<boolean> {
  if (!daemon.running()) throw new Error('the container has ended');
  const state = (await inside(leader, 'systemctl is-system-running', 10_000)).stdout.trim();
  return state === 'running' || state === 'degraded';
}

async function inside(leader: number, script: string, timeoutMs: number): Promise<JobResult> {
  const limit = ['timeout', '--kill-after=2', `${timeoutMs / 1000}`];
  const environment = ['env', '-i', `PATH=/usr/local/sbin:/usr/local/bin:${systemEnv['PATH']}`, 'HOME=/root'];
  const command = [...environment, 'LC_ALL=C.UTF-8', 'TERM=xterm', ...limit, 'bash', '-c', script];
  const args = ['--target', String(leader), '--all', '--', ...command];
  const result = await runCommand('nsenter', args, { env: systemEnv, cwd: '/', keptBytes: outputBytes });
  return { code: result.exitCode ?? 137, stdout: result.stdout, stderr: result.stderr };
}

/** Resolves when every process of the machine has ended and its disk is released. */
async function kill(daemon: Daemon): Promise<void> {
  daemon.kill('SIGKILL');
  await daemon.ended;
}

function createMachine(parts: MachineOptions & { daemon: Daemon; leader: number; bootMs: number }): Machine {
  const { disks, disk, daemon, leader, bootMs } = parts;
  const isReleased = async (): Promise<boolean> =>
    !(await tryRun('losetup', ['--associated', disk])).stdout.includes(disk);
  const guest = createGuest('station machine', (script, { timeoutMs = 60_000 } = {}) =>
    inside(leader, script, timeoutMs),
  );
  const end = async (): Promise<void> => {
    await kill(daemon);
    await waitFor('the disk to be released', isReleased);
  };
  return {
    bootMs,
    leader,
    ...guest,
    powerOff: async () => {
      await guest.run('systemctl poweroff');
      await waitFor('the machine to shut down', () => !daemon.running(), 120_000);
      await end();
      return disk;
    },
    cutPower: async () => {
      const left = await disks.clone(disk);
      await end();
      await disks.remove(disk);
      return left;
    },
    [Symbol.asyncDispose]: end,
  };
}
