import type { Capability, CommandType, DeviceType, EventType, Parameter } from '@station/protocol/device-types';
import { commonActions } from '@station/protocol/common-commands';
import type { DevicePlan, FixedValue } from './dialect.ts';
import { type Feature, isKey, maxValues } from './features-decide.ts';
import { nameOfProperty } from './property-names.ts';
import { valueNamesOf } from './value-names.ts';

/** From the values of a device, in any dialect, to its words about itself and its plan. */

/** Limits of a type (contracts, section 8a). */
const maxCapabilities = 64;
const maxCommands = 32;
const maxEvents = 32;
const maxParameters = 16;
/** With the names of a type, well below 32 KiB. */
const maxTypeBytes = 28_000;
/** A value that is only set, such as `identify`, gets a button each while it has no more than these. */
const maxButtons = 3;

/** A model as part of the name of a type. */
export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, 50) || 'device';

type Words = Pick<DeviceType, 'capabilities' | 'commands' | 'events'> & Pick<Partial<DeviceType>, 'icon' | 'primary'>;

/** @param features in the order of the announcement. */
export function wordsOf(features: readonly Feature[]): { words: Words; plan: DevicePlan } {
  const sorted = features.toSorted((one, other) => rankOf(one) - rankOf(other));
  const event = sorted.find(isEvent) ?? null;
  const given = commandsOf(sorted);
  const shown = sorted.filter((feature) => feature.property.isReadable || isChosen(feature));
  const [main] = shown.filter(({ property }) => property.isReadable);
  const toggle = given.find(
    ({ command }) => command.action === 'toggle' && command.confirmedBy[0] === main?.property.key,
  );
  const icon = iconOf(features);
  const words: Words = {
    ...(icon === null ? {} : { icon }),
    capabilities: shown.map(capabilityOf),
    commands: given.map(({ command }) => command),
    events: eventsOf(event),
    ...(main !== undefined && { primary: { capability: main.property.key, ...(toggle && { command: 'toggle' }) } }),
  };
  return {
    words: shortened(words),
    plan: {
      properties: features.map(({ property }) => property),
      actions: Object.fromEntries(given.map(({ command, writes }) => [command.action, writes])),
      eventKey: event?.property.key ?? null,
    },
  };
}

/** What people want to see first: the switch of a lamp, then what it measures, settings of the device last. */
function rankOf({ property, group, name, category }: Feature): number {
  if (name === 'linkquality' || category === 'diagnostic') return 5;
  if (category === 'config') return 4;
  if (!property.isReadable) return 3;
  if (group !== null && name === 'state') return 0;
  return group === null ? 2 : 1;
}

const isEvent = ({ property, name }: Feature): boolean =>
  name === 'action' && property.isReadable && !property.isSettable && property.kind !== 'json';

function eventsOf(feature: Feature | null): EventType[] {
  const values = feature?.property.kind === 'enum' ? feature.property.values.map(String) : [];
  return values
    .filter(isKey)
    .slice(0, maxEvents)
    .map((action) => ({ action, kind: 'user_event' }));
}

const icons: readonly (readonly [test: (feature: Feature) => boolean, icon: string])[] = [
  [({ group }) => group === 'light', 'lightbulb'],
  [({ group }) => group === 'lock', 'lock'],
  [({ group }) => group === 'cover', 'blinds'],
  [({ group }) => group === 'climate', 'heater'],
  [({ group }) => group === 'fan', 'fan'],
  [({ name, property }) => name === 'power' && property.kind === 'number', 'plug'],
  [({ group }) => group === 'switch', 'toggle-right'],
  [({ name }) => name === 'smoke' || name === 'gas' || name === 'carbon_monoxide', 'alarm-smoke'],
  [({ name }) => name === 'water_leak', 'droplets'],
  [({ name }) => name === 'contact', 'door-closed'],
  [({ name }) => name === 'occupancy' || name === 'presence', 'radar'],
  [({ name }) => name === 'soil_moisture', 'sprout'],
  [({ name }) => name === 'temperature' || name === 'humidity', 'thermometer'],
  [({ name }) => name === 'vibration', 'waves'],
  [({ name }) => name === 'action', 'bell'],
];

const iconOf = (features: readonly Feature[]): string | null =>
  features.find(({ icon }) => icon !== undefined)?.icon ?? icons.find(([test]) => features.some(test))?.[1] ?? null;

