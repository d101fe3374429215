import { entitiesOf } from './entities-decide.ts';
import { type Part, partOf, root, slotOf, valuesOf } from './home-assistant-components-decide.ts';
import type { Ask, ConsumerDialect, House, Kept, SharedDevice } from './picture.ts';

/**
 * Home Assistant's MQTT discovery, one message a device (home-assistant.io, "MQTT", sections "Device discovery payload" and "Supported
 * abbreviations in MQTT discovery messages").
 */

const statusTopic = (stationId: string): string => `${root(stationId)}/status`;

export const homeAssistant: ConsumerDialect = {
  rights: (base, stationId) => ({
    mayPublish: [`${base}/status`, `${root(stationId)}/+/set/+`],
    mayRead: [`${base}/#`, `${root(stationId)}/#`],
  }),
  presence: (_base, stationId) => ({ topic: statusTopic(stationId), online: 'online', offline: 'offline' }),
  draw: (house, base) => {
    const { stationId } = house;
    const shared = house.devices.filter(({ dialect }) => dialect !== 'home_assistant');
    const shown = new Map(shared.map((device) => [device.id, showing(house, device)]));
    const at = (id: string, end: string): string => `${root(stationId)}/${id}/${end}`;
    return {
      fixed: (before) =>
        [...shown].map(([id, { device, parts }]) => {
          const topic = `${base}/device/station_${stationId}_${id}/config`;
          return toHomeAssistant(house, { device, parts, topic, before: before(topic) });
        }),
      state: (id, state) => {
        const own = shown.get(id);
        return own === undefined
          ? null
          : { topic: at(id, 'state'), payload: JSON.stringify(valuesOf(own.parts, state)) };
      },
      status: (id, isOnline) =>
        shown.has(id) ? { topic: at(id, 'availability'), payload: isOnline ? 'online' : 'offline' } : null,
      event: (id, action) => {
        const parts = shown.get(id)?.parts ?? [];
        const isKnown = parts.some(({ entity }) => entity.kind === 'event' && entity.actions.includes(action));
        return isKnown ? { topic: at(id, 'event'), payload: JSON.stringify({ event_type: action }) } : null;
      },
      read: (topic, payload): Ask[] | null => {
        if (topic === `${base}/status`) return payload === 'online' ? [{ kind: 'everything' }] : [];
        if (!topic.startsWith(`${root(stationId)}/`)) return null;
        const [deviceId = '', verb, slot = '', ...more] = topic.slice(root(stationId).length + 1).split('/');
        if (verb !== 'set' || more.length > 0) return null;
        const writers = shown.get(deviceId)?.parts.flatMap((part) => part.slots) ?? [];
        const call = writers.find((one) => one.slot === slot)?.write(payload) ?? null;
        return call === null ? null : [{ kind: 'command', deviceId, ...call }];
      },
      devices: shown.size,
      leftOut: house.devices.length - shown.size,
    };
  },
};

type Showing = { device: SharedDevice; parts: readonly Part[] };

function showing({ stationId }: House, device: SharedDevice): Showing {
  const { type, id } = device;
  const entities = type === undefined ? [] : entitiesOf(type);
  const commandTopic = (key: string): string => `${root(stationId)}/${id}/set/${slotOf(key)}`;
  const primary = type?.primary?.capability ?? null;
  const parts = entities.flatMap((entity) => partOf(entity, { commandTopic, primary, deviceId: id, stationId }) ?? []);
  return { device, parts };
}

type Telling = Showing & { topic: string; before: Readonly<Record<string, string>> };

/** Components that were told once: enough for a type that changes now and then. */
const mostParts = 200;

/** The retained message of a device. A component that is gone stays with its platform alone, which removes it. */
function toHomeAssistant(house: House, { device, parts, topic, before }: Telling): Kept {
  const { stationId, stationName, version } = house;
  const { id, name, typeName, type, zone, firmwareVersion } = device;
  const now = Object.fromEntries(parts.map((part) => [part.id, part.platform]));
  const gone = Object.entries(before).filter(([part]) => !Object.hasOwn(now, part));
  const components = parts.map((part) => [part.id, part.config] as const);
  const payload = {
    device: {
      identifiers: [`station_${id}`],
      name,
      manufacturer: stationName,
      model: type?.names?.['en'] ?? typeName,
      ...(firmwareVersion !== null && { sw_version: firmwareVersion }),
      ...(zone !== null && { suggested_area: zone }),
    },
    origin: { name: 'Station', sw_version: version },
    availability: [{ topic: statusTopic(stationId) }, { topic: `${root(stationId)}/${id}/availability` }],
    availability_mode: 'all',
    state_topic: `${root(stationId)}/${id}/state`,
    qos: 1,
    components: Object.fromEntries([...components, ...gone.map(([part, platform]) => [part, { platform }] as const)]),
  };
  const told = Object.fromEntries([...Object.entries(now), ...gone].slice(0, mostParts));
  return { topic, payload: JSON.stringify(payload), parts: told };
}
