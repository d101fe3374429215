import type { TFunction } from 'i18next';
import type {
  ActionData,
  ConditionData,
  Operator,
  StateValue,
  TriggerData,
  Weekday,
} from '@station/protocol/automation-flow';
import type { RunSummary } from '@station/protocol/automations';
import { capabilityName, commandName, eventWords, spelled, valueWords } from '../../i18n/device-words.ts';
import { formatDuration } from '../../i18n/format.ts';
import type { Tone } from '../../ui/tone.tsx';
import { capabilityOf, deviceOf, type Surroundings, typeOf } from './automations.ts';
import { type NodeData, nodeTypeOf, type Sentence, type Step } from './sentence.ts';

/* Turns the parts of an automation into text. Each part is a clause after "when", "only if" or an arrow. */

type WithState = { deviceId: string; capability: string };

const nameOf = (around: Surroundings, id: string): string =>
  deviceOf(around, id)?.name ?? around.t('automations.say.gone');

/** The name of a value in the middle of a sentence: "temperature". */
const whatOf = (around: Surroundings, { deviceId, capability }: WithState): string => {
  const { t, locale } = around;
  return midSentence(locale, capabilityName(t, locale, capabilityOf(around, deviceId, capability)));
};

/** "Air pressure" → "air pressure", but "CO₂" stays. */
const midSentence = (locale: string, name: string): string =>
  /^\p{Lu}(?!\p{Lu}|\p{N})/u.test(name) ? name.charAt(0).toLocaleLowerCase(locale) + name.slice(1) : name;

/** A value with its unit; `null` stands for one that is still to be filled in. */
function valueOf(around: Surroundings, { deviceId, capability }: WithState, value: StateValue | null): string {
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
    case 'schedule':
      return data.config.cron === undefined
        ? t('automations.trigger.time', { time: data.config.time ?? '…', days: daysWords(around, data.config.days) })
        : t('automations.trigger.cron', { cron: data.config.cron });
  }
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
  if (data.kind === 'time_range') {
    const { from, to, days } = data.config;
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

function actionWords(around: Surroundings, data: ActionData): string {
  const { t, locale } = around;
  switch (data.kind) {
    case 'device_command':
      return commandWords(around, data.config);
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
  const own = ownCommand(action, params, command?.sets);
  if (own !== null) return t(`automations.do.${own}`, { device });
  const [name, ...more] = Object.keys(command?.params?.properties ?? {});
  if (command !== undefined && name === undefined)
    return t('automations.do.named', { device, what: midSentence(locale, commandName(locale, command)) });
  const given = name === undefined ? undefined : params[name];
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
function ownCommand(action: string, params: Params, sets: Params = {}): 'on' | 'off' | 'toggle' | null {
  if (action === 'toggle') return 'toggle';
  const named = action === 'turn_on' ? true : action === 'turn_off' ? false : undefined;
  const isOn = sets['on'] ?? sets['power'] ?? (action === 'set_power' ? params['power'] : named);
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
export function sentenceWords(around: Surroundings, { triggers, conditions, actions }: Sentence): string {
  const { t } = around;
  const when = triggers.map((data) => triggerWords(around, data)).join(` ${t('automations.say.or')} `) || '…';
  const then = actions.map((data) => actionWords(around, data)).join(', ') || '…';
  if (conditions.length === 0) return t('automations.say.sentence', { when, then });
  const only = conditions.map((data) => conditionWords(around, data)).join(` ${t('automations.say.and')} `);
  return t('automations.say.guarded', { when, only, then });
}

/** One path through a flow that is no sentence: "When it is 21:30 → if it is warm → turn off Heater". */
export function wayWords(around: Surroundings, way: readonly Step[]): string {
  const { t } = around;
  const [trigger, ...rest] = way;
  const clauses = rest.map(({ data, kind, isNegated }) => {
    if (data === null) return t('automations.say.unknown', { kind });
    if (nodeTypeOf(data) !== 'condition') return nodeWords(around, data);
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
  return nodeWords(nameless, data)
    .replace('«»', '')
    .replaceAll(/\s+/g, ' ')
    .replace(/^[\s:]+/, '')
    .trim();
}

const orElse = (t: TFunction, key: string, fallback: string): string =>
  (t as (key: string, options: { defaultValue: string }) => string)(key, { defaultValue: fallback });

/** What is wrong with a flow, in the reader's language; the station's own English for what this page does not know. */
export const flowFaultWords = (t: TFunction, { code, message }: { code: string; message: string }): string =>
  orElse(t, `automations.flowFault.${code}`, message);

export const automationConditionWords = (t: TFunction, { code, message }: { code: string; message: string }): string =>
  orElse(t, `automations.condition.${code}`, message);

/** The icon of a run: only runs that need attention stand out. */
export const toneOfRun: Record<RunSummary['status'], Tone> = {
  running: 'working',
  waiting: 'working',
  completed: 'ok',
  failed: 'fault',
  interrupted: 'attention',
  missed: 'attention',
  replaced: 'ok',
  stopped: 'ok',
  skipped: 'attention',
};

/** What started it. */
export function triggerOfRun({ t, ...around }: Surroundings, { trigger }: RunSummary): string {
  const device =
    trigger.deviceId === null
      ? t('automations.say.gone')
      : (deviceOf({ t, ...around }, trigger.deviceId)?.name ?? t('automations.say.gone'));
  return t(`automations.runs.by.${trigger.kind}`, { device });
}

export const statusOfRun = (t: TFunction, { status, reason }: RunSummary): string =>
  reason === 'conditions_not_met' ? t('automations.runs.nothing') : t(`automations.runs.status.${status}`);

/** The result of "Run now". */
export function startedWords(t: TFunction, run: RunSummary): string {
  if (run.status !== 'skipped') return t('automations.page.started');
  return [t('automations.page.notStarted'), reasonOfRun(t, run)].filter((words) => words !== null).join(' ');
}

/** "Done", or the reason why not. */
export const reasonOfRun = (t: TFunction, { reason }: RunSummary): string | null =>
  reason === null ? null : t(`automations.runs.reason.${reason}`);
