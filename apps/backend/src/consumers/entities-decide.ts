import { numberFrom } from '@station/kit/json';
import type { Capability, CommandType, DeviceType } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';

/** What other systems make of a device: things to see and to switch, by its type. Both dialects are written from them. */

type Scalar = boolean | number | string;
/** A command of the station, as a consumer asks for it. */
export type Call = { action: string; params: Readonly<Record<string, Scalar>> };
export type Switching = { on: Call; off: Call; toggle: Call | null };
/** A command whose one parameter sets the value. */
export type Setting = { action: string; parameter: string; isWhole: boolean };
type Cover = { open: Call; close: Call; stop: Call | null; state: Capability | null };
export type Settable = { capability: Capability; set: Setting };
/** A colour as other systems name it: hue and saturation, x and y of CIE 1931, or red, green and blue. One command sets all of them. */
export type Colour = { mode: 'hs' | 'xy' | 'rgb'; end: string; parts: readonly Settable[] };
/** A thermostat. `mode` has words of `climateModes` alone; `action` says what it does now. */
type Climate = { target: Settable; current: Capability | null; mode: Settable | null; action: Capability | null };

export type Entity =
  | {
      kind: 'light';
      capability: Capability;
      switching: Switching;
      dimmer: Settable | null;
      /** The temperature of its white. */
      white: Settable | null;
      colour: Colour | null;
    }
  | { kind: 'switch' | 'lock'; capability: Capability; switching: Switching }
  | { kind: 'cover'; cover: Cover; position: Settable | null }
  | { kind: 'climate'; climate: Climate }
  | { kind: 'number' | 'select' | 'text'; capability: Capability; set: Setting }
  | { kind: 'sensor' | 'binary_sensor'; capability: Capability }
  | { kind: 'button'; command: CommandType }
  | { kind: 'event'; actions: readonly string[] };

/** The end of a key of an endpoint such as `on_l1`; null: it is none of this name. */
const endOf = (key: string, name: string): string | null =>
  key === name ? '' : key.startsWith(`${name}_`) ? key.slice(name.length) : null;

/** In the order of the type; a value or a command is part of one entity alone. */
export function entitiesOf({ icon, capabilities, commands, events }: DeviceType): Entity[] {
  const entities: Entity[] = [];
  const used = new Set<string>();
  const usedCommands = new Set<string>();
  const find = (key: string): Capability | undefined => capabilities.find((one) => one.key === key);
  const use = (...calls: readonly (Call | Setting | null)[]): void =>
    calls.forEach((call) => call !== null && usedCommands.add(call.action));
  const cover = coverOf(commands, find);
  if (cover !== null) {
    const position = settableNumber(find('position'), commands);
    entities.push({ kind: 'cover', cover, position });
    for (const { key } of [cover.state, position?.capability].filter((one) => one !== null && one !== undefined))
      used.add(key);
    use(cover.open, cover.close, cover.stop, position?.set ?? null);
  }
  const climate = climateOf(commands, find);
  if (climate !== null) {
    entities.push({ kind: 'climate', climate });
    for (const { key } of capabilitiesOf(climate)) used.add(key);
    use(climate.target.set, climate.mode?.set ?? null);
  }
  for (const capability of capabilities) {
    const { key, kind } = capability;
    if (used.has(key)) continue;
    const set = settingOf(capability, commands);
    const switching = kind === 'boolean' ? switchingOf(capability, commands, set) : null;
    if (switching !== null) {
      use(switching.on, switching.off, switching.toggle, set);
      const end = endOf(key, 'on');
      const light = end === null ? null : lightOf(end, commands, find);
      const more = light === null ? [] : lightValues(light);
      if (light !== null && (more.length > 0 || icon === 'lightbulb')) {
        entities.push({ kind: 'light', capability, switching, ...light });
        for (const one of more) used.add(one.capability.key);
        use(...more.map((one) => one.set));
      } else entities.push({ kind: endOf(key, 'locked') === null ? 'switch' : 'lock', capability, switching });
    } else if (set !== null && kind !== 'boolean') {
      entities.push({ kind: settingKinds[kind], capability, set });
      use(set);
    } else entities.push({ kind: kind === 'boolean' ? 'binary_sensor' : 'sensor', capability });
  }
  // A dimmer may stand before its lamp.
  const single = entities.filter(
    (one) => !('capability' in one) || one.kind === 'light' || !used.has(one.capability.key),
  );
  const buttons = commands.filter((one) => needed(one).length === 0 && !usedCommands.has(one.action));
  for (const command of buttons) single.push({ kind: 'button', command });
  // What people did; the rest repeats what the state says.
  const actions = events.filter(({ kind }) => kind === 'user_event').map(({ action }) => action);
  if (actions.length > 0) single.push({ kind: 'event', actions });
  return single;
}

