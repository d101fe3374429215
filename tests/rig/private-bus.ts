import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Message, sessionBus } from '@jellybrick/dbus-next';
import { needPackages } from './debian.ts';

const configuration = (
  socket: string,
): string => `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=${socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
`;

export type PrivateBus = AsyncDisposable & {
  /** The same over restarts. */
  address: string;
  folder: string;
  start(): Promise<void>;
  /** Ends the daemon: every connection breaks. */
  stop(): Promise<void>;
  /** Match rules of all connections, as the daemon itself counts them. */
  countMatchRules(): Promise<number>;
};

/** A real message bus of one's own, in a temporary folder. */
export async function startPrivateBus(): Promise<PrivateBus> {
  await needPackages(['dbus-daemon']);
  const folder = await mkdtemp(join(tmpdir(), 'station-bus-'));
  const socket = join(folder, 'socket');
  const file = join(folder, 'bus.conf');
  await writeFile(file, configuration(socket));
  let stopDaemon: (() => Promise<void>) | null = null;
  const start = async (): Promise<void> => {
    await rm(socket, { force: true });
    const daemon = spawn('dbus-daemon', ['--nofork', '--print-address', `--config-file=${file}`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const lines = createInterface(daemon.stdout);
    await once(lines, 'line');
    stopDaemon = async () => {
      stopDaemon = null;
      const ended = once(daemon, 'exit');
      daemon.kill('SIGTERM');
      await ended;
    };
  };
  await start();
  return {
    address: `unix:path=${socket}`,
    folder,
    start,
    stop: async () => stopDaemon?.(),
    countMatchRules: () => countMatchRules(`unix:path=${socket}`),
    [Symbol.asyncDispose]: async () => {
      await stopDaemon?.();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Match rules of all connections to a bus, as its daemon counts them (org.freedesktop.DBus.Debug.Stats). */
export async function countMatchRules(address: string): Promise<number> {
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  await once(bus, 'connect');
  try {
    const reply = await bus.call(
      new Message({
        destination: 'org.freedesktop.DBus',
        path: '/org/freedesktop/DBus',
        interface: 'org.freedesktop.DBus.Debug.Stats',
        member: 'GetAllMatchRules',
      }),
    );
    return Object.values(reply?.body[0] as Record<string, string[]>).flat().length;
  } finally {
    bus.disconnect();
  }
}
