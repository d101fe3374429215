import type { Capability } from '@station/protocol/device-types';

/** Device classes of Home Assistant (home-assistant.io, "Sensor" and "Binary sensor"): it refuses one whose unit does not fit. */

type Class = { name: string; units: readonly string[] };

const sensors: readonly (readonly [key: RegExp, Class])[] = [
  [/temperature|setpoint/, { name: 'temperature', units: ['°C', '°F', 'K'] }],
  [/^soil_moisture|^moisture/, { name: 'moisture', units: ['%'] }],
  [/humidity/, { name: 'humidity', units: ['%'] }],
  [/^battery/, { name: 'battery', units: ['%'] }],
  [/pressure/, { name: 'atmospheric_pressure', units: ['hPa', 'mbar', 'kPa', 'Pa', 'bar'] }],
  [/illuminance/, { name: 'illuminance', units: ['lx'] }],
  [/co2/, { name: 'carbon_dioxide', units: ['ppm'] }],
  [/pm25/, { name: 'pm25', units: ['µg/m³'] }],
  [/pm10/, { name: 'pm10', units: ['µg/m³'] }],
  [/energy/, { name: 'energy', units: ['Wh', 'kWh', 'MWh'] }],
  [/power/, { name: 'power', units: ['W', 'kW'] }],
  [/voltage/, { name: 'voltage', units: ['V', 'mV'] }],
  [/current/, { name: 'current', units: ['A', 'mA'] }],
  [/frequency/, { name: 'frequency', units: ['Hz', 'kHz', 'MHz', 'GHz'] }],
  [/signal|rssi/, { name: 'signal_strength', units: ['dB', 'dBm'] }],
  [/distance/, { name: 'distance', units: ['m', 'cm', 'mm', 'km'] }],
];

/** A `contact` is true while it is closed; Home Assistant's opening is "on" while it is open. */
const inverted: readonly string[] = ['contact'];
export const isInverted = (key: string): boolean => inverted.includes(key);

const binaries: readonly (readonly [key: RegExp, name: string])[] = [
  [/^motion/, 'motion'],
  [/^occupancy/, 'occupancy'],
  [/^presence/, 'presence'],
  [/^contact$/, 'opening'],
  [/^water_leak|^leak/, 'moisture'],
  [/^smoke/, 'smoke'],
  [/^gas/, 'gas'],
  [/^carbon_monoxide/, 'carbon_monoxide'],
  [/^vibration/, 'vibration'],
  [/^tamper/, 'tamper'],
  [/^battery_low/, 'battery'],
];

/** What a value is; nothing where it is not known for sure. */
export function classOf({ key, kind, unit = '' }: Capability): Readonly<Record<string, string>> {
  if (kind === 'boolean') {
    const name = binaries.find(([pattern]) => pattern.test(key))?.[1];
    return name === undefined ? {} : { device_class: name };
  }
  const found =
    kind === 'number' ? sensors.find(([pattern, { units }]) => pattern.test(key) && units.includes(unit)) : undefined;
  if (found === undefined) return {};
  const { name } = found[1];
  return { device_class: name, ...(name === 'energy' && { state_class: 'total_increasing' }) };
}
