import { readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@station/kit/free-port';
import { createGuest, type Guest } from '../rig/guest.ts';
import { startDaemon, waitFor, type Daemon } from '../rig/program.ts';
import type { Workspace } from '../rig/workspace.ts';
import { openChannel, type Channel } from './channel.ts';
import { makeDisk, type Image } from './image.ts';

/**
 * A running virtual station: Debian with systemd, NetworkManager and three simulated radios, in QEMU without hardware acceleration.
 * Its disk is as new at every start. Everything runs as root; time in it is real time.
 */
export type Machine = AsyncDisposable &
  Guest & {
    /** From the start of QEMU until it took commands. */
    bootMs: number;
    /** The loopback port here that leads to a port of the machine. @throws when it was not asked for. */
    forwardedPort(guestPort: number): number;
    /** The last lines of the serial console. */
    consoleTail(): Promise<string>;
  };

export type MachineOptions = {
  workspace: Workspace;
  image: Image;
  /** Folder whose content is found, read-only, below `/payload`. */
  payload?: string;
  memoryMegabytes?: number;
  /** Default: 1. */
  processors?: number;
  /** TCP ports of the machine that are reached from here. It then has a cable of its own for that, outside of NetworkManager. */
  forwardedPorts?: readonly number[];
};

/** One at a time on a machine: emulation takes what processors there are. */
const lockFile = join(tmpdir(), 'station-vstation-machine.lock');
const bootTimeoutMs = 600_000;

/**
 * Starts the machine; waits until no other one runs. It belongs to the workspace, and ends with this process whatever happens to it.
 * @throws with the end of the console when it does not come up within ten minutes.
 */
export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { workspace, payload } = options;
  const folder = await workspace.subfolder('machine');
  const consoleLog = join(folder, 'console.log');
  const socketPath = join(folder, 'channel.sock');
  const payloadDisk = payload === undefined ? null : join(folder, 'payload.img');
  if (payload !== undefined && payloadDisk !== null) await makeDisk(payload, payloadDisk, 1024 * 1024 * 1024);
  const ports = await choosePorts(options.forwardedPorts ?? []);
  const args = qemuArguments(options, { payloadDisk, consoleLog, socketPath, ports });
  const qemu = await startQemu(args, join(folder, 'qemu.log'));
  workspace.own(qemu);
  const consoleTail = async (): Promise<string> =>
    (await readFile(consoleLog, 'utf8').catch(() => '')).split('\n').slice(-25).join('\n');
  try {
    const channel = await firstCommands(qemu, socketPath);
    const bootMs = performance.now() - channel.startedMs;
    const machine = createMachine({ channel, qemu, consoleTail, ports, bootMs });
    if (ports.size > 0) await machine.must(connectCable);
    if (payloadDisk !== null) await machine.must('mkdir -p /payload && mount -o ro /dev/vdb /payload');
    return machine;
  } catch (error) {
    const log = `${await qemu.logTail()}\n${await consoleTail()}`;
    await qemu.stop(0);
    throw new Error(`the virtual station did not come up:\n${log}`, { cause: error });
  }
}

type Paths = { payloadDisk: string | null; consoleLog: string; socketPath: string; ports: Ports };
/** Port of the machine → port here. */
type Ports = ReadonlyMap<number, number>;

async function choosePorts(guestPorts: readonly number[]): Promise<Ports> {
  const ports = new Map<number, number>();
  for (const port of guestPorts) ports.set(port, await findFreePort());
  return ports;
}

/** QEMU's user network has the machine at this address. Without a route: the station must not find the internet there. */
const connectCable = `set -e
  nmcli device set eth0 managed no
  ip link set eth0 up
  ip addr replace 10.0.2.15/24 dev eth0`;

function networkArguments(ports: Ports): string[] {
  if (ports.size === 0) return ['-nic', 'none'];
  const forwarded = [...ports].map(([guest, here]) => `hostfwd=tcp:127.0.0.1:${here}-10.0.2.15:${guest}`);
  return ['-nic', ['user', 'model=virtio-net-pci', 'restrict=on', ...forwarded].join(',')];
}

