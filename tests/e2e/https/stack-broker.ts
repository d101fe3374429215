import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '@station/kit/free-port';
import { needPackages } from '../../rig/debian.ts';
import { mosquittoAnswers, shippedSettings } from '../../rig/mosquitto.ts';
import { startDaemon, systemEnv, type Daemon } from '../../rig/program.ts';
import type { Workspace } from '../../rig/workspace.ts';

/** Mosquitto as the stack starts it (`deploy/mosquitto/start.sh`), with the certificate of the agent. */
export type StackBroker = {
  /** For devices: plain, and with TLS. */
  port: number;
  tlsPort: number;
  /** For the backend alone. */
  innerPort: number;
  password: string;
  /** @param env more variables, such as MQTT_PLAIN. */
  start(env?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
};

/** Does not run before `start`. @param certificates the folder in which the agent keeps `station.pem` for the broker. */
export async function createStackBroker(workspace: Workspace, certificates: string): Promise<StackBroker> {
  await needPackages(['mosquitto']);
  const home = await workspace.subfolder('stack-broker');
  const script = join(import.meta.dirname, '../../../deploy/mosquitto/start.sh');
  const data = join(home, 'data');
  for (const folder of [data, join(home, 'config')]) await mkdir(folder);
  await symlink(certificates, join(home, 'tls'));
  const port = await findFreePort();
  const tlsPort = await findFreePort();
  const innerPort = await findFreePort();
  const settings = await shippedSettings({ port, logins: join(data, 'dynamic-security.json'), folder: data });
  await writeFile(join(home, 'config/mosquitto.conf'), `${settings}\nuser root\n`);
  const password = 'the-password-of-the-backend';
  let running: Daemon | null = null;
  return {
    port,
    tlsPort,
    innerPort,
    password,
    start: async (more = {}) => {
      const env = {
        ...systemEnv,
        MOSQUITTO_HOME: home,
        MOSQUITTO_CONFIG: join(home, 'started.conf'),
        MQTT_PASSWORD: password,
        MQTT_INNER_PORT: String(innerPort),
        MQTT_TLS_INNER_PORT: String(tlsPort),
        ...more,
      };
      const started = workspace.own(await startDaemon('sh', [script], { logFile: join(home, 'log'), env }));
      running = started;
      await mosquittoAnswers(started, [tlsPort, innerPort]);
    },
    stop: async () => {
      running?.kill('SIGTERM');
      await running?.ended;
    },
  };
}
