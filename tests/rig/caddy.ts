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
  pid(): number;
  /** Everything that it ever wrote, to whomever, since it was started. */
  sentBytes(): Promise<number>;
};

const caddyfiles = join(import.meta.dirname, '../../deploy');

/**
 * Starts Debian's Caddy on loopback with the stack's Caddyfile; only addresses and paths are replaced.
 * @param bind an address where it serves every name, as on a station.
 * @param certificates the folder of the agent with what belongs to HTTPS; the proxy serves the certificate of the authority from it.
 */
export async function createCaddy(
  workspace: Workspace,
  {
    port,
    backendUrl,
    frontendUrl = backendUrl,
    firmwareFolder,
    https,
    bind,
    certificates,
  }: {
    port: number;
    backendUrl: string;
    /** Default: the backend serves the web app. */
    frontendUrl?: string;
    firmwareFolder: string;
    /** The same site over HTTPS, with PEM files. */
    https?: { port: number; certificate: string; key: string };
    bind?: string;
    certificates?: string;
  },
): Promise<Caddy> {
  await needPackages(['caddy']);
  const folder = await workspace.subfolder('caddy');
  const tlsFolder = await workspace.subfolder('caddy-tls');
  if (https) {
    // As the agent writes it: for every name of the station.
    const site = `:${https.port} {\n\tbind ${bind ?? '127.0.0.1'}\n\ttls ${https.certificate} ${https.key}\n\timport station\n}\n`;
    await writeFile(join(tlsFolder, 'https.caddy'), site);
  }
  const places = {
    '/var/lib/caddy': join(folder, 'storage'),
    'http_port 8080': `http_port ${port}`,
    'backend:3000': new URL(backendUrl).host,
    'frontend:8080': new URL(frontendUrl).host,
    '/run/agent': folder,
    '/srv/firmware': firmwareFolder,
    'root * /run/tls': `root * ${certificates ?? tlsFolder}`,
    '/run/tls': tlsFolder,
    '\n:8080 {': bind === undefined ? `\nhttp://127.0.0.1:${port} {` : `\nhttp://:${port} {\n\tbind ${bind}`,
    '\n:8081 {': `\nhttp://127.0.0.1:${await findFreePort()} {`,
  };
  const config = await placed('proxy', places, folder);
  let daemon: Daemon | undefined;
  const caddy: Caddy = {
    stop: async (signal = 'SIGTERM') => {
      daemon?.kill(signal);
      await daemon?.ended;
    },
    start: async () => {
      const started = await startCaddy(config, folder);
      daemon = started;
      await waitFor('Caddy to answer', async () => {
        if (!started.running()) throw new Error(`caddy ended: ${await started.logTail()}`);
        return (await fetch(`http://${bind ?? '127.0.0.1'}:${port}/firmware/`)).status === 404;
      });
    },
    pid: () => daemon?.pid ?? 0,
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

/** Starts Debian's Caddy on loopback as the stack's frontend. @param folder the built web app. @returns its address. */
export async function startFrontend(workspace: Workspace, folder: string): Promise<string> {
  await needPackages(['caddy']);
  const own = await workspace.subfolder('frontend');
  const url = `http://127.0.0.1:${await findFreePort()}`;
  const places = { '/tmp/caddy': join(own, 'storage'), '\n:8080 {': `\n${url} {`, 'root * /srv': `root * ${folder}` };
  const daemon = workspace.own(await startCaddy(await placed('frontend', places, own), own));
  await waitFor('the frontend to answer', async () => daemon.running() && (await fetch(url)).ok);
  return url;
}

/** A Caddyfile of the stack with other addresses and paths, as a file in `folder`. */
async function placed(program: string, places: Readonly<Record<string, string>>, folder: string): Promise<string> {
  let text = await readFile(join(caddyfiles, program, 'Caddyfile'), 'utf8');
  for (const [there, here] of Object.entries(places)) {
    if (!text.includes(there)) throw new Error(`deploy/${program}/Caddyfile has no ${there.trim()}`);
    text = text.replaceAll(there, here);
  }
  const config = join(folder, 'Caddyfile');
  await writeFile(config, text);
  return config;
}

const startCaddy = (config: string, folder: string): Promise<Daemon> =>
  startDaemon('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], {
    logFile: join(folder, 'caddy.log'),
    env: { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
  });
