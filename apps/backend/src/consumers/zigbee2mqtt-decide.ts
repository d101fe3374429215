import { parseJson } from '@station/kit/json';
import type { State } from '../core/device-state.ts';
import { type Call, entitiesOf, inWords } from './entities-decide.ts';
import type { Ask, ConsumerDialect, House, Kept, SharedDevice } from './picture.ts';
import { topicNames } from './topic-names-decide.ts';
import { expose, type Feature, type Property } from './zigbee2mqtt-exposes-decide.ts';

/**
 * The station's devices in Zigbee2MQTT's dialect (zigbee2mqtt.io, "MQTT Topics and Messages" and "Exposes"), for the programs that read it. The station
 * is the bridge, and serves none of its requests.
 */

/** What a broker of the stack takes, without topic and header. */
const mostListBytes = 256 * 1024;
/** Of one message. */
const mostAsks = 8;
/** The list of releases before 1.17, which some programs still ask for. */
const oldList = 'bridge/config/devices';

export const zigbee2mqtt: ConsumerDialect = {
  rights: (base) => ({
    mayPublish: [`${base}/+/set/#`, `${base}/+/get/#`, `${base}/bridge/request/#`, `${base}/${oldList}/get`],
    mayRead: [`${base}/#`],
  }),
  presence: (base) => ({ topic: `${base}/bridge/state`, online: '{"state":"online"}', offline: '{"state":"offline"}' }),
  draw: (house, base) => {
    const { list, devices, listed } = drawDevices(house);
    const byName = new Map([...devices].map(([id, { name }]) => [name, id]));
    return {
      fixed: (): Kept[] => [
        { topic: `${base}/bridge/info`, payload: JSON.stringify(infoOf(house, base)) },
        { topic: `${base}/bridge/groups`, payload: '[]' },
        { topic: `${base}/bridge/devices`, payload: list },
      ],
      state: (id, state) => {
        const device = devices.get(id);
        return device === undefined
          ? null
          : { topic: `${base}/${device.name}`, payload: JSON.stringify(valuesOf(device, state)) };
      },
      status: (id, isOnline) => {
        const device = devices.get(id);
        const payload = JSON.stringify({ state: isOnline ? 'online' : 'offline' });
        return device === undefined ? null : { topic: `${base}/${device.name}/availability`, payload };
      },
      event: (id, action, state) => {
        const device = devices.get(id);
        if (device?.actions.includes(action) !== true) return null;
        return { topic: `${base}/${device.name}`, payload: JSON.stringify({ ...valuesOf(device, state), action }) };
      },
      read: (topic, payload): Ask[] | null => {
        if (!topic.startsWith(`${base}/`)) return null;
        const [name = '', verb, ...rest] = topic.slice(base.length + 1).split('/');
        if (topic === `${base}/${oldList}/get`)
          return [{ kind: 'answer', topic: `${base}/${oldList}`, payload: JSON.stringify(listed) }];
        if (name === 'bridge') return verb === 'request' ? [refusal(base, rest.join('/'), payload)] : null;
        const deviceId = byName.get(name);
        const device = deviceId === undefined ? undefined : devices.get(deviceId);
        if (deviceId === undefined || device === undefined) return null;
        if (verb === 'get') return [{ kind: 'state', deviceId }];
        const calls = verb === 'set' ? callsOf(device, rest, payload) : [];
        return calls.length === 0 ? null : calls.map((call) => ({ kind: 'command', deviceId, ...call }));
      },
      devices: devices.size,
      leftOut: house.devices.length - devices.size,
    };
  },
};

type Drawn = { name: string; actions: readonly string[]; properties: readonly Property[] };
const describing = { manufacturer: 'Station' } as const;

/** The list, and the devices that fit into it: the broker takes no longer one. */
function drawDevices(house: House): { list: string; devices: Map<string, Drawn>; listed: Feature[] } {
  const offered = house.devices.filter(({ dialect, type }) => dialect !== 'zigbee2mqtt' && type !== undefined);
  const names = topicNames(offered);
  const devices = new Map<string, Drawn>();
  const entries = [JSON.stringify(coordinatorOf(house))];
  let bytes = 2 + byteLength(entries[0] ?? '');
  for (const device of offered) {
    const name = names.get(device.id) ?? device.id;
    const { entry, drawn } = draw(device, name);
    const text = JSON.stringify(entry);
    if (bytes + byteLength(text) + 1 > mostListBytes) continue;
    bytes += byteLength(text) + 1;
    entries.push(text);
    devices.set(device.id, drawn);
  }
  const listed = offered.flatMap((device) => {
    const drawn = devices.get(device.id);
    return drawn === undefined ? [] : [oldEntryOf(device, drawn.name)];
  });
  return { list: `[${entries.join(',')}]`, devices, listed };
}

