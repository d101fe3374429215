import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { needPackages } from './debian.ts';
import { freePort } from './ports.ts';
import { run, startDaemon, waitFor, type Daemon } from './program.ts';
import type { Workspace } from './workspace.ts';

export type Mosquitto = AsyncDisposable & {
  port: number;
  /** Login of its administrator, as the station's stack makes it: `backend`. */
  password: string;
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
};

const plugin = '/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so';
const password = 'the-password-of-the-backend';

/** Starts Mosquitto on a free loopback port with the dynamic-security plugin, which knows nobody but `backend`; its sessions survive a restart. */
export async function createMosquitto(workspace: Workspace): Promise<Mosquitto> {
  await needPackages(['mosquitto']);
  const folder = await workspace.subfolder('mosquitto');
  const [logins, config] = [join(folder, 'logins.json'), join(folder, 'mosquitto.conf')];
  const port = await freePort();
  await run('mosquitto_ctrl', ['dynsec', 'init', logins, 'backend'], { input: `${password}\n${password}\n` });
  const settings = [
    'user root',
    `listener ${port} 127.0.0.1`,
    'allow_anonymous false',
    `plugin ${plugin}`,
    `plugin_opt_config_file ${logins}`,
    'persistence true',
    `persistence_location ${folder}/`,
    'max_inflight_messages 5000',
    'max_queued_messages 100000',
  ];
  await writeFile(config, `${settings.join('\n')}\n`);
  let daemon: Daemon | undefined;
  const mosquitto: Mosquitto = {
    port,
    password,
    stop: async (signal = 'SIGTERM') => {
      daemon?.kill(signal);
      await daemon?.ended;
    },
    start: async () => {
      const started = await startDaemon('mosquitto', ['-c', config], { logFile: join(folder, 'mosquitto.log') });
      daemon = started;
      await waitFor('Mosquitto to answer', async () => {
        if (!started.running()) throw new Error(`mosquitto ended: ${await started.logTail()}`);
        const socket = connect(port, '127.0.0.1');
        await once(socket, 'connect');
        socket.destroy();
        return true;
      });
    },
    [Symbol.asyncDispose]: async () => {
      if (daemon?.running()) await mosquitto.stop();
    },
  };
  workspace.own(mosquitto);
  await mosquitto.start();
  return mosquitto;
}