function qemuArguments({ image, memoryMegabytes = 2048, processors = 1 }: MachineOptions, paths: Paths): string[] {
  const kernelLine = [
    'console=ttyS0',
    'root=/dev/vda',
    'rw',
    'quiet',
    'loglevel=4',
    'net.ifnames=0',
    'audit=0',
    'apparmor=0',
    // An emulated processor has no secrets to keep, and its clock needs no proof.
    'mitigations=off',
    'nokaslr',
    'random.trust_cpu=on',
    'tsc=reliable',
    'no_timer_check',
  ];
  const disk = (file: string, more: string): string[] => ['-drive', `file=${file},if=virtio,format=raw,${more}`];
  return [
    '-name',
    'vstation',
    '-machine',
    'q35,hpet=off',
    '-accel',
    'tcg,thread=multi,tb-size=512',
    // What newer processors have (five-level page tables, SMAP, AVX-512) makes an emulated one slower. A second one costs more
    // than it brings to tests, and takes a processor from those beside it.
    '-cpu',
    'Nehalem',
    '-smp',
    String(processors),
    '-m',
    String(memoryMegabytes),
    ...networkArguments(paths.ports),
    '-display',
    'none',
    '-monitor',
    'none',
    '-no-reboot',
    '-kernel',
    image.kernel,
    '-initrd',
    image.initramfs,
    '-append',
    kernelLine.join(' '),
    ...disk(image.disk, 'snapshot=on,cache=unsafe,aio=threads'),
    ...(paths.payloadDisk === null ? [] : disk(paths.payloadDisk, 'readonly=on')),
    '-device',
    'virtio-rng-pci',
    '-serial',
    `file:${paths.consoleLog}`,
    '-device',
    'virtio-serial-pci',
    '-chardev',
    `socket,id=channel,path=${paths.socketPath},server=on,wait=off`,
    '-device',
    'virtserialport,chardev=channel,name=vstation',
  ];
}

/**
 * QEMU under a lock that the kernel takes back with the process, and killed by the kernel when this process dies. Emulated time limits are
 * real ones and its stories take longest, so it goes before the other tests.
 */
function startQemu(args: readonly string[], logFile: string): Promise<Daemon> {
  // A session of its own is a scheduling group of its own (sched(7)): the nice value of a process counts only inside of it.
  const first = '{ echo -15 > /proc/self/autogroup; } 2>/dev/null; exec "$@"';
  const locked = ['setpriv', '--pdeathsig', 'KILL', 'flock', '--no-fork', lockFile];
  const program = ['nice', '-n', '-15', 'qemu-system-x86_64', ...args];
  return startDaemon('sh', ['-c', first, 'sh', ...locked, ...program], { logFile });
}

async function firstCommands(qemu: Daemon, socketPath: string): Promise<Channel & { startedMs: number }> {
  // Another test run may have its machine: no limit to that but its own.
  await waitFor('QEMU', async () => !qemu.running() || (await stat(socketPath).catch(() => null)) !== null, 3_600_000);
  const startedMs = performance.now();
  const channel = await openChannel(socketPath);
  const tooLate = new AbortController();
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${bootTimeoutMs} ms`)), bootTimeoutMs);
    tooLate.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  try {
    await Promise.race([channel.ready, late]);
  } finally {
    tooLate.abort();
  }
  return { ...channel, startedMs };
}

function createMachine(parts: {
  channel: Channel;
  qemu: Daemon;
  consoleTail: () => Promise<string>;
  ports: Ports;
  bootMs: number;
}): Machine {
  const { channel, qemu, consoleTail, ports, bootMs } = parts;
  const run: Guest['run'] = async (script, { timeoutMs = 60_000 } = {}) => {
    try {
      return await channel.run(script, timeoutMs);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await consoleTail()}`, { cause: error });
    }
  };
  return {
    bootMs,
    ...createGuest('virtual station', run),
    forwardedPort: (guestPort) => {
      const port = ports.get(guestPort);
      if (port === undefined) throw new Error(`port ${guestPort} of the machine is not forwarded`);
      return port;
    },
    consoleTail,
    [Symbol.asyncDispose]: async () => {
      channel.close();
      await qemu.stop(0);
    },
  };
}
