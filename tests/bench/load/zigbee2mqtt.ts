import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { WebSocketServer } from 'ws';
import { run } from '../../rig/program.ts';

const name = 'zigbee2mqtt-windfront';
const version = '2.15.0';
const cache = join(import.meta.dirname, '../../../node_modules/.cache/station');
const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

/** The files of Zigbee2MQTT's frontend from npm, kept in a cache for the next run. */
async function fetchFrontend(): Promise<string> {
  const folder = join(cache, `${name}-${version}`);
  const files = join(folder, 'package/dist');
  if (existsSync(files)) return files;
  await rm(`${folder}.new`, { recursive: true, force: true });
  await mkdir(`${folder}.new`, { recursive: true });
  await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: `${folder}.new` });
  await run('tar', ['xzf', `${name}-${version}.tgz`], { cwd: `${folder}.new` });
  await rename(`${folder}.new`, folder);
  return files;
}

const addressOf = (index: number): string => `0x${(0x00124b0000000000 + index).toString(16).padStart(16, '0')}`;
const nameOf = (index: number): string => `Zone ${Math.floor(index / 20) + 1} device ${index + 1}`;
const kindOf = (index: number): 'light' | 'climate' | 'motion' => (['light', 'climate', 'motion'] as const)[index % 3]!;

const numeric = (property: string, unit: string, access = 1): object => ({
  type: 'numeric',
  name: property,
  label: property,
  property,
  unit,
  access,
});
const onOff = { type: 'binary', name: 'state', label: 'State', property: 'state', access: 7 };
const exposes = {
  light: [
    {
      type: 'light',
      features: [
        { ...onOff, value_on: 'ON', value_off: 'OFF', value_toggle: 'TOGGLE' },
        { ...numeric('brightness', '', 7), value_min: 0, value_max: 254 },
      ],
    },
  ],
  climate: [numeric('temperature', '°C'), numeric('humidity', '%'), numeric('battery', '%')],
  motion: [
    {
      ...onOff,
      name: 'occupancy',
      label: 'Occupancy',
      property: 'occupancy',
      access: 1,
      value_on: true,
      value_off: false,
    },
    numeric('battery', '%'),
  ],
};

function deviceOf(index: number): object {
  const kind = kindOf(index);
  const definition = { source: 'native', model: kind, vendor: 'Bench', description: kind, supports_ota: false };
  return {
    ieee_address: addressOf(index),
    network_address: 1000 + index,
    friendly_name: nameOf(index),
    type: kind === 'light' ? 'Router' : 'EndDevice',
    power_source: kind === 'light' ? 'Mains (single phase)' : 'Battery',
    supported: true,
    disabled: false,
    interview_state: 'SUCCESSFUL',
    manufacturer: 'Bench',
    model_id: kind,
    definition: { ...definition, exposes: exposes[kind], options: [] },
    endpoints: { 1: { bindings: [], configured_reportings: [], scenes: [], clusters: { input: [], output: [] } } },
  };
}

const stateOf = (index: number, turn: number): object => {
  const common = { linkquality: 100 + (turn % 50), last_seen: new Date().toISOString() };
  const kind = kindOf(index);
  if (kind === 'light') return { ...common, state: turn % 2 === 0 ? 'ON' : 'OFF', brightness: turn % 255 };
  if (kind === 'motion') return { ...common, occupancy: turn % 2 === 0, battery: 80 };
  return { ...common, temperature: 20 + (turn % 50) / 10, humidity: 40 + (turn % 20), battery: 80 };
};

const info = {
  version: '2.15.0',
  commit: '0',
  restart_required: false,
  permit_join: false,
  permit_join_end: null,
  log_level: 'info',
  network: { channel: 15, pan_id: 1, extended_pan_id: '0x0' },
  os: {},
  mqtt: { server: '', version: 5 },
  coordinator: { type: 'bench', ieee_address: addressOf(10_000), meta: {} },
  config_schema: { type: 'object', properties: {} },
  device_options: {},
  config: {
    advanced: { last_seen: 'ISO_8601', log_level: 'info' },
    availability: { enabled: true },
    devices: {},
    groups: {},
    frontend: { enabled: true, base_url: '/' },
    homeassistant: { enabled: false },
    mqtt: { base_topic: 'zigbee2mqtt' },
    serial: {},
    ota: {},
    blocklist: [],
    passlist: [],
    map_options: {},
    device_options: {},
    version: 4,
  },
};

export type Zigbee2Mqtt = AsyncDisposable & { url: string };

/**
 * Zigbee2MQTT's own frontend, and in place of its server the messages that it sends: devices, their availability and their states.
 * Format: zigbee2mqtt.io/guide/usage/mqtt_topics_and_messages.html; over the WebSocket without the base topic.
 * @param perSecond states reported a second, of one device after the other
 */
export async function startZigbee2Mqtt(options: { deviceCount: number; perSecond: number }): Promise<Zigbee2Mqtt> {
  const { deviceCount, perSecond } = options;
  const folder = await fetchFrontend();
  const files = new Set(await readdir(folder, { recursive: true }));
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname.slice(1) || 'index.html';
    if (!files.has(path)) {
      response.writeHead(404).end();
      return;
    }
    const isPacked = files.has(`${path}.br`);
    response.setHeader('content-type', types[extname(path)] ?? 'application/octet-stream');
    if (isPacked) response.setHeader('content-encoding', 'br');
    readFile(join(folder, isPacked ? `${path}.br` : path)).then(
      (content) => response.end(content),
      () => response.writeHead(500).end(),
    );
  });
  const sockets = new WebSocketServer({ server });
  const indices = Array.from({ length: deviceCount }, (_, index) => index);
  const message = (topic: string, payload: unknown): string => JSON.stringify({ topic, payload });
  sockets.on('connection', (socket) => {
    const say = (topic: string, payload: unknown): void => socket.send(message(topic, payload));
    say('bridge/state', { state: 'online' });
    say('bridge/info', info);
    say('bridge/devices', indices.map(deviceOf));
    say('bridge/groups', []);
    say('bridge/definitions', { clusters: {}, custom_clusters: {}, actions: [] });
    say('bridge/extensions', []);
    for (const index of indices) say(`${nameOf(index)}/availability`, { state: 'online' });
    for (const index of indices) say(nameOf(index), stateOf(index, 0));
  });
  let turn = 0;
  const talking = setInterval(() => {
    turn += 1;
    const index = turn % deviceCount;
    // Not the same again in the next round.
    const state = stateOf(index, turn + Math.floor(turn / deviceCount));
    for (const socket of sockets.clients) socket.send(message(nameOf(index), state));
  }, 1_000 / perSecond);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      clearInterval(talking);
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