const settingKinds = { number: 'number', enum: 'select', text: 'text' } as const;

const needed = ({ params }: CommandType): readonly string[] =>
  params?.required ?? Object.keys(params?.properties ?? {});

/** What sends the command without parameters; null: it needs some, or there is none. */
function callOf(command: CommandType | undefined): Call | null {
  return command === undefined || needed(command).length > 0 ? null : { action: command.action, params: {} };
}

function settable(capability: Capability | undefined, commands: readonly CommandType[]): Settable | null {
  const set = capability === undefined ? null : settingOf(capability, commands);
  return capability === undefined || set === null ? null : { capability, set };
}

const settableNumber = (capability: Capability | undefined, commands: readonly CommandType[]): Settable | null =>
  capability?.kind === 'number' ? settable(capability, commands) : null;

const parameterKinds: Readonly<Record<Capability['kind'], readonly string[]>> = {
  boolean: ['boolean'],
  number: ['number', 'integer'],
  enum: ['string'],
  text: ['string'],
};

/** A parameter named like a value sets it (contracts, section 8a). */
function settingOf(capability: Capability, commands: readonly CommandType[]): Setting | null {
  for (const command of commands) {
    const set = settingBy(capability, command, [capability.key]);
    if (set !== null) return set;
  }
  return null;
}

/** @param keys the parameters that are given; null: the command needs more. */
function settingBy({ key, kind }: Capability, command: CommandType, keys: readonly string[]): Setting | null {
  const parameter = ownValue(command.params?.properties, key);
  if (parameter === undefined || !parameterKinds[kind].includes(parameter.type)) return null;
  if (!needed(command).every((name) => keys.includes(name))) return null;
  return { action: command.action, parameter: key, isWhole: parameter.type === 'integer' };
}

function switchingOf({ key }: Capability, commands: readonly CommandType[], set: Setting | null): Switching | null {
  const setsTo = (value: boolean): Call | null =>
    callOf(commands.find((one) => ownValue(one.sets, key) === value && needed(one).length === 0)) ??
    (set === null ? null : { action: set.action, params: { [set.parameter]: value } });
  const on = setsTo(true);
  const off = setsTo(false);
  if (on === null || off === null) return null;
  const end = endOf(key, 'on');
  const toggle = end === null ? null : callOf(commands.find(({ action }) => action === `toggle${end}`));
  return { on, off, toggle };
}

type Find = (key: string) => Capability | undefined;

function lightOf(end: string, commands: readonly CommandType[], find: Find) {
  return {
    dimmer: settableNumber(find(`brightness${end}`), commands),
    white: settableNumber(find(`color_temp${end}`), commands),
    colour: colourOf(end, commands, find),
  };
}

const lightValues = ({ dimmer, white, colour }: ReturnType<typeof lightOf>): Settable[] =>
  [dimmer, white, ...(colour?.parts ?? [])].filter((one) => one !== null);

/** What the values of a colour are called. The first that a lamp has is shown. */
const colourNames: readonly (readonly [Colour['mode'], readonly string[]])[] = [
  ['hs', ['hue', 'saturation']],
  ['hs', ['h', 's']],
  ['xy', ['x', 'y']],
  ['rgb', ['r', 'g', 'b']],
];

function colourOf(end: string, commands: readonly CommandType[], find: Find): Colour | null {
  for (const [mode, names] of colourNames) {
    const values = names.flatMap((name) => find(`color${end}.${name}`) ?? []);
    const keys = values.map(({ key }) => key);
    if (values.length < names.length || values.some(({ kind }) => kind !== 'number')) continue;
    for (const command of commands) {
      const parts = values.flatMap((capability): Settable[] => {
        const set = settingBy(capability, command, keys);
        return set === null ? [] : [{ capability, set }];
      });
      if (parts.length === names.length) return { mode, end, parts };
    }
  }
  return null;
}

