// Node-RED with its nodes for Zigbee2MQTT sees and switches a lamp of the station.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { findFreePort } from '@station/kit/free-port';
import { installPackages } from '../../rig/npm-packages.ts';
import { startDaemon, waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { openHomeWithLamp } from './home-with-lamp.ts';

const versions = { 'node-red': '5.0.7', 'node-red-contrib-zigbee2mqtt': '0.6.13' };
/** As its editor exports it: each state of the lamp goes to a file, and every second the lamp is told what a second file says. */
function flowOf(server: object, lamp: { device_id: string; friendly_name: string }, out: string): object[] {
  const place = { z: 'tab', x: 100, y: 100 };
  return [
    { id: 'tab', type: 'tab', label: 'Lamp' },
    { id: 'the-server', type: 'zigbee2mqtt-server', name: '', ...server },
    {
      ...place,
      ...lamp,
      id: 'the-state',
      type: 'zigbee2mqtt-in',
      server: 'the-server',
      state: '0',
      outputAtStartup: true,
      wires: [['the-text']],
    },
    {
      ...place,
      id: 'the-text',
      type: 'function',
      outputs: 1,
      func: 'return { payload: JSON.stringify(msg.payload_raw ?? msg.payload) };',
      wires: [['the-file']],
    },
    {
      ...place,
      id: 'the-file',
      type: 'file',
      filename: out,
      filenameType: 'str',
      appendNewline: true,
      createDir: false,
      overwriteFile: 'false',
      encoding: 'none',
      wires: [[]],
    },
    {
      ...place,
      id: 'the-button',
      type: 'inject',
      props: [{ p: 'payload' }],
      repeat: '1',
      once: true,
      onceDelay: '1',
      payload: 'on',
      payloadType: 'str',
      wires: [['the-lamp']],
    },
    {
      ...place,
      ...lamp,
      id: 'the-lamp',
      type: 'zigbee2mqtt-out',
      server: 'the-server',
      command: 'state',
      commandType: 'z2m_cmd',
      payload: 'payload',
      payloadType: 'msg',
      transition: '',
      wires: [],
    },
  ];
}

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`Node-RED sees and switches a lamp, with ${kind}`, async () => {
    const packages = await installPackages(versions);
    await using home = await openHomeWithLamp(kind);
    const { mqttUrl, login, entry, actions } = home;
    await using workspace = await createWorkspace();
    const folder = await workspace.subfolder('node-red');
    const out = join(folder, 'states.txt');
    const server = {
      host: '127.0.0.1',
      mqtt_port: new URL(mqttUrl).port,
      mqtt_username: login.username,
      mqtt_password: login.password,
      base_topic: 'zigbee2mqtt',
      usetls: false,
    };
    const lamp = { device_id: entry.ieee_address, friendly_name: entry.friendly_name };
    const settings = {
      flowFile: 'flows.json',
      userDir: folder,
      nodesDir: join(packages, 'node_modules/node-red-contrib-zigbee2mqtt'),
      uiPort: await findFreePort(),
      uiHost: '127.0.0.1',
      credentialSecret: false,
    };
    await writeFile(join(folder, 'settings.js'), `module.exports = ${JSON.stringify(settings)}`);
    await writeFile(join(folder, 'flows.json'), JSON.stringify(flowOf(server, lamp, out)));
    const script = join(packages, 'node_modules/node-red/red.js');
    const nodeRed = workspace.own(
      await startDaemon(process.execPath, [script, '--settings', join(folder, 'settings.js')], {
        logFile: join(folder, 'log'),
        cwd: folder,
        env: { HOME: folder },
      }),
    );
    try {
      await waitFor('Node-RED to switch the lamp', () => actions.includes('turn_on'), 120_000);
      await waitFor('Node-RED to see that it is on', async () => (await readFile(out, 'utf8')).includes('ON'), 120_000);
    } catch (error) {
      throw new Error(await nodeRed.logTail(), { cause: error });
    }
  });
}
