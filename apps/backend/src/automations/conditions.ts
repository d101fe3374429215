import {
  type ConditionData,
  type Operator,
  type StateValue,
  type Weekday,
  weekdays,
} from '@station/protocol/automation-flow';

/** Facts for conditions. */
export type ConditionFacts = {
  /** State of the condition's device; null when there is no such device, or the condition has none. */
  state: Readonly<Record<string, unknown>> | null;
  /** Time in the station's time zone. */
  time: LocalTime;
};

type Judgement = { met: boolean; detail: string };

/** Whether a condition is met, and the compared value. Pure. */
export function judge({ kind, config }: ConditionData, { state, time }: ConditionFacts): Judgement {
  switch (kind) {
    case 'state_equals':
      return judgeValue(state, config.capability, (value) => compare('eq', value, config.value));
    case 'numeric_compare':
      return judgeValue(state, config.capability, (value) => compare(config.operator, value, config.value));
    case 'time_range':
      return { met: isWithin(time, config), detail: `It was ${time.weekday} ${clockFace(time.minutes)}.` };
  }
}

/** Null for conditions without a device. */
export const deviceOf = (data: ConditionData): string | null =>
  data.kind === 'time_range' ? null : data.config.deviceId;

function judgeValue(state: ConditionFacts['state'], capability: string, test: (value: unknown) => boolean): Judgement {
  if (state === null) return { met: false, detail: 'There is no such device.' };
  const value = Object.hasOwn(state, capability) ? state[capability] : undefined;
  if (value === undefined) return { met: false, detail: 'The device never reported this value.' };
  return { met: test(value), detail: `The value was ${JSON.stringify(value).slice(0, 100)}.` };
}

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

function isWithin({ minutes, weekday }: LocalTime, { from, to, days }: Range): boolean {
  const [begin, end] = [minutesOf(from), minutesOf(to)];
  const isDay = (day: Weekday): boolean => days === undefined || days.includes(day);
  if (begin < end) return begin <= minutes && minutes < end && isDay(weekday);
  // Range over midnight: the evening belongs to its own weekday, the morning to the day before.
  if (minutes >= begin) return isDay(weekday);
  return minutes < end && isDay(dayBefore(weekday));
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
const clockFace = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
const dayBefore = (day: Weekday): Weekday => weekdays[(weekdays.indexOf(day) + 6) % 7] ?? day;

/** A local time of day. */
type LocalTime = { weekday: Weekday; /** Minutes since midnight, by the local clock. */ minutes: number };

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * @param timeZone IANA name; an unknown one counts as UTC.
 * @param epochMs milliseconds since the epoch.
 */
export function localTime(epochMs: number, timeZone: string): LocalTime {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(epochMs)
      .map(({ type, value }) => [type, value]),
  );
  const name = parts.get('weekday')?.toLowerCase();
  return {
    weekday: weekdays.find((day) => day === name) ?? 'mon',
    minutes: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
  };
}

/** Formatters are cached: creating one costs far more than using it. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = makeFormat(timeZone) ?? makeFormat('UTC')!;
  if (formats.size > 10) formats.clear();
  formats.set(timeZone, format);
  return format;
}

function makeFormat(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
  } catch {
    return null;
  }
}