/** As releases before 1.17 say it. */
const oldEntryOf = ({ id, typeName }: SharedDevice, name: string): Feature => ({
  ieeeAddr: addressOf(id),
  type: 'Router',
  friendly_name: name,
  model: typeName,
  vendor: describing.manufacturer,
});

const byteLength = (text: string): number => new TextEncoder().encode(text).length;

/** A device has no address of Zigbee: one that comes of its id (FNV-1a, 64 bits), so that it stays. */
function addressOf(id: string): string {
  let sum = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(id)) sum = BigInt.asUintN(64, (sum ^ BigInt(byte)) * 0x100000001b3n);
  return `0x${sum.toString(16).padStart(16, '0')}`;
}

const coordinatorOf = ({ stationId }: House): Feature => ({
  ieee_address: addressOf(stationId),
  type: 'Coordinator',
  network_address: 0,
  supported: true,
  disabled: false,
  friendly_name: 'Coordinator',
  endpoints: {},
  definition: null,
  interview_completed: true,
  interviewing: false,
  interview_state: 'SUCCESSFUL',
});

const infoOf = ({ stationId, version }: House, base: string): Feature => ({
  version,
  commit: 'station',
  coordinator: { ieee_address: addressOf(stationId), type: 'station', meta: {} },
  network: { channel: 0, pan_id: 0, extended_pan_id: '0x0000000000000000' },
  permit_join: false,
  restart_required: false,
  log_level: 'info',
  // Programs look here whether states are JSON and availability is, too.
  config: {
    mqtt: { base_topic: base },
    availability: { enabled: true },
    advanced: { output: 'json', legacy_api: false, legacy_availability_payload: false },
    device_options: { legacy: false },
    devices: {},
    groups: {},
  },
});

function draw(device: SharedDevice, name: string): { entry: Feature; drawn: Drawn } {
  const { id, type, typeName, firmwareVersion } = device;
  const entities = type === undefined ? [] : entitiesOf(type);
  const used = new Set<string>();
  const exposed = entities.map((entity) => expose(entity, used));
  const model = type?.names?.['en'] ?? typeName;
  const entry = {
    ieee_address: addressOf(id),
    type: 'Router',
    network_address: Number(BigInt(addressOf(id)) & 0xffffn),
    supported: true,
    disabled: false,
    friendly_name: name,
    description: device.name,
    endpoints: {},
    definition: {
      model: typeName,
      vendor: describing.manufacturer,
      description: model,
      exposes: exposed.map((one) => one.expose),
      options: [],
      supports_ota: false,
    },
    power_source: 'Unknown',
    model_id: typeName,
    ...describing,
    ...(firmwareVersion !== null && { software_build_id: firmwareVersion }),
    interview_completed: true,
    interviewing: false,
    interview_state: 'SUCCESSFUL',
  };
  const actions = entities.flatMap((entity) => (entity.kind === 'event' ? entity.actions : []));
  return { entry, drawn: { name, actions, properties: exposed.flatMap(({ properties }) => properties) } };
}

/** Only what is known. */
function valuesOf({ properties }: Drawn, state: State): Record<string, unknown> {
  const values = properties.flatMap(({ property, read }): [string, unknown][] => {
    const value = read(state);
    return value === null ? [] : [[property, value]];
  });
  return Object.fromEntries(values);
}

/** `<name>/set` with JSON or a bare state, `<name>/set/<property>` with a bare value. */
function callsOf({ properties }: Drawn, [attribute, ...more]: readonly string[], payload: string): Call[] {
  if (more.length > 0) return [];
  const parsed = parseJson(payload);
  const value = parsed === undefined || parsed === null ? payload : parsed;
  const isRecord = typeof value === 'object' && !Array.isArray(value);
  const asked: [string, unknown][] =
    attribute !== undefined ? [[attribute, value]] : isRecord ? Object.entries(value) : [['state', value]];
  return asked.slice(0, mostAsks).flatMap(([name, one]) => {
    const found = properties.find(({ property }) => property === name);
    return found?.write?.(one) ?? [];
  });
}

const longestRequest = 100;

function refusal(base: string, request: string, payload: string): Ask {
  const given = parseJson(payload);
  const transaction =
    typeof given === 'object' && given !== null && 'transaction' in given ? given.transaction : undefined;
  const isGood = typeof transaction === 'string' || typeof transaction === 'number';
  const answer = {
    data: {},
    status: 'error',
    error: `The station does not serve "${inWords(request).slice(0, longestRequest)}".`,
    ...(isGood && { transaction }),
  };
  return {
    kind: 'answer',
    topic: `${base}/bridge/response/${request.slice(0, longestRequest)}`,
    payload: JSON.stringify(answer),
  };
}
