import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needPackages } from './debian.ts';
import { startPrivateBus } from './private-bus.ts';
import { startDaemon, tryRun, waitFor } from './program.ts';

export type RealNetworkManager = AsyncDisposable & {
  busAddress: string;
  /** Runs `nmcli`, which talks to this one. */
  nmcli(...args: string[]): ReturnType<typeof tryRun>;
  /** Its folder of profiles. */
  profiles: string;
};

/** Debian's NetworkManager on a bus and in a network of its own: it reads and checks profiles, and has no device to use them on. */
export async function startNetworkManager(): Promise<RealNetworkManager> {
  await needPackages(['network-manager']);
  const bus = await startPrivateBus();
  const profiles = join(bus.folder, 'system-connections');
  await mkdir(profiles);
  await chmod(profiles, 0o700);
  const config = join(bus.folder, 'NetworkManager.conf');
  await writeFile(
    config,
    `[main]\nplugins=keyfile\ndns=none\nauth-polkit=false\nno-auto-default=*\n[keyfile]\npath=${profiles}\nunmanaged-devices=*\n[connectivity]\nenabled=false\n`,
  );
  const paths = [
    '--config',
    config,
    '--config-dir',
    join(bus.folder, 'none'),
    '--system-config-dir',
    join(bus.folder, 'none'),
  ];
  const files = ['--state-file', join(bus.folder, 'state'), '--intern-config', join(bus.folder, 'intern.conf')];
  const started = ['NetworkManager', '--no-daemon', ...paths, ...files, '--pid-file', join(bus.folder, 'pid')];
  const inside = 'mount -t tmpfs none /run && mount -t tmpfs none /var/lib/NetworkManager && exec "$@"';
  const env = { DBUS_SYSTEM_BUS_ADDRESS: bus.address };
  const log = join(bus.folder, 'log');
  const daemon = await startDaemon(
    'unshare',
    ['--mount', '--net', '--kill-child', 'sh', '-c', inside, 'sh', ...started],
    {
      logFile: log,
      env,
    },
  );
  const nmcli = (...args: string[]) => tryRun('nmcli', args, { env });
  await waitFor('NetworkManager', async () => (await nmcli('--terse', 'general', 'status')).exitCode === 0);
  return {
    busAddress: bus.address,
    nmcli,
    profiles,
    [Symbol.asyncDispose]: async () => {
      await daemon.stop();
      await bus[Symbol.asyncDispose]();
    },
  };
}
