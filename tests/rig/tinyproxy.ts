import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findFreePort } from '@station/kit/free-port';
import { needPackages } from './debian.ts';
import { startDaemon, waitFor } from './program.ts';
import type { Workspace } from './workspace.ts';

/** An HTTP proxy as companies and schools have it, and the only way to names that nobody else can resolve. */
export type Tinyproxy = {
  /** With user name and password. */
  url: string;
  /** What it was asked for, in order: `CONNECT cloud.example:443`, `POST http://hook.example:80/`. */
  asked(): Promise<string[]>;
};

const login = { name: 'station', password: 'secret-of-the-proxy' };

/**
 * Needs root, for a file of hosts of its own.
 * @param options.names resolve to this machine for the proxy, and for nobody else.
 * @param options.address of this machine, that it listens on.
 */
export async function startTinyproxy(
  workspace: Workspace,
  { names = [], address = '127.0.0.1' }: { names?: readonly string[]; address?: string },
): Promise<Tinyproxy> {
  await needPackages(['tinyproxy-bin']);
  const port = await findFreePort();
  const folder = await workspace.subfolder(`tinyproxy-${port}`);
  const hosts = join(folder, 'hosts');
  const configuration = join(folder, 'tinyproxy.conf');
  const logFile = join(folder, 'tinyproxy.log');
  await writeFile(hosts, `127.0.0.1 localhost ${names.join(' ')}\n`);
  const lines = [
    `Port ${port}`,
    `Listen ${address}`,
    'Timeout 60',
    'LogLevel Connect',
    `BasicAuth ${login.name} ${login.password}`,
  ];
  await writeFile(configuration, `${lines.join('\n')}\n`);
  const command = `mount --bind ${hosts} /etc/hosts && exec tinyproxy -d -c ${configuration}`;
  const daemon = workspace.own(await startDaemon('unshare', ['--mount', 'sh', '-c', command], { logFile }));
  await waitFor('tinyproxy to answer', async () => {
    if (!daemon.running()) throw new Error(`tinyproxy ended: ${await daemon.logTail()}`);
    const socket = connect(port, address);
    await once(socket, 'connect').finally(() => socket.destroy());
    return true;
  });
  return {
    url: `http://${login.name}:${login.password}@${address}:${port}`,
    asked: async () => {
      const log = await readFile(logFile, 'utf8');
      return [...log.matchAll(/Request \(file descriptor \d+\): (\S+ \S+) HTTP/g)].map(([, line = '']) => line);
    },
  };
}
