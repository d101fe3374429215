import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needPackages } from './debian.ts';
import { findFreePort } from '@station/kit/free-port';
import { startDaemon, waitFor, type Daemon } from './program.ts';
import type { Workspace } from './workspace.ts';

/** The stack's reverse proxy, without a container. */
export type Caddy = AsyncDisposable & {
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  /** Everything that it ever wrote, to whomever, since it was started. */
  sentBytes(): Promise<number>;
};

const caddyfile = join(import.meta.dirname, '../../deploy/proxy/Caddyfile');

/** Starts Debian's Caddy on loopback with the stack's Caddyfile; only addresses and paths are replaced. */
export async function createCaddy(
  workspace: Workspace,
  { port, backendUrl, firmwareFolder }: { port: number; backendUrl: string; firmwareFolder: string },
): Promise<Caddy> {
  await needPackages(['caddy']);
  const folder = await workspace.subfolder('caddy');
  const config = join(folder, 'Caddyfile');
  const places = {
    '/tmp/caddy': join(folder, 'storage'),
    'backend:3000': new URL(backendUrl).host,
    'frontend:8080': new URL(backendUrl).host,
    '/srv/firmware': firmwareFolder,
    '\n:8080 {': `\nhttp://127.0.0.1:${port} {`,
    '\n:8081 {': `\nhttp://127.0.0.1:${await findFreePort()} {`,
  };
  let text = await readFile(caddyfile, 'utf8');
  for (const [there, here] of Object.entries(places)) {
    if (!text.includes(there)) throw new Error(`deploy/proxy/Caddyfile has no ${there.trim()}`);
    text = text.replaceAll(there, here);
  }
  await writeFile(config, text);
  let daemon: Daemon | undefined;
  const caddy: Caddy = {
    stop: async (signal = 'SIGTERM') => {
      daemon?.kill(signal);
      await daemon?.ended;
    },
    start: async () => {
      const started = await startDaemon('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], {
        logFile: join(folder, 'caddy.log'),
        env: { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
      });
      daemon = started;
      await waitFor('Caddy to answer', async () => {
        if (!started.running()) throw new Error(`caddy ended: ${await started.logTail()}`);
        return (await fetch(`http://127.0.0.1:${port}/firmware/`)).status === 404;
      });
    },
    sentBytes: async () => {
      const text = await readFile(`/proc/${daemon?.pid}/io`, 'utf8');
      return Number(/^wchar: (\d+)$/m.exec(text)?.[1]);
    },
    [Symbol.asyncDispose]: async () => {
      if (daemon?.running()) await caddy.stop();
    },
  };
  workspace.own(caddy);
  await caddy.start();
  return caddy;
}
