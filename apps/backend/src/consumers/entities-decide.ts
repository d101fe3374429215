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

export type Entity =
  | {
      kind: 'light';
      capability: Capability;
      switching: Switching;
      dimmer: { capability: Capability; set: Setting } | null;
    }
  | { kind: 'switch' | 'lock'; capability: Capability; switching: Switching }
  | { kind: 'cover'; cover: Cover; position: { capability: Capability; set: Setting } | null }
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
    const position = settable(find('position'), commands);
    entities.push({ kind: 'cover', cover, position });
    for (const { key } of [cover.state, position?.capability].filter((one) => one !== null && one !== undefined))
      used.add(key);
    use(cover.open, cover.close, cover.stop, position?.set ?? null);
  }
  for (const capability of capabilities) {
    const { key, kind } = capability;
    if (used.has(key)) continue;
    const set = settingOf(capability, commands);
    const switching = kind === 'boolean' ? switchingOf(capability, commands, set) : null;
    if (switching !== null) {
      use(switching.on, switching.off, switching.toggle, set);
      const end = endOf(key, 'on');
      const dimmer = end === null ? null : settable(find(`brightness${end}`), commands);
      if (end !== null && (dimmer !== null || icon === 'lightbulb')) {
        entities.push({ kind: 'light', capability, switching, dimmer });
        if (dimmer !== null) used.add(dimmer.capability.key);
        use(dimmer?.set ?? null);
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

function settable(capability: Capability | undefined, commands: readonly CommandType[]) {
  const set = capability?.kind === 'number' ? settingOf(capability, commands) : null;
  return capability === undefined || set === null ? null : { capability, set };
}

const parameterKinds: Readonly<Record<Capability['kind'], readonly string[]>> = {
  boolean: ['boolean'],
  number: ['number', 'integer'],
  enum: ['string'],
  text: ['string'],
};

/** A parameter named like a value sets it (contracts, section 8a). */
function settingOf({ key, kind }: Capability, commands: readonly CommandType[]): Setting | null {
  for (const command of commands) {
    const parameter = ownValue(command.params?.properties, key);
    if (parameter === undefined || !parameterKinds[kind].includes(parameter.type)) continue;
    if (needed(command).every((name) => name === key))
      return { action: command.action, parameter: key, isWhole: parameter.type === 'integer' };
  }
  return null;
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

function coverOf(commands: readonly CommandType[], find: (key: string) => Capability | undefined): Cover | null {
  const call = (action: string): Call | null => callOf(commands.find((one) => one.action === action));
  const open = call('open');
  const close = call('close');
  if (open === null || close === null) return null;
  // Not every cover says where it is; some say whether it moves.
  const state = [find('state'), find('movement')].find((one) => one?.kind === 'enum') ?? null;
  return { open, close, stop: call('stop'), state };
}

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
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return null;
  return { action, params: { [parameter]: isWhole ? Math.round(number) : number } };
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
