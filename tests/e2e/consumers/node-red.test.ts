// Node-RED with its nodes for Zigbee2MQTT sees and switches a lamp of the station.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import { findFreePort } from '@station/kit/free-port';
import type { ConsumerLoginSheet } from '@station/protocol/consumers';
import { run, startDaemon, waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { install } from '../backend/installation.ts';

const versions = { 'node-red': '5.0.7', 'node-red-contrib-zigbee2mqtt': '0.6.13' };
const cache = join(import.meta.dirname, '../../../node_modules/.cache/station');

/** Kept for the next run. @returns the folder with its packages. */
async function installNodeRed(): Promise<string> {
  const name = Object.entries(versions).map(([one, version]) => `${one}-${version}`);
  const folder = join(cache, `${name.join('-')}-node-${process.versions.node}`);
  if (existsSync(folder)) return folder;
  await rm(`${folder}.new`, { recursive: true, force: true });
  await mkdir(`${folder}.new`, { recursive: true });
  await writeFile(join(`${folder}.new`, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
  await run('npm', ['install', '--no-audit', '--no-fund', '--silent', '--ignore-scripts'], {
    cwd: `${folder}.new`,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` },
  });
  await rename(`${folder}.new`, folder);
  return folder;
}

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
    const packages = await installNodeRed();
    await using station = await install(kind, { devices: 5 });
    await station.startBackend();
    const own = station.logins.find(({ type }) => type === 'light');
    assert.ok(own);
    const answer = await fetch(`${station.url}/api/consumers/zigbee2mqtt`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${await station.logIn()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ topic: 'zigbee2mqtt' }),
    });
    const text = await answer.text();
    assert.equal(answer.status, 201, text);
    const sheet = JSON.parse(text) as ConsumerLoginSheet;
    await using stack = new AsyncDisposableStack();
    const topic = `station/${station.env['STATION_ID']}/device/${own.externalId}`;
    const device = await connectAsync(station.mqttUrl, { username: own.externalId, password: own.token });
    stack.defer(() => device.endAsync(true));
    const actions: unknown[] = [];
    device.on('message', (_topic, payload) => {
      const { action } = JSON.parse(payload.toString('utf8')) as { action: string };
      actions.push(action);
      if (action === 'turn_on') device.publish(`${topic}/state`, '{"state":{"on":true}}', { qos: 1 });
    });
    await device.subscribeAsync(`${topic}/command`, { qos: 1 });
    await device.publishAsync(`${topic}/state`, '{"state":{"on":false,"brightness":40}}', { qos: 1 });

    const login = { username: sheet.login, password: sheet.password };
    const reader = await connectAsync(station.mqttUrl, login);
    let list = '';
    reader.on('message', (_topic, payload) => (list = payload.toString('utf8')));
    await reader.subscribeAsync('zigbee2mqtt/bridge/devices', { qos: 1 });
    await waitFor('the list', () => list !== '');
    await reader.endAsync();
    const entries = JSON.parse(list) as { ieee_address: string; friendly_name: string; description?: string }[];
    const entry = entries.find(({ friendly_name }) => friendly_name === own.name);
    assert.ok(entry, list);

    const workspace = stack.use(await createWorkspace());
    const folder = await workspace.subfolder('node-red');
    const out = join(folder, 'states.txt');
    const server = {
      host: '127.0.0.1',
      mqtt_port: new URL(station.mqttUrl).port,
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
