import type { Capability } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';
import type { State } from '../core/device-state.ts';
import { type Call, coverState, type Entity, entitiesOf, inWords, labelOf, numberFor } from './entities-decide.ts';
import { classOf, isInverted } from './home-assistant-classes.ts';
import type { Ask, ConsumerDialect, House, Kept, SharedDevice } from './picture.ts';

/**
 * Home Assistant's MQTT discovery, one message a device (home-assistant.io, "MQTT", sections "Device discovery payload" and "Supported
 * abbreviations in MQTT discovery messages").
 */

/** Below it are states and commands, so that Home Assistant's own tree has discovery alone. */
const root = (stationId: string): string => `station-out/${stationId}`;
const statusTopic = (stationId: string): string => `${root(stationId)}/status`;

export const homeAssistant: ConsumerDialect = {
  rights: (base, stationId) => ({
    mayPublish: [`${base}/status`, `${root(stationId)}/+/set/+`],
    mayRead: [`${base}/#`, `${root(stationId)}/#`],
  }),
  presence: (_base, stationId) => ({ topic: statusTopic(stationId), online: 'online', offline: 'offline' }),
  draw: (house, base) => {
    const { stationId } = house;
    const shared = house.devices.filter(({ dialect }) => dialect !== 'home-assistant');
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

type Config = Readonly<Record<string, unknown>>;
/** Where a payload becomes a command: the last level of its topic. */
type Slot = { slot: string; write: (payload: string) => Call | null };
/** A component of the discovery message, by an id that no name is part of. */
type Part = { id: string; platform: string; entity: Entity; config: Config; slots: readonly Slot[] };

type Showing = { device: SharedDevice; parts: readonly Part[] };

/** Such a key cannot be part of a template. */
const isPlain = (key: string): boolean => !/['"\\{}%]/.test(key);
const slotOf = (key: string): string => encodeURIComponent(key);
const valueOf = (key: string): string => `{{ value_json['${key}'] }}`;

function showing({ stationId }: House, device: SharedDevice): Showing {
  const { type, id } = device;
  const entities = type === undefined ? [] : entitiesOf(type);
  const commandTopic = (key: string): string => `${root(stationId)}/${id}/set/${slotOf(key)}`;
  const primary = type?.primary?.capability ?? null;
  const parts = entities.flatMap((entity) => partOf(entity, { commandTopic, primary, deviceId: id, stationId }) ?? []);
  return { device, parts };
}

type Place = { commandTopic: (key: string) => string; primary: string | null; deviceId: string; stationId: string };

function partOf(entity: Entity, place: Place): Part | null {
  const key = keyOf(entity);
  if (!isPlain(key)) return null;
  const { config, slots } = bodyOf(entity, place);
  const { platform } = config;
  const id = `${String(platform)}-${slotOf(key)}`;
  const named = 'capability' in entity ? labelOf(entity.capability) : nameOf(entity);
  // Home Assistant then calls it like the device.
  const isMain =
    ['light', 'switch', 'lock', 'cover'].includes(entity.kind) && (place.primary === key || entity.kind === 'cover');
  const name = isMain ? null : named;
  return {
    id,
    platform: String(platform),
    entity,
    config: { ...config, name, unique_id: `station_${place.stationId}_${place.deviceId}_${id}` },
    slots,
  };
}

function keyOf(entity: Entity): string {
  if ('capability' in entity) return entity.capability.key;
  if (entity.kind === 'button') return entity.command.action;
  return entity.kind;
}

const nameOf = (entity: Entity): string =>
  entity.kind === 'button'
    ? labelOf({ key: entity.command.action, names: entity.command.names })
    : inWords(entity.kind);

const oneOf = (texts: Readonly<Record<string, Call | null>>) => (payload: string) => ownValue(texts, payload) ?? null;

function bodyOf(entity: Entity, { commandTopic, deviceId, stationId }: Place): { config: Config; slots: Slot[] } {
  switch (entity.kind) {
    case 'light':
    case 'switch':
    case 'lock': {
      const { capability, switching } = entity;
      const { key } = capability;
      const isLock = entity.kind === 'lock';
      const write = isLock
        ? oneOf({ LOCK: switching.on, UNLOCK: switching.off })
        : oneOf({ ON: switching.on, OFF: switching.off });
      const template = entity.kind === 'light' ? 'state_value_template' : 'value_template';
      const own = { platform: entity.kind, command_topic: commandTopic(key), [template]: valueOf(key) };
      const slots = [{ slot: slotOf(key), write }];
      if (entity.kind !== 'light' || entity.dimmer === null) return { config: own, slots };
      const { capability: level, set } = entity.dimmer;
      const dimmed = {
        brightness_state_topic: `${root(stationId)}/${deviceId}/state`,
        brightness_command_topic: commandTopic(level.key),
        brightness_value_template: valueOf(level.key),
        brightness_scale: level.max ?? 100,
      };
      slots.push({ slot: slotOf(level.key), write: (payload) => numberFor(set, payload) });
      return { config: { ...own, ...dimmed }, slots };
    }
    case 'cover': {
      const { cover, position } = entity;
      const write = oneOf({ OPEN: cover.open, CLOSE: cover.close, STOP: cover.stop });
      const slots: Slot[] = [{ slot: 'cover', write }];
      if (position !== null)
        slots.push({ slot: slotOf(position.capability.key), write: (payload) => numberFor(position.set, payload) });
      const config = {
        platform: 'cover',
        command_topic: commandTopic('cover'),
        ...(cover.stop === null && { payload_stop: null }),
        ...(cover.state !== null && {
          value_template: valueOf(cover.state.key),
          ...coverWords(cover.state),
        }),
        ...(position !== null && {
          position_topic: `${root(stationId)}/${deviceId}/state`,
          position_template: valueOf(position.capability.key),
          set_position_topic: commandTopic(position.capability.key),
        }),
      };
      return { config, slots };
    }
    case 'number':
    case 'select':
    case 'text':
      return settingBody(entity, commandTopic);
    case 'sensor':
    case 'binary_sensor': {
      const { capability } = entity;
      const { kind, unit, values, key } = capability;
      const options = kind === 'enum' ? { device_class: 'enum', options: values ?? [] } : {};
      const measured =
        kind === 'number'
          ? { ...(unit !== undefined && { unit_of_measurement: unit }), state_class: 'measurement' }
          : {};
      const config = {
        platform: entity.kind,
        value_template: valueOf(key),
        ...measured,
        ...options,
        ...classOf(capability),
      };
      return { config, slots: [] };
    }
    case 'button': {
      const { action } = entity.command;
      const config = { platform: 'button', command_topic: commandTopic(action) };
      return { config, slots: [{ slot: slotOf(action), write: oneOf({ PRESS: { action, params: {} } }) }] };
    }
    case 'event': {
      const state_topic = `${root(stationId)}/${deviceId}/event`;
      return { config: { platform: 'event', state_topic, event_types: entity.actions }, slots: [] };
    }
  }
}

/** `state_closed: 'CLOSE'`: the first word of the device for each. */
function coverWords({ values = [] }: Capability): Config {
  const words: Record<string, string> = {};
  for (const word of values) {
    const state = coverState(word);
    if (state !== null) words[`state_${state}`] ??= word;
  }
  return words;
}

function settingBody(
  { kind, capability, set }: Extract<Entity, { kind: 'number' | 'select' | 'text' }>,
  commandTopic: Place['commandTopic'],
): { config: Config; slots: Slot[] } {
  const { key, unit, min, max, step, values = [] } = capability;
  const { action, parameter } = set;
  const own = { platform: kind, command_topic: commandTopic(key), value_template: valueOf(key) };
  const slot = (write: Slot['write']): Slot[] => [{ slot: slotOf(key), write }];
  if (kind === 'number') {
    // Its own limits are 1 and 100.
    const range = { min: min ?? -1e9, max: max ?? 1e9, step: step ?? (set.isWhole ? 1 : 0.01), mode: 'box' };
    const config = {
      ...own,
      ...range,
      ...(unit !== undefined && { unit_of_measurement: unit }),
      ...classOf(capability),
    };
    return { config, slots: slot((payload) => numberFor(set, payload)) };
  }
  const give = (text: string): Call => ({ action, params: { [parameter]: text } });
  if (kind === 'text') return { config: { ...own, max: 255 }, slots: slot(give) };
  return {
    config: { ...own, options: values },
    slots: slot((payload) => (values.includes(payload) ? give(payload) : null)),
  };
}

/** What Home Assistant compares: texts where it wants texts. What is not known is null, which it reads as "unknown". */
function valuesOf(parts: readonly Part[], state: State): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const { entity } of parts) {
    if ('capability' in entity) values.push([entity.capability.key, shownValue(entity.capability, state, entity.kind)]);
    if (entity.kind === 'light' && entity.dimmer !== null) {
      const { key } = entity.dimmer.capability;
      // It takes no brightness that is not a number, and 0 changes none.
      values.push([key, numberOf(ownValue(state, key)) ?? 0]);
    }
    if (entity.kind !== 'cover') continue;
    for (const capability of [entity.cover.state, entity.position?.capability ?? null])
      if (capability !== null) values.push([capability.key, shownValue(capability, state, 'cover')]);
  }
  return Object.fromEntries(values);
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function shownValue({ key, kind }: Capability, state: State, as: Entity['kind']): unknown {
  const value = ownValue(state, key);
  if (kind === 'number') return numberOf(value);
  // It would complain of each word that it does not know.
  if (as === 'cover' && coverState(value) === null) return null;
  // Longer ones it does not take.
  if (kind !== 'boolean') return typeof value === 'string' ? value.slice(0, 255) : null;
  if (typeof value !== 'boolean') return null;
  if (as === 'lock') return value ? 'LOCKED' : 'UNLOCKED';
  return value !== (as === 'binary_sensor' && isInverted(key)) ? 'ON' : 'OFF';
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
