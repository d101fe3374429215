import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { needPackages } from './debian.ts';
import { findFreePort } from '@station/kit/free-port';
import { run, startDaemon, waitFor, type Daemon } from './program.ts';
import type { Workspace } from './workspace.ts';

export type Mosquitto = AsyncDisposable & {
  port: number;
  /** Login of its administrator, as the station's stack makes it: `backend`. */
  password: string;
  /** A second listener with TLS only, and its CA file; null unless requested. */
  tls: { port: number; caFile: string; keyFile: string } | null;
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  pid(): number;
  /** Call these while it is stopped: its logins and sessions are gone, except the login `backend`; and they are back. */
  loseData(): Promise<void>;
  restoreData(): Promise<void>;
};

const shipped = join(import.meta.dirname, '../../deploy/mosquitto/mosquitto.conf');
const plugin = '/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so';
const password = 'the-password-of-the-backend';

/** Resolves when it answers on all of these ports: it opens one after the other. */
export async function mosquittoAnswers(started: Daemon, ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    await waitFor('Mosquitto to answer', async () => {
      if (!started.running()) throw new Error(`mosquitto ended: ${await started.logTail()}`);
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.destroy();
      return true;
    });
  }
}

/**
 * Starts Mosquitto on a free loopback port with the configuration of the station's stack and one login, `backend`. Its sessions survive a
 * restart.
 */
export async function createMosquitto(workspace: Workspace, options: { tls?: boolean } = {}): Promise<Mosquitto> {
  await needPackages(['mosquitto']);
  const folder = await workspace.subfolder('mosquitto');
  const logins = join(folder, 'logins.json');
  const config = join(folder, 'mosquitto.conf');
  const sessions = join(folder, 'mosquitto.db');
  const port = await findFreePort();
  const initialise = () =>
    run('mosquitto_ctrl', ['dynsec', 'init', logins, 'backend'], { input: `${password}\n${password}\n` });
  await initialise();
  const settings = [await shippedSettings({ port, logins, folder }), 'user root'];
  const tls = options.tls === true ? await makeTls(folder) : null;
  if (tls !== null) settings.push(...tls.settings);
  await writeFile(config, `${settings.join('\n')}\n`);
  let daemon: Daemon | undefined;
  const mosquitto: Mosquitto = {
    port,
    password,
    tls: tls && { port: tls.port, caFile: tls.caFile, keyFile: tls.keyFile },
    stop: async (signal = 'SIGTERM') => {
      daemon?.kill(signal);
      await daemon?.ended;
    },
    start: async () => {
      const started = await startDaemon('mosquitto', ['-c', config], { logFile: join(folder, 'mosquitto.log') });
      daemon = started;
      await mosquittoAnswers(started, tls === null ? [port] : [port, tls.port]);
    },
    pid: () => daemon?.pid ?? 0,
    loseData: async () => {
      for (const file of [logins, sessions]) if (existsSync(file)) await rename(file, `${file}.lost`);
      await initialise();
    },
    restoreData: async () => {
      for (const file of [logins, sessions]) if (existsSync(`${file}.lost`)) await rename(`${file}.lost`, file);
    },
    // Also one that a test has stopped with SIGSTOP.
    [Symbol.asyncDispose]: async () => daemon?.stop(),
  };
  workspace.own(mosquitto);
  await mosquitto.start();
  return mosquitto;
}

/** The shipped configuration, with the places of this machine. */
export async function shippedSettings(places: { port: number; logins: string; folder: string }): Promise<string> {
  const replaced = {
    listener: `${places.port} 127.0.0.1`,
    plugin,
    plugin_opt_config_file: places.logins,
    persistence_location: `${places.folder}/`,
  };
  let text = await readFile(shipped, 'utf8');
  for (const [name, value] of Object.entries(replaced)) {
    const line = new RegExp(`^${name} .*$`, 'm');
    if (!line.test(text)) throw new Error(`${shipped} does not set ${name}`);
    text = text.replace(line, `${name} ${value}`);
  }
  return text;
}

/** A self-signed certificate for 127.0.0.1. */
async function makeTls(folder: string): Promise<{ port: number; caFile: string; keyFile: string; settings: string[] }> {
  await needPackages(['openssl']);
  const caFile = join(folder, 'certificate.pem');
  const keyFile = join(folder, 'key.pem');
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const subject = ['-subj', '/CN=Test broker', '-addext', 'subjectAltName=IP:127.0.0.1'];
  await run('openssl', [...request, ...subject, '-keyout', keyFile, '-out', caFile]);
  const port = await findFreePort();
  return {
    port,
    caFile,
    keyFile,
    settings: [`listener ${port} 127.0.0.1`, `certfile ${caFile}`, `keyfile ${keyFile}`],
  };
}
