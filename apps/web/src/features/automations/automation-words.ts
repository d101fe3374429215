import type {
  ActionData,
  ConditionData,
  Flow,
  Operator,
  StateValue,
  SunTime,
  TriggerData,
  Weekday,
} from '@station/protocol/automation-flow';
import type { Device } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import { capabilityName, commandName, eventWords, spelled, valueWords } from '../../i18n/device-words.ts';
import { formatDuration } from '../../i18n/format.ts';
import {
  capabilityOf,
  deviceOf,
  devicesOfZone,
  longestName,
  sceneOf,
  type Surroundings,
  typeOf,
  zoneOf,
} from './automations.ts';
import { type NodeData, nodeTypeOf, type Sentence, sentenceOf, type Step, type StepData } from './sentence.ts';

/** What it is called: its name, or what it does. */
export function titleOf(around: Surroundings, { name, flow }: { name: string; flow: Flow | undefined }): string {
  if (name !== '') return name;
  const sentence = flow && sentenceOf(flow);
  const words = sentence ? sentenceWords(around, sentence) : around.t('automations.unnamed');
  return words.length <= longestName ? words : `${words.slice(0, longestName - 1).trimEnd()}…`;
}

/* Turns the parts of an automation into text. Each part is a clause after "when", "only if" or an arrow. */

type WithState = { deviceId: string; capability: string };

export const nameOf = (around: Surroundings, id: string): string =>
  deviceOf(around, id)?.name ?? around.t('automations.say.gone');

/** The name of a value in the middle of a sentence: "temperature". */
const whatOf = (around: Surroundings, { deviceId, capability }: WithState): string => {
  const { t, locale } = around;
  return midSentence(locale, capabilityName(t, locale, capabilityOf(around, deviceId, capability)));
};

/** "Air pressure" → "air pressure", but "CO₂" stays, and so do German nouns. */
const midSentence = (locale: string, name: string): string =>
  !locale.startsWith('de') && /^\p{Lu}(?!\p{Lu}|\p{N})/u.test(name)
    ? name.charAt(0).toLocaleLowerCase(locale) + name.slice(1)
    : name;

/** A value with its unit; `null` stands for one that is still to be filled in. */
export function valueOf(around: Surroundings, { deviceId, capability }: WithState, value: StateValue | null): string {
  if (value === null || Number.isNaN(value)) return '…';
  const words = valueWords(around.t, around.locale, {
    capability: capabilityOf(around, deviceId, capability, value),
    value,
  });
  if (typeof value === 'string') return around.t('automations.say.quoted', { value: words });
  return typeof value === 'boolean' ? midSentence(around.locale, words) : words;
}

/** Values that have a clause of their own: "is turned on" rather than "power becomes on". */
function ownClause(capability: string, operator: Operator, value: unknown): 'True' | 'False' | null {
  if (typeof value !== 'boolean' || !['power', 'on', 'motion'].includes(capability)) return null;
  if (operator === 'eq') return value ? 'True' : 'False';
  return operator === 'ne' ? (value ? 'False' : 'True') : null;
}

function triggerWords(around: Surroundings, data: TriggerData): string {
  const { t } = around;
  switch (data.kind) {
    case 'device_event_received':
      return eventTriggerWords(around, data.config);
    case 'device_state_changed':
      return stateTriggerWords(around, data.config);
    case 'device_status_changed':
      return t(`automations.trigger.status.${data.config.status ?? 'any'}`, {
        device: nameOf(around, data.config.deviceId),
      });
    case 'zone_state_changed':
      return ofZone(around, data.config, 'any', (all, deviceId) =>
        stateTriggerWords(all, { ...data.config, deviceId }),
      );
    case 'schedule':
      if (data.config.sun !== undefined)
        return sunWords(around, 'trigger.sun', data.config.sun, daysWords(around, data.config.days));
      return data.config.cron === undefined
        ? t('automations.trigger.time', { time: data.config.time ?? '…', days: daysWords(around, data.config.days) })
        : t('automations.trigger.cron', { cron: data.config.cron });
  }
}

