// ioBroker with its adapter for Zigbee2MQTT sees and switches a lamp of the station.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { findFreePort } from '@station/kit/free-port';
import { installPackages } from '../../rig/npm-packages.ts';
import { type Daemon, run, startDaemon, systemEnv, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { type HomeWithLamp, openHomeWithLamp } from './home-with-lamp.ts';

const versions = { 'iobroker.js-controller': '7.2.3', 'iobroker.zigbee2mqtt': '3.2.9' };
/** The release that the controller asks for is not on npm. */
const overrides = { '@iobroker/plugin-sentry': '3.2.1' };

type Settings = Record<string, unknown> & {
  objects: object;
  states: object;
  log: { transport: object };
  system: object;
};

/** An ioBroker of its own folder and ports, and its adapter, which is started by itself, as its developers do. */
async function startIoBroker(workspace: Workspace, { mqttUrl, login }: HomeWithLamp) {
  const packages = join(await installPackages(versions, { overrides }), 'node_modules');
  const folder = await workspace.subfolder('iobroker');
  const controller = join(packages, 'iobroker.js-controller');
  const settings = JSON.parse(await readFile(join(controller, 'conf/iobroker-dist.json'), 'utf8')) as Settings;
  const file = { type: 'file', enabled: true, filename: join(folder, 'log/iobroker') };
  const own = {
    ...settings,
    system: { ...settings.system, hostname: 'home' },
    objects: { ...settings.objects, port: await findFreePort() },
    states: { ...settings.states, port: await findFreePort() },
    log: { ...settings.log, transport: { file1: file } },
  };
  await writeFile(join(folder, 'iobroker.json'), JSON.stringify(own));
  // It would give Node rights that its file keeps.
  const env = { ...systemEnv, HOME: folder, IOBROKER_DATA_DIR: folder, IOB_NO_SETCAP: 'true' };
  const command = (...words: string[]): Promise<string> =>
    run(process.execPath, [join(controller, 'iobroker.js'), ...words], { cwd: folder, env });
  await command('setup', 'first');
  await command('object', 'set', 'system.config', 'common.diag=none');
  await command('add', 'zigbee2mqtt', '0');
  const connection = {
    connectionType: 'exmqtt',
    externalMqttServerIP: '127.0.0.1',
    externalMqttServerPort: new URL(mqttUrl).port,
    externalMqttServerCredentials: 'true',
    externalMqttServerUsername: login.username,
  };
  await command('set', 'zigbee2mqtt.0', ...Object.entries(connection).flatMap(([key, value]) => [`--${key}`, value]));
  // This one it encrypts, when it is set as part of the object.
  const password = `native.externalMqttServerPassword=${JSON.stringify(login.password)}`;
  await command('object', 'set', 'system.adapter.zigbee2mqtt.0', password);
  const start = async (name: string, script: string, words: readonly string[]): Promise<Daemon> => {
    const options = { logFile: join(folder, `${name}.log`), cwd: folder, env };
    return workspace.own(await startDaemon(process.execPath, [join(packages, script), ...words], options));
  };
  await start('controller', 'iobroker.js-controller/controller.js', []);
  await waitFor('ioBroker', async () => (await command('status')).includes('iobroker is running'), 120_000);
  const adapter = await start('adapter', 'iobroker.zigbee2mqtt/main.js', ['--instance', '0', '--force', '--logs']);
  return { command, adapter };
}

test('ioBroker sees and switches a lamp', async () => {
  await using home = await openHomeWithLamp('Mosquitto and SQLite');
  await using workspace = await createWorkspace();
  const { command, adapter } = await startIoBroker(workspace, home);
  const { entry, actions } = home;
  const state = `zigbee2mqtt.0.${entry.ieee_address}.state`;
  const shown = async (): Promise<string> => (await command('state', 'getValue', state)).trim();
  try {
    await waitFor('ioBroker to see that it is off', async () => (await shown()) === 'false', 120_000);
    await command('state', 'set', state, 'true');
    await waitFor('ioBroker to switch the lamp', () => actions.includes('turn_on'), 120_000);
    const told = async (): Promise<string> => await command('state', 'get', state);
    // Until the station says so, it is what was asked for (`ack`).
    await waitFor('ioBroker to see that it is on', async () => /"ack":\s*true/.test(await told()), 120_000);
  } catch (error) {
    throw new Error(await adapter.logTail(), { cause: error });
  }
});