/** Null: it is not as many numbers as the colour has parts. */
export function colourCall({ parts }: Colour, values: readonly unknown[]): Call | null {
  const calls = parts.map(({ set }, index) => numberFor(set, values[index]));
  const [first] = calls;
  if (first === undefined || first === null || values.length !== parts.length || calls.includes(null)) return null;
  return { action: first.action, params: Object.assign({}, ...calls.map((call) => call?.params)) as Call['params'] };
}

function coverOf(commands: readonly CommandType[], find: Find): Cover | null {
  const call = (action: string): Call | null => callOf(commands.find((one) => one.action === action));
  const open = call('open');
  const close = call('close');
  if (open === null || close === null) return null;
  // Not every cover says where it is; some say whether it moves.
  const state = [find('state'), find('movement')].find((one) => one?.kind === 'enum') ?? null;
  return { open, close, stop: call('stop'), state };
}

/** What the values of a thermostat are called, most usual first. */
const climateKeys = {
  target: ['occupied_heating_setpoint', 'current_heating_setpoint', 'target_temperature'],
  current: ['local_temperature', 'current_temperature', 'temperature'],
  mode: ['system_mode', 'mode'],
  action: ['running_state'],
} as const;
/** Modes that others know, in both dialects. */
const climateModes: readonly string[] = ['off', 'auto', 'heat', 'cool', 'heat_cool', 'dry', 'fan_only'];

function climateOf(commands: readonly CommandType[], find: Find): Climate | null {
  const all = (keys: readonly string[]): Capability[] => keys.flatMap((key) => find(key) ?? []);
  const target = all(climateKeys.target)
    .map((one) => settableNumber(one, commands))
    .find((one) => one !== null);
  if (target === undefined) return null;
  const isMode = ({ kind, values = [] }: Capability): boolean =>
    kind === 'enum' && values.every((value) => climateModes.includes(value));
  return {
    target,
    current: all(climateKeys.current).find(({ kind }) => kind === 'number') ?? null,
    mode: settable(all(climateKeys.mode).find(isMode), commands),
    action: all(climateKeys.action).find(({ kind }) => kind === 'enum') ?? null,
  };
}

/** The values that are part of it. */
export const capabilitiesOf = ({ target, current, mode, action }: Climate): Capability[] =>
  [target.capability, current, mode?.capability ?? null, action].filter((one) => one !== null);

export type CoverState = 'open' | 'opening' | 'closed' | 'closing' | 'stopped';

const coverStates: Readonly<Record<string, CoverState>> = {
  open: 'open',
  opened: 'open',
  opening: 'opening',
  close: 'closed',
  closed: 'closed',
  closing: 'closing',
  stop: 'stopped',
  stopped: 'stopped',
};

/** What a word of a cover means, such as `CLOSE` or `opening`; null: nothing that others know. */
export const coverState = (word: unknown): CoverState | null =>
  typeof word === 'string' ? (ownValue(coverStates, word.toLowerCase()) ?? null) : null;

/** A number as a parameter; null: it is none. */
export function numberFor({ action, parameter, isWhole }: Setting, value: unknown): Call | null {
  const number = numberFrom(value);
  return number === null ? null : { action, params: { [parameter]: isWhole ? Math.round(number) : number } };
}

const perMegakelvin = 1_000_000;

/** The temperature of a white in mireds, a million by kelvins, which every program of both dialects counts in. */
export function inMireds({ capability, set }: Settable): {
  capability: Capability;
  shownAs: (value: unknown) => number | null;
  callFor: (value: unknown) => Call | null;
} {
  if (capability.unit !== 'K')
    return {
      capability,
      shownAs: (value) => (typeof value === 'number' ? value : null),
      callFor: (value) => numberFor(set, value),
    };
  const { min = 0, max = 0, ...rest } = capability;
  const turned = (value: number): number | null => (value > 0 ? Math.round(perMegakelvin / value) : null);
  return {
    capability: {
      ...rest,
      unit: 'mired',
      ...(max > 0 && { min: Math.ceil(perMegakelvin / max) }),
      ...(min > 0 && { max: Math.floor(perMegakelvin / min) }),
    },
    shownAs: (value) => (typeof value === 'number' ? turned(value) : null),
    callFor: (value) => numberFor(set, turned(numberFrom(value) ?? 0)),
  };
}

/** What people read: the English name, or the key in words. */
export const labelOf = ({
  key,
  names,
}: {
  key: string;
  names?: Readonly<Record<string, string>> | undefined;
}): string => names?.['en'] ?? inWords(key);

export function inWords(key: string): string {
  const words = key.replace(/[_.-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
