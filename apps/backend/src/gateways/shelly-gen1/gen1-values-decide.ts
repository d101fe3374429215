import type { Group } from '../features-decide.ts';

/** A value of a device: where it stands below its topic, and how it is written. */
export type Gen1Value = {
  /** Names in the payload, where that is an object. */
  at?: readonly string[];
  /** The station's word for it. */
  word: string;
  /** End of the topic, and names in the payload, that it is written to; `#` is the number. */
  set?: readonly string[];
  /** Default: a number. */
  kind?: 'number' | 'boolean' | 'enum' | 'text';
  /** What it says for true and false, or for each of the values. */
  reads?: readonly string[];
  values?: readonly string[];
  writes?: readonly string[];
  unit?: string;
  min?: number;
  max?: number;
  group?: Group;
  /** Whether a relay or a lamp is on. */
  isState?: boolean;
  isUnreported?: boolean;
  isDiagnostic?: boolean;
  /** Left out where something else says the same. */
  isSpare?: boolean;
  /** A number that is counted otherwise there. */
  factor?: number;
  label?: string;
};

const percent = { unit: '%', min: 0, max: 100 } as const;
const level = { min: 0, max: 255, group: 'light' } as const;
const power: Gen1Value = { word: 'power', unit: 'W' };
/** Counted in watt-minutes. */
const energy: Gen1Value = { word: 'energy', unit: 'Wh', factor: 1 / 60 };

const output = (end: string, group: Group): Gen1Value => ({
  word: 'on',
  set: [`${end}/#/command`],
  kind: 'boolean',
  reads: ['on', 'off'],
  group,
  isState: true,
});

const boolean = (word: string, reads: readonly string[], label?: string): Gen1Value => ({
  word,
  kind: 'boolean',
  reads,
  ...(label !== undefined && { label }),
});
const truth = ['true', 'false'] as const;
const bits = ['1', '0'] as const;

const lamp = (end: string): readonly Gen1Value[] => [
  {
    at: ['brightness'],
    word: 'brightness',
    set: [`${end}/#/set`, 'brightness'],
    ...percent,
    group: 'light',
    label: 'Brightness',
  },
  {
    at: ['temp'],
    word: 'color_temp',
    set: [`${end}/#/set`, 'temp'],
    unit: 'K',
    min: 2_700,
    max: 6_500,
    group: 'light',
  },
  { at: ['gain'], word: 'gain', set: [`${end}/#/set`, 'gain'], ...percent, group: 'light', label: 'Gain' },
  { at: ['red'], word: 'red', set: [`${end}/#/set`, 'red'], ...level, label: 'Red' },
  { at: ['green'], word: 'green', set: [`${end}/#/set`, 'green'], ...level, label: 'Green' },
  { at: ['blue'], word: 'blue', set: [`${end}/#/set`, 'blue'], ...level, label: 'Blue' },
  { at: ['white'], word: 'white', set: [`${end}/#/set`, 'white'], ...level, label: 'White' },
];

/** Of a radiator valve, which says all of it in its status. It takes 4 to 31 °C. */
const thermostat: readonly Gen1Value[] = [
  {
    at: ['thermostats', '0', 'target_t', 'value'],
    word: 'occupied_heating_setpoint',
    set: ['thermostat/0/command/target_t'],
    unit: '°C',
    min: 4,
    max: 31,
    group: 'climate',
  },
  { at: ['thermostats', '0', 'tmp', 'value'], word: 'local_temperature', unit: '°C', group: 'climate' },
  { at: ['thermostats', '0', 'pos'], word: 'valve_position', ...percent, label: 'Valve' },
];

/** What a press is called by its letters: short and long ones in a row. */
export const presses: Readonly<Record<string, string>> = {
  S: 'single_push',
  SS: 'double_push',
  SSS: 'triple_push',
  L: 'long_push',
  SL: 'short_long_push',
  LS: 'long_short_push',
};

/**
 * Values by the end of their topic, where `#` is a number (shelly-api-docs.shelly.cloud, "Gen1 Device API", sections "MQTT" of each model). A device has
 * those that it was heard to publish.
 */
