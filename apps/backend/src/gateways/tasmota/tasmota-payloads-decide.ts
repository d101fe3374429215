import { ownValue, setOwnValue } from '@station/protocol/own-value';
import type { DevicePlan } from '../dialect.ts';
import { isRecord, type Values } from '../foreign-values-decide.ts';

/** Says nothing of the device, and is new with each message. */
const left: readonly string[] = ['Time', 'TempUnit', 'PressureUnit', 'SpeedUnit', 'Uptime', 'UptimeSec'];
/** A list of numbers, such as the phases of a meter, is a value for each of so many. */
const maxNumbers = 8;
const maxDepth = 4;

const movements: Readonly<Record<string, string>> = { '-1': 'closing', '0': 'stopped', '1': 'opening' };

/** The values of a device at the same places in every message (tasmota.github.io, "Commands", "Buttons and Switches", "Blinds and Shutters"). */
export function normalised(payload: Values, plan: DevicePlan): Values {
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(payload)) {
    if (!left.includes(name)) setAll(values, name, value, plan);
  }
  return values;
}

function setAll(values: Record<string, unknown>, name: string, value: unknown, plan: DevicePlan): void {
  const [, part = '', number = ''] = /^(Shutter|Button|Switch)(\d+)$/.exec(name) ?? [];
  if (part === 'Shutter' && isRecord(value)) return setShutter(values, number, value, plan);
  if (part !== '' && isRecord(value)) return setAction(values, `${part}${number}`, value);
  // One relay alone has no number.
  if (name === 'POWER') return setOwnValue(values, 'POWER1', value);
  if (name === 'HSBColor' && typeof value === 'string') return setColour(values, value);
  if (name === 'Channel' && isNumbers(value))
    return value.forEach((one, at) => setOwnValue(values, `Channel${at + 1}`, one));
  setOwnValue(values, name, spread(value, 0));
}

function setShutter(values: Record<string, unknown>, number: string, shutter: Values, plan: DevicePlan): void {
  const position = `ShutterPosition${number}`;
  setOwnValue(values, position, ownValue(shutter, 'Position') ?? null);
  const isTurned = plan.properties.some(
    (one) => one.kind === 'number' && one.isTurned === true && one.path[0] === position,
  );
  const direction = ownValue(shutter, 'Direction');
  if (typeof direction !== 'number') return;
  const turned = isTurned && direction !== 0 ? -direction : direction;
  setOwnValue(values, `Movement${number}`, ownValue(movements, String(turned)) ?? 'stopped');
}

/** `{"Button1":{"Action":"DOUBLE"}}`: somebody pressed it. */
function setAction(values: Record<string, unknown>, name: string, body: Values): void {
  const action = ownValue(body, 'Action');
  if (typeof action !== 'string') return;
  setOwnValue(values, 'action', `${name}_${action}`.toLowerCase());
  if (name.startsWith('Switch') && (action === 'ON' || action === 'OFF')) setOwnValue(values, name, action);
}

/** `120,100,50`: hue in degrees, saturation and brightness in percent. */
function setColour(values: Record<string, unknown>, text: string): void {
  const numbers = text.split(',').map(Number);
  if (numbers.length === 3 && numbers.every(Number.isFinite))
    setOwnValue(values, 'color', { hue: numbers.at(0), saturation: numbers.at(1) });
}

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length <= maxNumbers && value.every((one) => typeof one === 'number');

function spread(value: unknown, depth: number): unknown {
  if (isNumbers(value)) return Object.fromEntries(value.map((one, at) => [String(at + 1), one]));
  if (!isRecord(value) || depth >= maxDepth) return value;
  const inner: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) setOwnValue(inner, name, spread(one, depth + 1));
  return inner;
}
