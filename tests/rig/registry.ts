import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needPackages } from './debian.ts';
import { findFreePort } from '@station/kit/free-port';
import { run, startDaemon, waitFor, type Daemon } from './program.ts';
import type { Workspace } from './workspace.ts';

export type Credentials = { username: string; password: string };

export type Registry = AsyncDisposable & {
  /** `<host>:<port>`, the first part of its image references; stays the same over `stop` and `start`. */
  address: string;
  /** Null for a public registry. */
  credentials: Credentials | null;
  /** Stops the registry: pulls fail with "connection refused". Pushed images stay. */
  stop(): Promise<void>;
  /** Does nothing when it runs. */
  start(): Promise<void>;
  /** A request to its HTTP API, with the credentials. `path` begins with `/v2/` or is an absolute address. */
  request(path: string, init?: RequestInit): Promise<Response>;
};

/**
 * Starts a registry (distribution 2.8) with its own storage or that of `storage`, on loopback unless `host` is another address of this machine.
 * With `credentials`, HTTP basic authentication.
 */
export async function createRegistry(
  workspace: Workspace,
  options: { credentials?: Credentials; name?: string; host?: string; storage?: string } = {},
): Promise<Registry> {
  await needPackages(['docker-registry']);
  const folder = await workspace.subfolder(options.name ?? 'registry');
  const { credentials = null, host = '127.0.0.1' } = options;
  const address = `${host}:${await findFreePort()}`;
  const configuration = {
    version: '0.1',
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: options.storage ?? join(folder, 'data') }, delete: { enabled: true } },
    http: { addr: address, secret: randomBytes(16).toString('hex') },
    ...(credentials && { auth: { htpasswd: { realm: 'station-rig', path: await htpasswd(folder, credentials) } } }),
  };
  // JSON is YAML.
  await writeFile(join(folder, 'config.yml'), JSON.stringify(configuration), { mode: 0o600 });
  const headers = credentials && {
    authorization: `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`,
  };
  const request: Registry['request'] = (path, init = {}) =>
    fetch(new URL(path, `http://${address}`), { ...init, headers: { ...headers, ...(init.headers as object) } });
  let daemon: Daemon | undefined;
  const registry: Registry = {
    address,
    credentials,
    request,
    stop: async () => daemon?.stop(),
    start: async () => {
      if (daemon?.running()) return;
      const logFile = join(folder, 'registry.log');
      const started = await startDaemon('docker-registry', ['serve', join(folder, 'config.yml')], { logFile });
      daemon = started;
      await waitFor('the registry to answer', async () => {
        if (!started.running()) throw new Error(`docker-registry ended: ${await started.logTail()}`);
        return (await request('/v2/')).ok;
      });
    },
    [Symbol.asyncDispose]: async () => daemon?.stop(),
  };
  workspace.own(registry);
  await registry.start();
  return registry;
}

/** Writes a file with one bcrypt entry, the only hash the registry takes. The password goes through standard input. */
async function htpasswd(folder: string, { username, password }: Credentials): Promise<string> {
  const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const salt = Array.from(randomBytes(21), (byte) => alphabet[byte % 64]).join('');
  // libcrypt of Debian 12 knows bcrypt and perl-base is always there. The last character of a salt carries two bits.
  const program = `$/ = undefined; print crypt(<STDIN>, '$2y$05$${salt}u')`;
  const hash = await run('perl', ['-e', program], { input: password });
  const path = join(folder, 'htpasswd');
  await writeFile(path, `${username}:${hash}\n`, { mode: 0o600 });
  return path;
}