export const gen1Values: Readonly<Record<string, readonly Gen1Value[]>> = {
  'relay/#': [output('relay', 'switch')],
  'relay/#/power': [power],
  'relay/#/energy': [energy],
  'light/#': [output('light', 'light')],
  'light/#/status': lamp('light'),
  'light/#/power': [power],
  'light/#/energy': [energy],
  'color/#': [output('color', 'light')],
  'color/#/status': lamp('color'),
  'white/#': [output('white', 'light')],
  'white/#/status': lamp('white'),
  'roller/#': [
    {
      word: 'movement',
      kind: 'enum',
      values: ['opening', 'closing', 'stopped'],
      reads: ['open', 'close', 'stop'],
      group: 'cover',
    },
    {
      word: 'move',
      set: ['roller/#/command'],
      kind: 'enum',
      values: ['OPEN', 'CLOSE', 'STOP'],
      writes: ['open', 'close', 'stop'],
      group: 'cover',
      isState: true,
      isUnreported: true,
    },
  ],
  'roller/#/pos': [{ word: 'position', set: ['roller/#/command/pos'], ...percent, group: 'cover' }],
  'roller/#/power': [power],
  'roller/#/energy': [energy],
  'input/#': [boolean('input', bits, 'Input')],
  'emeter/#/power': [power],
  'emeter/#/reactive_power': [{ word: 'reactive_power', unit: 'var', label: 'Reactive power' }],
  'emeter/#/voltage': [{ word: 'voltage', unit: 'V' }],
  'emeter/#/current': [{ word: 'current', unit: 'A' }],
  'emeter/#/pf': [{ word: 'power_factor', label: 'Power factor' }],
  'emeter/#/total': [{ word: 'energy', unit: 'Wh' }],
  'emeter/#/total_returned': [{ word: 'energy_exported', unit: 'Wh', label: 'Energy exported' }],
  temperature: [{ word: 'device_temperature', unit: '°C', isDiagnostic: true, label: 'Own temperature' }],
  overtemperature: [{ ...boolean('overtemperature', bits, 'Too hot'), isDiagnostic: true }],
  voltage: [{ word: 'voltage', unit: 'V' }],
  'adc/#': [{ word: 'adc', unit: 'V', label: 'Voltage at the input' }],
  'ext_temperature/#': [{ word: 'temperature', unit: '°C' }],
  'ext_humidity/#': [{ word: 'humidity', unit: '%' }],
  'sensor/temperature': [{ word: 'temperature', unit: '°C' }],
  'sensor/humidity': [{ word: 'humidity', unit: '%' }],
  'sensor/battery': [{ word: 'battery', ...percent, isDiagnostic: true }],
  'sensor/lux': [{ word: 'illuminance', unit: 'lx' }],
  'sensor/illumination': [{ word: 'illumination', kind: 'text', label: 'Light level' }],
  'sensor/tilt': [{ word: 'tilt_angle', unit: '°', label: 'Angle' }],
  'sensor/flood': [boolean('water_leak', truth)],
  'sensor/smoke': [boolean('smoke', truth)],
  'sensor/motion': [boolean('occupancy', truth)],
  'sensor/vibration': [boolean('vibration', bits)],
  'sensor/state': [boolean('contact', ['close', 'open'])],
  'sensor/gas': [{ word: 'gas', kind: 'text', label: 'Gas' }],
  'sensor/concentration': [{ word: 'gas_concentration', unit: 'ppm', label: 'Gas concentration' }],
  status: [
    { ...boolean('occupancy', truth), at: ['motion'] },
    { ...boolean('vibration', truth), at: ['vibration'] },
    { at: ['lux'], word: 'illuminance', unit: 'lx' },
    { at: ['bat'], word: 'battery', ...percent, isDiagnostic: true },
  ],
  info: [
    ...thermostat,
    { at: ['bat', 'value'], word: 'battery', ...percent, isDiagnostic: true, isSpare: true },
    { at: ['wifi_sta', 'rssi'], word: 'rssi', unit: 'dBm', isDiagnostic: true, label: 'Wi-Fi' },
  ],
};

/** Says nothing that is not said elsewhere, or is a command. */
export const silentEnd =
  /(?:^|\/)(?:command|set|announce|online)(?:\/|$)|^settings$|^longpush\/|_f$|_f\/|overpower|^emeter\/\d+\/(?:returned_)?energy$|^sensor\/(?:error|act_reasons|ext_power|charger|self_test|operation|enabled)$|^ext_\w+s$|^ext_switch\/|\/power_factor$/;