/** Stands for the name of a device until the clause is complete; in some languages names are quoted, and zones are not. */
const standIn = '\u2042';

/** A clause about a device, said about "any device in Hall" or "everything in Hall". */
function ofZone(
  around: Surroundings,
  { zoneId, ...about }: { zoneId: string; capability?: string; action?: string },
  which: 'any' | 'all',
  clause: (around: Surroundings, deviceId: string) => string,
): string {
  const { t } = around;
  const zone = zoneOf(around, zoneId)?.name;
  const name = zone === undefined ? t('automations.say.goneZone') : t(`automations.say.${which}In`, { zone });
  // A device that knows the value or the command stands for all of them.
  const like = devicesOfZone(around, zoneId).find(({ id }) => {
    const type = typeOf(around, id);
    return about.action === undefined
      ? type?.capabilities.some(({ key }) => key === about.capability)
      : type?.commands.some(({ action }) => action === about.action);
  });
  const devices = [{ ...(like ?? ({ type: '', state: {} } as Device)), id: zoneId, name: standIn }];
  return clause({ ...around, devices }, zoneId).replaceAll(new RegExp(`[«„]?${standIn}[»”]?`, 'g'), name);
}

type Sun = 'sunrise' | 'sunset' | 'beforeSunrise' | 'beforeSunset' | 'afterSunrise' | 'afterSunset';

export function sunKey({ event, offsetMinutes = 0 }: SunTime): Sun {
  if (offsetMinutes === 0) return event;
  const when = offsetMinutes < 0 ? 'before' : 'after';
  return event === 'sunrise' ? `${when}Sunrise` : `${when}Sunset`;
}

/** `trigger.sun`: "the sun sets, every day"; `sun`: "sunset". */
function sunWords({ t, locale }: Surroundings, group: 'sun' | 'trigger.sun', sun: SunTime, days = ''): string {
  const minutes = Math.abs(sun.offsetMinutes ?? 0);
  const duration = Number.isFinite(minutes) ? formatDuration(locale, minutes * 60_000) : '…';
  return t(`automations.${group}.${sunKey(sun)}`, { duration, days });
}

const ownEvents = ['motion_detected', 'motion_cleared', 'button_pressed'] as const;
/** Devices in the field call it so. */
const eventOf = (action: string): string => (action === 'button_press' ? 'button_pressed' : action);

function eventTriggerWords(around: Surroundings, { deviceId, action }: { deviceId: string; action?: string }): string {
  const { t } = around;
  const device = nameOf(around, deviceId);
  if (action === undefined) return t('automations.trigger.event.any', { device });
  const own = ownEvents.find((event) => event === eventOf(action));
  return own === undefined
    ? t('automations.trigger.event.other', {
        device,
        event: eventWords(t, around.locale, { action }, typeOf(around, deviceId)),
      })
    : t(`automations.trigger.event.${own}`, { device });
}

function stateTriggerWords(
  around: Surroundings,
  config: WithState & { operator?: Operator; value?: StateValue | null },
): string {
  const { t } = around;
  const device = nameOf(around, config.deviceId);
  const what = whatOf(around, config);
  if (config.operator === undefined || config.value === undefined)
    return t('automations.trigger.state.any', { device, what });
  const own = ownClause(config.capability, config.operator, config.value);
  if (own)
    return t(`automations.trigger.state.${config.capability === 'motion' ? 'motion' : 'power'}${own}`, { device });
  const value = valueOf(around, config, config.value);
  return t(`automations.trigger.state.${config.operator}`, { device, what, value });
}

function conditionWords(around: Surroundings, data: ConditionData): string {
  const { t } = around;
  if (data.kind === 'wait_until') return waitWords(around, data, true);
  if (data.kind === 'time_range') {
    const { days } = data.config;
    const say = (bound: string | SunTime): string =>
      typeof bound === 'string' ? bound : sunWords(around, 'sun', bound);
    const from = say(data.config.from);
    const to = say(data.config.to);
    return days === undefined
      ? t('automations.only.time', { from, to })
      : t('automations.only.timeOn', { from, to, days: daysWords(around, days) });
  }
  const { config } = data;
  const operator = data.kind === 'numeric_compare' ? data.config.operator : 'eq';
  const device = nameOf(around, config.deviceId);
  const own = ownClause(config.capability, operator, config.value);
  if (own) return t(`automations.only.${config.capability === 'motion' ? 'motion' : 'power'}${own}`, { device });
  const value = valueOf(around, config, config.value);
  return t(`automations.only.${operator}`, { device, what: whatOf(around, config), value });
}

