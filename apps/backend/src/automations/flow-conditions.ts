import {
  type ConditionData,
  type InstantCondition,
  type Operator,
  type StateValue,
  type SunTime,
  type Weekday,
  weekdays,
} from '@station/protocol/automation-flow';
import type { StepSeen } from '@station/protocol/automations';
import { ownValue } from '@station/protocol/own-value';
import type { LocalTime } from '../core/local-time.ts';
import type { SunDay, SunDays } from './sun.ts';

/** Facts for conditions. */
export type ConditionFacts = {
  /** State of the condition's device; null when there is no such device, or the condition has none. */
  state: Readonly<Record<string, unknown>> | null;
  /** Time in the station's time zone. */
  time: LocalTime;
  /** Null: the station has no place. */
  sun: SunDays | null;
};

export type Judgement = { met: boolean; detail: string; seen: StepSeen };

/** What is judged: a wait has its condition inside. */
export const instantOf = (data: ConditionData): InstantCondition =>
  data.kind === 'wait_until' ? data.config.until : data;

/** Whether a condition is met, and the compared value. Pure. */
export function judge({ kind, config }: InstantCondition, { state, time, sun }: ConditionFacts): Judgement {
  switch (kind) {
    case 'state_equals':
      return judgeValue(state, config.capability, (value) => compare('eq', value, config.value));
    case 'numeric_compare':
      return judgeValue(state, config.capability, (value) => compare(config.operator, value, config.value));
    case 'time_range':
      return judgeTime(config, time, sun);
  }
}

/** Null for conditions without a device. */
export const deviceOf = (data: InstantCondition): string | null =>
  data.kind === 'time_range' ? null : data.config.deviceId;

function judgeValue(state: ConditionFacts['state'], capability: string, test: (value: unknown) => boolean): Judgement {
  const none = { met: false, seen: { value: null } };
  if (state === null) return { ...none, detail: 'There is no such device.' };
  const value = ownValue(state, capability);
  if (value === undefined) return { ...none, detail: 'The device never reported this value.' };
  const text = JSON.stringify(value).slice(0, longestSeen);
  const seen = typeof value === 'number' || typeof value === 'boolean' ? value : textOf(value);
  return { met: test(value), detail: `The value was ${text}.`, seen: { value: seen } };
}

const longestSeen = 100;
const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, longestSeen);

/** A missing value meets no comparison. */
export function compare(operator: Operator, left: unknown, right: StateValue): boolean {
  if (left === undefined || left === null) return false;
  if (operator === 'eq') return left === right;
  if (operator === 'ne') return left !== right;
  if (typeof left !== 'number' || typeof right !== 'number') return false;
  switch (operator) {
    case 'lt':
      return left < right;
    case 'lte':
      return left <= right;
    case 'gt':
      return left > right;
    case 'gte':
      return left >= right;
  }
}

type Range = Extract<ConditionData, { kind: 'time_range' }>['config'];

function judgeTime(range: Range, time: LocalTime, sun: SunDays | null): Judgement {
  const { from, to } = range;
  const seen: StepSeen = { time: clockFace(time.minutes), weekday: time.weekday };
  const was = `It was ${time.weekday} ${clockFace(time.minutes)}`;
  if (typeof from === 'string' && typeof to === 'string') {
    return { met: isWithin(time, range, () => null), detail: `${was}.`, seen };
  }
  if (sun === null) return { met: false, detail: `${was}; the place of the station is not set.`, seen };
  for (const [name, bound] of [
    ['from', from],
    ['to', to],
  ] as const) {
    if (typeof bound !== 'string') seen[name] = clockFace(boundOn(bound, sun.today));
  }
  const bounds = [seen.from ?? from, seen.to ?? to].map(String).join(' to ');
  return { met: isWithin(time, range, (day) => sun[day]), detail: `${was}; the range was ${bounds}.`, seen };
}

/** The range that began today, or the one that began yesterday. The evening of a range over midnight belongs to its own weekday. */
function isWithin(
  { minutes, weekday }: LocalTime,
  { from, to, days }: Range,
  sunOn: (day: keyof SunDays) => SunDay | null,
): boolean {
  const isDay = (day: Weekday): boolean => days === undefined || days.includes(day);
  const isIn = (start: keyof SunDays, end: keyof SunDays, startMinutes: number, endMinutes: number): boolean =>
    startMinutes + boundOn(from, sunOn(start)) <= minutes && minutes < endMinutes + boundOn(to, sunOn(end));
  if (isOverMidnight(from, to)) {
    const began = isDay(dayBefore(weekday)) && isIn('yesterday', 'today', -dayMinutes, 0);
    return began || (isDay(weekday) && isIn('today', 'tomorrow', 0, dayMinutes));
  }
  const began = isDay(dayBefore(weekday)) && isIn('yesterday', 'yesterday', -dayMinutes, -dayMinutes);
  return began || (isDay(weekday) && isIn('today', 'today', 0, 0));
}

const dayMinutes = 24 * 60;
type Bound = string | SunTime;

/**
 * Must not change with the season: "from 20:00 until sunset" is an evening in summer and empty in winter. So the sun counts as the hour that
 * it hardly ever has beside the given time.
 */
function isOverMidnight(from: Bound, to: Bound): boolean {
  if (typeof from !== 'string' && typeof to !== 'string') {
    if (from.event !== to.event) return from.event === 'sunset';
    return (from.offsetMinutes ?? 0) >= (to.offsetMinutes ?? 0);
  }
  const begin = typeof from === 'string' ? from : from.event === 'sunrise' ? '03:00' : '12:00';
  const end = typeof to === 'string' ? to : to.event === 'sunrise' ? '12:00' : '22:00';
  if (typeof from !== 'string') return minutesOf(begin) > minutesOf(end);
  return minutesOf(begin) >= minutesOf(end);
}

function boundOn(bound: Bound, sun: SunDay | null): number {
  if (typeof bound === 'string') return minutesOf(bound);
  if (sun === null) return Number.NaN;
  return sun[bound.event] + (sun.isPolar ? 0 : (bound.offsetMinutes ?? 0));
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
/** Minutes may be before the midnight or after the next one. */
function clockFace(minutes: number): string {
  const ofDay = ((minutes % dayMinutes) + dayMinutes) % dayMinutes;
  return `${String(Math.floor(ofDay / 60)).padStart(2, '0')}:${String(ofDay % 60).padStart(2, '0')}`;
}
const dayBefore = (day: Weekday): Weekday => weekdays[(weekdays.indexOf(day) + 6) % 7] ?? day;