function capabilityOf(feature: Feature): Capability {
  const { property, unit, min, max, step, label, group, name, end, isNamed = false } = feature;
  const { key, kind } = property;
  const own = label === null ? undefined : { en: label };
  const names = isNamed ? own : (nameOfProperty(group, name, end) ?? own);
  const valueNames = valueNamesOf(feature);
  const named = { key, ...(names && { names }), ...(valueNames && { valueNames }) };
  if (kind === 'enum') return { ...named, kind, values: property.values.map(String) };
  if (kind !== 'number') return { ...named, kind: kind === 'boolean' ? 'boolean' : 'text' };
  if (property.full !== undefined) return { ...named, kind, unit: '%', min: 0, max: 100 };
  const shown = { unit, min, max, step };
  return { ...named, kind, ...Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== null)) };
}

/** A command, and what it writes besides its parameters. */
type GivenCommand = { command: CommandType; writes: readonly FixedValue[] };

/** A value that is only set, and shown as a choice. */
const isChosen = (feature: Feature): boolean =>
  feature.property.isSettable && !feature.property.isReadable && !isButton(feature) && feature.property.kind === 'enum';

const isButton = ({ property, isChoice = false }: Feature): boolean =>
  property.kind === 'enum' && !property.isReadable && !isChoice && property.values.length <= maxButtons;

/** Keys of every command: no parameter can have their names. */
const reserved: readonly string[] = ['action', 'commandId'];

/** Those of the values that come first; what has no room shares commands with several parameters. */
function commandsOf(features: readonly Feature[]): GivenCommand[] {
  const settable = features.filter(({ property }) => property.isSettable && !reserved.includes(property.key));
  const parts = new Map<string, Feature[]>();
  for (const feature of settable) {
    // The parts of a composite, such as a colour, are written together.
    const part = feature.part === null ? feature.property.key : `${feature.part}/${namesOf(feature)}`;
    parts.set(part, [...(parts.get(part) ?? []), feature]);
  }
  const made = [...parts.values()].map((part) =>
    part.length === 1 ? commandsFor(part[0]!, features) : together(part),
  );
  const given: GivenCommand[] = [];
  const rest: Feature[] = [];
  const all = [...parts.values()];
  const excess = made.flat().length - maxCommands;
  // A shared command has room for those of sixteen others, and takes one place itself.
  const shared = excess > 0 ? Math.ceil(excess / (maxParameters - 1)) + 1 : 0;
  const room = Math.max(0, maxCommands - shared);
  for (const [at, commands] of made.entries()) {
    const isNew = commands.every(({ command }) => !given.some((one) => one.command.action === command.action));
    if (isNew && given.length + commands.length <= room) given.push(...commands);
    else rest.push(...(all[at] ?? []));
  }
  for (let from = 0; from < rest.length && given.length < maxCommands; from += maxParameters) {
    given.push(settingMany(`set_more_${from / maxParameters + 1}`, rest.slice(from, from + maxParameters)));
  }
  return given;
}

/** A colour is written as x and y, or as hue and saturation, never as both. */
function namesOf({ property: { path } }: Feature): string {
  const last = path.at(-1) ?? '';
  if (last === 'x' || last === 'y') return 'xy';
  return last === 'hue' || last === 'saturation' ? 'hs' : '';
}

function together(part: readonly Feature[]): GivenCommand[] {
  const head = part[0]?.part ?? '';
  const kind = part[0] === undefined ? '' : namesOf(part[0]);
  const action = kind === '' ? `set_${head}` : `set_${head}_${kind}`;
  const chunks = [];
  for (let from = 0; from < part.length; from += maxParameters) {
    const name = from === 0 ? action : `${action}_${from / maxParameters + 1}`;
    chunks.push(setting(name, part.slice(from, from + maxParameters)));
  }
  return chunks;
}

function commandsFor(feature: Feature, all: readonly Feature[]): GivenCommand[] {
  const { property, group, name, part } = feature;
  const isState = group !== null && name === 'state' && part === null;
  if (isState && property.kind === 'boolean') return group === 'lock' ? lockCommands(feature) : switchCommands(feature);
  if (isState && group === 'cover' && property.kind === 'enum') return coverCommands(feature, all);
  if (isButton(feature)) return buttonsOf(feature);
  return [setting(`set_${property.key.replaceAll('.', '_')}`, [feature])];
}

function fixed(feature: Feature, action: string, value: unknown, more: Partial<CommandType> = {}): GivenCommand {
  const { path, set = path, key, isReadable } = feature.property;
  const confirmedBy = isReadable ? [key] : [];
  return { command: { action, confirmedBy, repeatable: true, ...more }, writes: [{ path: set, value }] };
}

