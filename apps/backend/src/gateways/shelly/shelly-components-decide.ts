import type { Group } from '../features-decide.ts';

/** A value in the status of a component, and how it is written. */
export type ComponentValue = {
  /** Where it stands in the status. */
  at: readonly string[];
  /** The station's word for it. */
  word: string;
  /** Method and parameter. */
  set?: readonly string[];
  /** Default: a number. */
  kind?: 'number' | 'boolean' | 'enum' | 'text' | 'json';
  values?: readonly string[];
  unit?: string;
  min?: number;
  max?: number;
  group?: Group;
  /** What its component is for: whether a switch is on. */
  isState?: boolean;
  isDiagnostic?: boolean;
  /** It is only set. */
  isUnreported?: boolean;
  label?: string;
};

const output = (type: string, group: Group): ComponentValue => ({
  at: ['output'],
  word: 'on',
  set: [`${type}.Set`, 'on'],
  kind: 'boolean',
  group,
  isState: true,
});
const brightness = (type: string): ComponentValue => ({
  at: ['brightness'],
  word: 'brightness',
  set: [`${type}.Set`, 'brightness'],
  unit: '%',
  min: 0,
  max: 100,
  group: 'light',
  label: 'Brightness',
});
const rgb = (type: string): ComponentValue => ({
  at: ['rgb'],
  word: 'rgb',
  set: [`${type}.Set`, 'rgb'],
  kind: 'json',
  group: 'light',
  label: 'Red, green, blue',
});
const power: ComponentValue = { at: ['apower'], word: 'power', unit: 'W' };
const activePower: ComponentValue = { at: ['act_power'], word: 'power', unit: 'W' };
const voltage: ComponentValue = { at: ['voltage'], word: 'voltage', unit: 'V' };
const metering: readonly ComponentValue[] = [
  power,
  voltage,
  { at: ['current'], word: 'current', unit: 'A' },
  { at: ['freq'], word: 'frequency', unit: 'Hz', label: 'Frequency' },
  { at: ['pf'], word: 'power_factor', label: 'Power factor' },
  { at: ['aenergy', 'total'], word: 'energy', unit: 'Wh' },
  { at: ['temperature', 'tC'], word: 'device_temperature', unit: '°C', isDiagnostic: true, label: 'Own temperature' },
];

const alarm = (word: string): ComponentValue => ({ at: ['alarm'], word, kind: 'boolean' });

const phase = (name: 'a' | 'b' | 'c'): readonly ComponentValue[] => [
  { at: [`${name}_act_power`], word: `power_${name}`, unit: 'W', label: `Power ${name.toUpperCase()}` },
  { at: [`${name}_voltage`], word: `voltage_${name}`, unit: 'V', label: `Voltage ${name.toUpperCase()}` },
  { at: [`${name}_current`], word: `current_${name}`, unit: 'A', label: `Current ${name.toUpperCase()}` },
];

/** A component that a person or a script made: its value alone. */
const virtual = (type: string, kind: NonNullable<ComponentValue['kind']>): readonly ComponentValue[] => [
  { at: ['value'], word: type.toLowerCase(), set: [`${type}.Set`, 'value'], kind, label: type },
];

const cover: readonly ComponentValue[] = [
  {
    at: ['current_pos'],
    word: 'position',
    set: ['Cover.GoToPosition', 'pos'],
    unit: '%',
    min: 0,
    max: 100,
    group: 'cover',
  },
  {
    at: ['state'],
    word: 'movement',
    kind: 'enum',
    values: ['open', 'closed', 'opening', 'closing', 'stopped', 'calibrating'],
    group: 'cover',
  },
  {
    at: ['move'],
    word: 'move',
    set: ['Cover.Move', 'to'],
    kind: 'enum',
    values: ['OPEN', 'CLOSE', 'STOP'],
    group: 'cover',
    isState: true,
    isUnreported: true,
  },
  ...metering,
];

/** Components by type (shelly-api-docs.shelly.cloud, "Components and Services"). Any other one is not shown. */
export const components: Readonly<Record<string, readonly ComponentValue[]>> = {
  switch: [output('Switch', 'switch'), ...metering],
  light: [output('Light', 'light'), brightness('Light'), ...metering],
  rgb: [output('RGB', 'light'), brightness('RGB'), rgb('RGB'), ...metering],
  rgbw: [
    output('RGBW', 'light'),
    brightness('RGBW'),
    rgb('RGBW'),
    { at: ['white'], word: 'white', set: ['RGBW.Set', 'white'], min: 0, max: 255, group: 'light', label: 'White' },
    ...metering,
  ],
  cct: [
    output('CCT', 'light'),
    brightness('CCT'),
    { at: ['ct'], word: 'color_temp', set: ['CCT.Set', 'ct'], unit: 'K', min: 2_700, max: 6_500, group: 'light' },
    ...metering,
  ],
  cover,
  input: [
    { at: ['state'], word: 'input', kind: 'boolean', label: 'Input' },
    { at: ['percent'], word: 'input_percent', unit: '%', min: 0, max: 100, label: 'Input' },
  ],
  temperature: [{ at: ['tC'], word: 'temperature', unit: '°C' }],
  humidity: [{ at: ['rh'], word: 'humidity', unit: '%' }],
  illuminance: [{ at: ['lux'], word: 'illuminance', unit: 'lx' }],
  voltmeter: [voltage],
  smoke: [alarm('smoke')],
  flood: [alarm('water_leak')],
  devicepower: [{ at: ['battery', 'percent'], word: 'battery', unit: '%', min: 0, max: 100, isDiagnostic: true }],
  pm1: metering,
  em1: [activePower, ...metering],
  em1data: [{ at: ['total_act_energy'], word: 'energy', unit: 'Wh' }],
  em: [
    { at: ['total_act_power'], word: 'power', unit: 'W' },
    { at: ['total_current'], word: 'current', unit: 'A' },
    ...phase('a'),
    ...phase('b'),
    ...phase('c'),
  ],
  emdata: [{ at: ['total_act'], word: 'energy', unit: 'Wh' }],
  thermostat: [
    {
      at: ['target_C'],
      word: 'occupied_heating_setpoint',
      set: ['Thermostat.SetConfig', 'config', 'target_C'],
      unit: '°C',
      min: 5,
      max: 35,
      group: 'climate',
    },
    { at: ['current_C'], word: 'local_temperature', unit: '°C', group: 'climate' },
    { at: ['output'], word: 'heating', kind: 'boolean', group: 'climate', label: 'Heating' },
  ],
  boolean: virtual('Boolean', 'boolean'),
  number: virtual('Number', 'number'),
  text: virtual('Text', 'text'),
  enum: virtual('Enum', 'text'),
  bthomesensor: [{ at: ['value'], word: 'sensor', label: 'Sensor' }],
  wifi: [{ at: ['rssi'], word: 'rssi', unit: 'dBm', isDiagnostic: true, label: 'Wi-Fi' }],
};