function waitWords(
  around: Surroundings,
  { config }: Extract<ConditionData, { kind: 'wait_until' }>,
  goesOn: boolean,
): string {
  const { t, locale } = around;
  const duration = Number.isFinite(config.seconds) ? formatDuration(locale, config.seconds * 1_000) : '…';
  return t(goesOn ? 'automations.do.waitUntil' : 'automations.do.waitOrStop', {
    what: conditionWords(around, config.until),
    duration,
  });
}

const sayStep = (around: Surroundings, data: StepData): string =>
  data.kind === 'wait_until' ? waitWords(around, data, data.goesOn) : actionWords(around, data);

function actionWords(around: Surroundings, data: ActionData): string {
  const { t, locale } = around;
  switch (data.kind) {
    case 'zone_command':
      return ofZone(around, data.config, 'all', (all, deviceId) => commandWords(all, { ...data.config, deviceId }));
    case 'device_command':
      return commandWords(around, data.config);
    case 'scene': {
      const scene = sceneOf(around, data.config.sceneId)?.name;
      return scene === undefined ? t('automations.do.goneScene') : t('automations.do.scene', { scene });
    }
    case 'delay':
      return t('automations.do.delay', {
        duration: Number.isFinite(data.config.seconds) ? formatDuration(locale, data.config.seconds * 1000) : '…',
      });
    case 'webhook':
      return t('automations.do.webhook', { address: hostOf(data.config.url) });
    case 'notify':
      return t('automations.do.notify', { message: data.config.message || '…' });
  }
}

function commandWords(
  around: Surroundings,
  { deviceId, action, params = {} }: { deviceId: string; action: string; params?: Params },
): string {
  const { t, locale } = around;
  const device = nameOf(around, deviceId);
  if (action === 'reboot') return t('automations.do.restart', { device });
  const command = typeOf(around, deviceId)?.commands.find((one) => one.action === action);
  const own = ownCommand(action, command?.sets);
  if (own !== null) return t(`automations.do.${own}`, { device });
  const [name, ...more] = Object.keys(command?.params?.properties ?? {});
  if (command !== undefined && name === undefined)
    return t('automations.do.named', { device, what: midSentence(locale, commandName(locale, command)) });
  const given = name === undefined ? undefined : ownValue(params, name);
  if (name === undefined || more.length > 0 || given === undefined)
    return t('automations.do.command', { device, action: [spelled(action), ...Object.values(params)].join(' ') });
  const set = { deviceId, capability: name };
  return t('automations.do.set', {
    device,
    what: whatOf(around, set),
    value: valueOf(around, set, given as StateValue),
  });
}

type Params = Readonly<Record<string, unknown>>;

/** Commands that have a clause of their own; also those of a removed device, of which only the command is known. */
function ownCommand(action: string, sets: Params = {}): 'on' | 'off' | 'toggle' | null {
  if (action === 'toggle') return 'toggle';
  const named = action === 'turn_on' ? true : action === 'turn_off' ? false : undefined;
  const isOn = sets['on'] ?? sets['power'] ?? named;
  return typeof isOn === 'boolean' ? (isOn ? 'on' : 'off') : null;
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url === '' ? '…' : url);

/** In the order of the week, Monday first. */
export const weekdays: readonly Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/** "Mon"; a Monday is the first of the year 2024. */
export const weekdayName = (locale: string, day: Weekday): string =>
  new Intl.DateTimeFormat(locale, { weekday: 'short', timeZone: 'UTC' }).format(
    Date.UTC(2024, 0, 1 + weekdays.indexOf(day)),
  );

