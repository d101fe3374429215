import type { TriggerData } from '@station/protocol/automation-flow';
import type { RunTrigger } from '@station/protocol/automations';
import type { DeviceReport } from '../core/device-events.ts';
import { compare } from './conditions.ts';

type ConfigOf<K extends TriggerData['kind']> = Extract<TriggerData, { kind: K }>['config'];
type State = Readonly<Record<string, unknown>>;
/** What a trigger says of why it fired. */
export type Firing = Pick<RunTrigger, 'data'>['data'];

/** Confirmations and progress are a device's answers to the station, not something that happened. */
const answers = new Set<unknown>(['command_ack', 'ota_progress']);

/** @returns null when the trigger does not fire. Pure. */
export function fireOnEvent(
  config: ConfigOf<'device_event_received'>,
  report: Extract<DeviceReport, { kind: 'event' }>,
): Firing | null {
  const { action } = report.data;
  if (config.action === undefined ? answers.has(action) : config.action !== action) return null;
  if (config.event !== undefined && config.event !== report.eventKind) return null;
  return { event: report.eventKind, data: shortened(report.data) };
}

/**
 * Fires on the change into what is asked for, not on each report of it.
 * @param before state of the device without the report.
 * @returns null when the trigger does not fire. Pure.
 */
export function fireOnState(
  config: ConfigOf<'device_state_changed'>,
  before: State,
  report: Extract<DeviceReport, { kind: 'state' }>,
): Firing | null {
  const { capability, operator, value } = config;
  if (!Object.hasOwn(report.state, capability)) return null;
  const from = Object.hasOwn(before, capability) ? before[capability] : undefined;
  const to = report.state[capability];
  const fired =
    operator === undefined || value === undefined
      ? !isSame(from, to)
      : compare(operator, to, value) && !compare(operator, from, value);
  return fired ? { capability, from: shortened(from ?? null), to: shortened(to) } : null;
}

const isSame = (left: unknown, right: unknown): boolean =>
  left === right || (typeof left === 'object' && JSON.stringify(left) === JSON.stringify(right));

const longest = 1_000;
/** Kept with each run: a device may send much. */
const shortened = (value: unknown): unknown => {
  const text = JSON.stringify(value) ?? 'null';
  return text.length <= longest ? value : `${text.slice(0, longest)}…`;
};
