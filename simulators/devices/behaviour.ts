import type { Capability, CommandType, DeviceType, EventType } from '@station/protocol/device-types';

/** A device without its connection: pure steps that change its state and report events, derived from its type. */

type Value = number | boolean | string;
type DeviceState = Record<string, Value>;
type DeviceReport = { event: EventType['kind']; data: { action: string } & Record<string, unknown> };

export type Behaviour = {
  state: DeviceState;
  /** Milliseconds until the next step; a new random value each time. */
  pauseMs(random: () => number): number;
  /** Advances the time: changes the state and may report an event. */
  step(random: () => number, dayFraction: number): DeviceReport[];
  /** @returns whether the device knows the command. */
  execute(action: string, params: Readonly<Record<string, unknown>>): boolean;
};

export function createBehaviour(type: DeviceType, random: () => number): Behaviour {
  const state: DeviceState = Object.fromEntries(type.capabilities.map((one) => [one.key, firstValue(one, random)]));
  const means = { ...state };
  const measure = (next: () => number, dayFraction: number): void => {
    for (const capability of type.capabilities) {
      if (!isMeasured(type, capability)) continue;
      const mean = Number(means[capability.key]);
      state[capability.key] = measuredValue(capability, mean, Number(state[capability.key]), next, dayFraction);
    }
  };
  return {
    state,
    pauseMs: (next) => pauseOf(type, state, next),
    step: (next, dayFraction) => {
      measure(next, dayFraction);
      if ('motion' in state && next() >= 0.1) return reportMotion(type, state);
      return type.category === 'actuator' && next() < 0.8 ? [] : operate(type, state);
    },
    execute: (action, params) => {
      const command = type.commands.find((known) => known.action === action);
      if (command === undefined) return false;
      execute(type, state, command, params);
      return true;
    },
  };
}

const between = (random: () => number, low: number, high: number): number => low + (high - low) * random();
const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** Usual values at home, where the middle of the range is none. */
const usual: Readonly<Record<string, readonly [low: number, high: number]>> = {
  temperature: [18, 23],
  humidity: [40, 50],
  pressure: [995, 1025],
  battery: [55, 100],
};

function firstValue({ key, kind, min = 0, max = 100, values = [] }: Capability, random: () => number): Value {
  switch (kind) {
    case 'boolean':
      return false;
    case 'number':
      return rounded(key, between(random, ...(usual[key] ?? [min + (max - min) / 4, max - (max - min) / 4])));
    case 'enum':
      return values[0] ?? '';
    case 'text':
      return '';
  }
}

const rounded = (key: string, value: number): number =>
  key === 'temperature' ? Math.round(value * 10) / 10 : Math.round(value);

/** A number that nobody sets. */
const isMeasured = ({ commands }: DeviceType, { key, kind }: Capability): boolean =>
  kind === 'number' && !commands.some(({ params }) => Object.hasOwn(params?.properties ?? {}, key));

/** Warmest and driest in the afternoon, with the random changes of a real room. A battery only becomes empty. */
function measuredValue(
  { key, min = 0, max = 100 }: Capability,
  mean: number,
  value: number,
  next: () => number,
  dayFraction: number,
): number {
  if (key === 'battery') return next() < 0.002 ? Math.max(1, value - 1) : value;
  const day = Math.sin(2 * Math.PI * (dayFraction - 0.375));
  const swing = key === 'temperature' ? 1.5 * day : key === 'humidity' ? -6 * day : 0;
  const noise = between(next, -0.005, 0.005) * (max - min);
  return rounded(key, clamp(mean + swing + noise, min, max));
}

function pauseOf({ category }: DeviceType, state: DeviceState, next: () => number): number {
  // A room is empty for longer than it is occupied.
  if ('motion' in state) return state['motion'] === true ? between(next, 5_000, 15_000) : between(next, 15_000, 90_000);
  return category === 'sensor' ? between(next, 8_000, 12_000) : between(next, 30_000, 120_000);
}

/** Someone enters or leaves. A lamp of its own follows. */
function reportMotion(type: DeviceType, state: DeviceState): DeviceReport[] {
  state['motion'] = state['motion'] !== true;
  if ('power' in state) state['power'] = state['motion'];
  return reportsOf(type, [state['motion'] ? 'motion_detected' : 'motion_cleared']);
}

/** Someone operates the device itself. */
function operate(type: DeviceType, state: DeviceState): DeviceReport[] {
  const lamp = ['on', 'power'].find((key) => key in state);
  if (lamp !== undefined) state[lamp] = state[lamp] !== true;
  const pressed = type.events.filter(({ kind }) => kind === 'user_event').map(({ action }) => action);
  if (lamp === undefined) return reportsOf(type, pressed);
  return reportsOf(type, [...pressed, state[lamp] === true ? 'turned_on' : 'turned_off']);
}

/** Those that the type has. */
const reportsOf = ({ events }: DeviceType, actions: readonly string[]): DeviceReport[] =>
  events
    .filter(({ action }) => actions.includes(action))
    .map(({ action, kind }) => ({ event: kind, data: { action } }));

function execute(
  type: DeviceType,
  state: DeviceState,
  { sets, params, confirmedBy }: CommandType,
  values: Readonly<Record<string, unknown>>,
): void {
  Object.assign(state, sets);
  const names = Object.keys(params?.properties ?? {});
  for (const name of names) {
    const value = values[name];
    if (name in state && isValue(value)) state[name] = value;
  }
  // A lamp is off at brightness 0 (contracts, section 8a).
  if ('on' in state && typeof values['brightness'] === 'number') state['on'] = values['brightness'] > 0;
  if (sets !== undefined || names.length > 0) return;
  const flags = type.capabilities.filter(({ key, kind }) => kind === 'boolean' && confirmedBy.includes(key));
  for (const { key } of flags) state[key] = state[key] !== true;
}

const isValue = (value: unknown): value is Value => ['number', 'boolean', 'string'].includes(typeof value);
