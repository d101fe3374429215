// Systems at a real Mosquitto whose logins a person makes, with the backend as a program of its own (ADR 82).
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { GatewayLoginSheet, HeardSystem } from '@station/protocol/gateways';
import { announcement, colourLamp } from '@station/backend/testing/gateways/announcements';
import { startTasmota } from '@station/backend/testing/simulated-tasmota';
import { startZigbee2Mqtt } from '@station/backend/testing/simulated-zigbee2mqtt';
import { findFreePort } from '@station/kit/free-port';
import { needPackages } from '../../rig/debian.ts';
import { mosquittoAnswers } from '../../rig/mosquitto.ts';
import { run, startDaemon, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { install } from '../backend/installation.ts';
import { call, find } from './gateway-station.ts';

const passwords = { station: 'password of the station', house: 'password of the house' };

/** Without the plugin that lets the station make logins: a person wrote both into a file. */
async function startOwnMosquitto(workspace: Workspace) {
  await needPackages(['mosquitto']);
  const folder = await workspace.subfolder('mosquitto');
  const port = await findFreePort();
  const config = join(folder, 'mosquitto.conf');
  const logFile = join(folder, 'log');
  const logins = join(folder, 'logins');
  const lines = Object.entries(passwords).map((login) => `${login.join(':')}\n`);
  await writeFile(logins, lines.join(''), { mode: 0o600 });
  await run('mosquitto_passwd', ['-U', logins]);
  const settings = [`listener ${port} 127.0.0.1`, 'allow_anonymous false', `password_file ${logins}`, 'user root'];
  await writeFile(config, `${settings.join('\n')}\n`);
  const started = workspace.own(await startDaemon('mosquitto', ['-c', config], { logFile }));
  await mosquittoAnswers(started, [port]);
  return { url: `mqtt://127.0.0.1:${port}`, log: () => readFile(logFile, 'utf8') };
}

test('at a broker whose logins another system makes, who is online is suggested, and connected with one more step', async () => {
  await using workspace = await createWorkspace();
  const { url, log } = await startOwnMosquitto(workspace);
  const house = { username: 'house', password: passwords.house };
  const entry = {
    ...announcement({ definition: colourLamp }),
    ieee_address: '0x00158d0000000001',
    friendly_name: 'Lamp',
  };
  await using bridge = await startZigbee2Mqtt(url, house, [{ entry, state: { state: 'OFF', brightness: 0 } }]);
  await using _plug = await startTasmota(url, house);
  // It was here once, and the broker kept its last will.
  const gone = await connectAsync(url, house);
  await gone.publishAsync('attic/bridge/state', '{"state":"offline"}', { qos: 1, retain: true });
  await gone.endAsync();

  const env = { MQTT_URL: url, MQTT_USERNAME: 'station', MQTT_PASSWORD: passwords.station };
  await using station = await install('the embedded broker and SQLite', { devices: 1, env });
  await station.startBackend();
  const heard = () => call<HeardSystem[]>(station, 'GET', '/api/gateways/heard');
  const count = async (pattern: RegExp) => [...(await log()).matchAll(pattern)].length;
  const listening = () => count(/connected from \S+ as station-\S+-listening-/g);
  const ended = () => count(/Client station-\S+-listening-\S+ (?:disconnected|closed its connection)/g);
  assert.equal(await listening(), 0, 'it looks only while a person does');
  const found = await waitFor('both systems', async () => {
    const systems = await heard();
    return systems.length < 2 ? null : systems;
  });
  assert.deepEqual(
    found.map(({ seenAt: _seenAt, ...rest }) => rest),
    [
      { dialect: 'tasmota', baseTopic: 'tasmota', topic: 'tele/tasmota_49A3BC/LWT', how: 'published' },
      { dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt', topic: 'zigbee2mqtt/bridge/state', how: 'published' },
    ],
  );
  assert.ok((await listening()) > 0);
  await waitFor('it to stop listening', async () => (await ended()) === (await listening()));

  const given = { name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' };
  const { isLoginMade } = await call<GatewayLoginSheet>(station, 'POST', '/api/gateways', given);
  assert.equal(isLoginMade, false);
  assert.deepEqual(
    (await heard()).map(({ dialect }) => dialect),
    ['tasmota'],
  );
  // With the login that it has already.
  await waitFor('its lamp', async () => (await find(station, 'Lamp'))?.status === 'online');
  const lamp = await find(station, 'Lamp');
  await call(station, 'POST', `/api/devices/${lamp?.id}/command`, { action: 'turn_on' });
  await waitFor('the lamp to be on', async () => (await find(station, 'Lamp'))?.state['on'] === true);
  assert.deepEqual(bridge.commands, [{ name: 'Lamp', payload: { state: 'ON' } }]);
  assert.deepEqual(await station.logged('unexpected_error'), []);
});