function switchCommands(feature: Feature): GivenCommand[] {
  const { property, toggle, end } = feature;
  if (property.kind !== 'boolean') return [];
  const sets = (value: boolean) => (property.isReadable ? { sets: { [property.key]: value } } : {});
  const [on, off] = property.writes ?? [property.on, property.off];
  return [
    fixed(feature, `turn_on${end}`, on, sets(true)),
    fixed(feature, `turn_off${end}`, off, sets(false)),
    ...(toggle === undefined ? [] : [fixed(feature, `toggle${end}`, toggle, { repeatable: false })]),
  ];
}

function lockCommands(feature: Feature): GivenCommand[] {
  const { property, end } = feature;
  if (property.kind !== 'boolean') return [];
  const sets = (value: boolean) => (property.isReadable ? { sets: { [property.key]: value } } : {});
  const [locked, unlocked] = property.writes ?? [property.on, property.off];
  return [fixed(feature, `lock${end}`, locked, sets(true)), fixed(feature, `unlock${end}`, unlocked, sets(false))];
}

/** A cover that was stopped says neither: its position differs, or its state does. */
function coverCommands(feature: Feature, all: readonly Feature[]): GivenCommand[] {
  const { property, end } = feature;
  if (property.kind !== 'enum') return [];
  const moving = all.filter(
    (one) =>
      one.group === 'cover' &&
      one.property.isReadable &&
      (one.name === 'position' || one === feature) &&
      one.end === end,
  );
  const { values, writes = values } = property;
  return values.map((value, at) => {
    const text = String(value);
    const action = `${text.toLowerCase()}${end}`;
    if (text === 'STOP')
      return fixed(feature, action, writes[at], { confirmedBy: moving.map((one) => one.property.key) });
    return fixed(feature, action, writes[at], property.isReadable ? { sets: { [property.key]: text } } : {});
  });
}

function buttonsOf(feature: Feature): GivenCommand[] {
  const { property } = feature;
  if (property.kind !== 'enum') return [];
  const name = property.key.replaceAll('.', '_');
  return property.values.map((value) => {
    const text = String(value);
    const end = property.values.length === 1 ? '' : `_${text.toLowerCase().replace(/[^a-z0-9]+/g, '_')}`;
    // The station's own commands are not for devices of a gateway.
    const action = commonActions.includes(`${name}${end}`) ? `device_${name}${end}` : `${name}${end}`;
    return fixed(feature, action.slice(0, 64), value);
  });
}

function setting(action: string, features: readonly Feature[], required?: readonly string[]): GivenCommand {
  const properties = Object.fromEntries(features.map((feature) => [feature.property.key, parameterOf(feature)]));
  const confirmedBy = features.filter(({ property }) => property.isReadable).map(({ property }) => property.key);
  const params = { type: 'object' as const, properties, ...(required && { required: [...required] }) };
  return { command: { action: action.slice(0, 64), params, confirmedBy, repeatable: true }, writes: [] };
}

/** Any of these values, and none of the others. */
const settingMany = (action: string, features: readonly Feature[]): GivenCommand => setting(action, features, []);

function parameterOf({ property, min, max }: Feature): Parameter {
  switch (property.kind) {
    case 'boolean':
      return { type: 'boolean' };
    case 'number':
      if (property.full !== undefined) return { type: 'number', minimum: 0, maximum: 100 };
      return { type: 'number', ...(min !== null && { minimum: min }), ...(max !== null && { maximum: max }) };
    case 'enum':
      return { type: 'string', enum: property.values.slice(0, maxValues).map(String) };
    case 'text':
    case 'json':
      return { type: 'string' };
  }
}

/** A type has a size: the names go first, then the values that come last, which are then shown plainly. */
function shortened(words: Words): Words {
  const plain = { ...words, capabilities: words.capabilities.slice(0, maxCapabilities) };
  if (sizeOf(plain) > maxTypeBytes) {
    plain.capabilities = plain.capabilities.map(({ names: _names, valueNames: _valueNames, ...rest }) => rest);
  }
  while (sizeOf(plain) > maxTypeBytes && plain.capabilities.length > 1) {
    plain.capabilities.pop();
    if (plain.commands.length > plain.capabilities.length) plain.commands = plain.commands.slice(0, -1);
  }
  const keys = new Set(plain.capabilities.map(({ key }) => key));
  return { ...plain, commands: plain.commands.map((command) => withinKeys(command, keys)) };
}

const sizeOf = (words: Words): number => new TextEncoder().encode(JSON.stringify(words)).length;

/** A report of what the type does not name confirms nothing. */
function withinKeys({ sets, ...command }: CommandType, keys: ReadonlySet<string>): CommandType {
  const kept = Object.entries(sets ?? {}).filter(([key]) => keys.has(key));
  const confirmedBy = command.confirmedBy.filter((key) => keys.has(key));
  return { ...command, confirmedBy, ...(kept.length > 0 && { sets: Object.fromEntries(kept) }) };
}