function daysWords({ t, locale }: Surroundings, days: readonly Weekday[] | undefined): string {
  if (days === undefined || days.length === weekdays.length) return t('automations.days.all');
  const chosen = weekdays.filter((day) => days.includes(day));
  const isOf = (some: readonly Weekday[]): boolean => chosen.join() === some.join();
  if (isOf(weekdays.slice(0, 5))) return t('automations.days.workdays');
  if (isOf(weekdays.slice(5))) return t('automations.days.weekend');
  return t('automations.days.some', { list: chosen.map((day) => weekdayName(locale, day)).join(', ') });
}

/** "When Hall switch detects motion → turn on Hall light, wait 2 min, turn off Hall light" */
export function sentenceWords(around: Surroundings, { triggers, conditions, actions, otherwise }: Sentence): string {
  const { t } = around;
  const when = triggers.map((data) => triggerWords(around, data)).join(` ${t('automations.say.or')} `) || '…';
  const stepsOf = (steps: readonly StepData[]): string => steps.map((data) => sayStep(around, data)).join(', ') || '…';
  const then = stepsOf(actions);
  if (conditions.length === 0) return t('automations.say.sentence', { when, then });
  const only = conditions.map((data) => conditionWords(around, data)).join(` ${t('automations.say.and')} `);
  if (otherwise.length === 0) return t('automations.say.guarded', { when, only, then });
  return t('automations.say.either', { when, only, then, otherwise: stepsOf(otherwise) });
}

/** One path through a flow that is no sentence: "When it is 21:30 → if it is warm → turn off Heater". */
export function wayWords(around: Surroundings, way: readonly Step[]): string {
  const { t } = around;
  const [trigger, ...rest] = way;
  const clauses = rest.map(({ data, kind, isNegated }) => {
    if (data === null) return t('automations.say.unknown', { kind });
    if (data.kind === 'wait_until' && isNegated)
      return t('automations.say.outOfTime', { what: conditionWords(around, data.config.until) });
    if (nodeTypeOf(data) !== 'condition' || data.kind === 'wait_until') return nodeWords(around, data);
    return t(isNegated ? 'automations.say.ifNot' : 'automations.say.if', { what: nodeWords(around, data) });
  });
  const when = trigger === undefined ? '…' : stepWords(around, trigger);
  return t('automations.say.sentence', { when, then: clauses.join(' →\u00a0') || '…' });
}

const stepWords = (around: Surroundings, { data, kind }: Step): string =>
  data === null ? around.t('automations.say.unknown', { kind }) : nodeWords(around, data);

export function nodeWords(around: Surroundings, data: NodeData): string {
  switch (nodeTypeOf(data)) {
    case 'trigger':
      return triggerWords(around, data as TriggerData);
    case 'condition':
      return conditionWords(around, data as ConditionData);
    case 'action':
      return actionWords(around, data as ActionData);
  }
}

/** A clause beside the name of its device, so without that name: "detects motion", "turn on". */
export function briefWords(around: Surroundings, data: NodeData): string {
  const { t } = around;
  if (data.kind === 'device_event_received') {
    if (data.config.action === undefined) return t('automations.trigger.brief.any');
    if (eventOf(data.config.action) === 'button_pressed') return t('automations.trigger.brief.button');
  }
  const nameless = { ...around, devices: around.devices.map((device) => ({ ...device, name: '' })) };
  return withoutZone(nameless, data)
    .replace('«»', '')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[\s:]+/, '')
    .trim();
}

/** In the list of what a zone can do, its clauses are those of a device without a name. */
function withoutZone(around: Surroundings, data: NodeData): string {
  if (data.kind !== 'zone_state_changed' && data.kind !== 'zone_command') return nodeWords(around, data);
  const whole = nodeWords(around, data);
  const { t } = around;
  const zone = zoneOf(around, data.config.zoneId)?.name ?? '';
  return whole
    .replace(t('automations.say.anyIn', { zone }), '')
    .replace(t('automations.say.allIn', { zone }), '')
    .replace(t('automations.say.goneZone'), '');
}
