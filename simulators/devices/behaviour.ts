/** The behaviour of a device without its connection. */

type DeviceState = Record<string, number | boolean>;
type DeviceReport = { event: 'device_event' | 'user_event'; data: { action: string } & Record<string, unknown> };

export type Behaviour = {
  state: DeviceState;
  /** Milliseconds until the next step; a new random value each time. */
  pauseMs(random: () => number): number;
  /** Changes the state and may report events. */
  step(random: () => number, dayFraction: number): DeviceReport[];
  /** @returns whether the device knows the command. */
  execute(action: string, params: Readonly<Record<string, unknown>>): boolean;
};

export const simulatedTypes = ['climate', 'pir', 'switch-pir', 'light'] as const;
export type SimulatedType = (typeof simulatedTypes)[number];

const between = (random: () => number, low: number, high: number): number => low + (high - low) * random();
const roundToTenth = (value: number): number => Math.round(value * 10) / 10;
const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

export function createBehaviour(type: SimulatedType, random: () => number): Behaviour {
  switch (type) {
    case 'climate':
      return climate(random);
    case 'pir':
      return pir(random);
    case 'switch-pir':
      return switchPir();
    case 'light':
      return light(random);
  }
}

/** Warmest and driest in the afternoon, with the random changes of a real room. */
function climate(random: () => number): Behaviour {
  const mean = between(random, 18, 23);
  let drift = 0;
  const state: DeviceState = {
    temperature: roundToTenth(mean),
    humidity: 45,
    battery: Math.round(between(random, 55, 100)),
  };
  return {
    state,
    pauseMs: (next) => between(next, 8_000, 12_000),
    step: (next, dayFraction) => {
      drift = clamp(drift + between(next, -0.15, 0.15), -1.5, 1.5);
      const day = Math.sin(2 * Math.PI * (dayFraction - 0.375));
      state['temperature'] = roundToTenth(mean + 1.5 * day + drift);
      state['humidity'] = Math.round(clamp(45 - 6 * day - 4 * drift, 0, 100));
      if (next() < 0.002) state['battery'] = Math.max(1, Number(state['battery']) - 1);
      return [];
    },
    execute: () => false,
  };
}

const motionReport = (isSeen: boolean): DeviceReport => ({
  event: 'device_event',
  data: { action: isSeen ? 'motion_detected' : 'motion_cleared' },
});

function pir(random: () => number): Behaviour {
  const state: DeviceState = { motion: false, battery: Math.round(between(random, 55, 100)) };
  return {
    state,
    // The room is empty for longer than it is occupied.
    pauseMs: (next) => (state['motion'] === true ? between(next, 4_000, 15_000) : between(next, 15_000, 90_000)),
    step: () => {
      state['motion'] = state['motion'] !== true;
      return [motionReport(state['motion'])];
    },
    execute: () => false,
  };
}

/** Switches a lamp on at motion and off later. Its button is pressed sometimes. */
function switchPir(): Behaviour {
  const state: DeviceState = { power: false, motion: false };
  return {
    state,
    pauseMs: (next) => (state['motion'] === true ? between(next, 5_000, 15_000) : between(next, 20_000, 90_000)),
    step: (next) => {
      if (next() < 0.1) {
        state['power'] = state['power'] !== true;
        return [{ event: 'user_event', data: { action: 'button_pressed' } }];
      }
      state['motion'] = state['motion'] !== true;
      state['power'] = state['motion'];
      return [motionReport(state['motion'])];
    },
    execute: (action, params) => executeSetPower(state, action, params),
  };
}

function light(random: () => number): Behaviour {
  const state: DeviceState = { power: random() < 0.5, brightness: Math.round(between(random, 20, 100)) };
  return {
    state,
    pauseMs: (next) => between(next, 30_000, 120_000),
    step: (next) => {
      if (next() < 0.8) return [];
      state['power'] = state['power'] !== true;
      return [{ event: 'user_event', data: { action: 'button_pressed' } }];
    },
    execute: (action, params) => {
      if (executeSetPower(state, action, params)) return true;
      const { brightness } = params;
      if (action !== 'set_brightness' || typeof brightness !== 'number') return false;
      state['brightness'] = brightness;
      return true;
    },
  };
}

function executeSetPower(state: DeviceState, action: string, { power }: Readonly<Record<string, unknown>>): boolean {
  if (action !== 'set_power' || typeof power !== 'boolean') return false;
  state['power'] = power;
  return true;
}
