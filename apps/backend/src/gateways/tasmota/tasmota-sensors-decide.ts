import { ownValue } from '@station/protocol/own-value';
import { type Feature, featureOf, isKey } from '../features-decide.ts';
import { isRecord, plainText, textIn, type Values } from '../foreign-values-decide.ts';

/** What Tasmota measures, by its word for it: the station's word, and the unit; the name of another value where the unit stands there. */
const quantities: Readonly<Record<string, { key: string; unit?: string; unitIn?: string }>> = {
  Temperature: { key: 'temperature', unitIn: 'TempUnit' },
  DewPoint: { key: 'dew_point', unitIn: 'TempUnit' },
  Humidity: { key: 'humidity', unit: '%' },
  Pressure: { key: 'pressure', unitIn: 'PressureUnit' },
  SeaPressure: { key: 'sea_pressure', unitIn: 'PressureUnit' },
  Illuminance: { key: 'illuminance', unit: 'lx' },
  Moisture: { key: 'soil_moisture', unit: '%' },
  CarbonDioxide: { key: 'co2', unit: 'ppm' },
  eCO2: { key: 'eco2', unit: 'ppm' },
  TVOC: { key: 'voc', unit: 'ppb' },
  'PM2.5': { key: 'pm25', unit: 'µg/m³' },
  PM1: { key: 'pm1', unit: 'µg/m³' },
  PM10: { key: 'pm10', unit: 'µg/m³' },
  Distance: { key: 'distance', unit: 'cm' },
  Weight: { key: 'weight', unit: 'kg' },
  Power: { key: 'power', unit: 'W' },
  ApparentPower: { key: 'apparent_power', unit: 'VA' },
  ReactivePower: { key: 'reactive_power', unit: 'var' },
  Factor: { key: 'power_factor' },
  Frequency: { key: 'frequency', unit: 'Hz' },
  Voltage: { key: 'voltage', unit: 'V' },
  Current: { key: 'current', unit: 'A' },
  Total: { key: 'energy', unit: 'kWh' },
  Today: { key: 'energy_today', unit: 'kWh' },
  Yesterday: { key: 'energy_yesterday', unit: 'kWh' },
  ExportActive: { key: 'energy_exported', unit: 'kWh' },
};

/** `C` and `F` are degrees. */
const degrees: Readonly<Record<string, string>> = { C: '°C', F: '°F' };

const maxSensors = 64;
const maxDepth = 3;
const maxPhases = 8;

/** The numbers of `{"sn":{"AM2301":{"Temperature":21.5},"TempUnit":"C"}}`. The first of a kind has the station's word as key. */
export function sensorsOf(announced: Values): Feature[] {
  const sensors = ownValue(announced, 'sn');
  if (!isRecord(sensors)) return [];
  const found = new Map<string, Feature>();
  for (const [name, value] of Object.entries(sensors)) if (isRecord(value)) addAll({ found, sensors }, [name], value);
  return [...found.values()];
}

type Reading = { found: Map<string, Feature>; sensors: Values };

function addAll(reading: Reading, path: readonly string[], values: Values): void {
  // Its parts are values of the device itself.
  if (/^(?:Shutter|Switch|Button)\d+$/.test(path[0] ?? '')) return;
  for (const [name, value] of Object.entries(values)) {
    if (reading.found.size >= maxSensors) return;
    const inner = [...path, name];
    if (typeof value === 'number') add(reading, inner, name);
    else if (Array.isArray(value)) addPhases(reading, inner, name, value);
    else if (isRecord(value) && path.length < maxDepth) addAll(reading, inner, value);
  }
}

function addPhases(reading: Reading, path: readonly string[], name: string, values: readonly unknown[]): void {
  if (values.length > maxPhases || !values.every((value) => typeof value === 'number')) return;
  for (const at of values.keys()) add(reading, [...path, String(at + 1)], name);
}

function add({ found, sensors }: Reading, path: readonly string[], name: string): void {
  const quantity = ownValue(quantities, name);
  const own = path.join('.');
  // The chip measures its own warmth.
  const isInner = path[0] === 'ESP32';
  const isUsual = quantity !== undefined && !isInner && !found.has(quantity.key);
  const key = isUsual ? quantity.key : own;
  if (!isKey(key) || found.has(key)) return;
  const said = quantity?.unitIn === undefined ? undefined : textIn(sensors, quantity.unitIn);
  const unit = said === undefined ? quantity?.unit : (ownValue(degrees, said ?? '') ?? said);
  const property = { path, key, isReadable: true, isSettable: false, kind: 'number' } as const;
  const feature = featureOf(property, {
    label: plainText(isUsual ? name : path.join(' ')),
    unit: plainText(unit ?? '', 16),
    category: isInner ? 'diagnostic' : null,
  });
  found.set(key, feature);
}
