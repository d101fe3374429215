import { ownValue, setOwnValue } from '@station/protocol/own-value';
import type { Presence } from '../dialect.ts';
import { isRecord, plainText, textIn, type Values } from '../foreign-values-decide.ts';

/**
 * Messages of Home Assistant's MQTT discovery (home-assistant.io, "MQTT", sections "MQTT Discovery", "Device discovery payload" and "Supported
 * abbreviations in MQTT discovery messages"): one for each component, or one for all of a device.
 */

/** Of which device a component is. */
type About = { externalId: string; name: string; model: string | null; firmwareVersion: string | null };

/** A component as it announces itself: long keys, whole topics. */
export type Announced = {
  /** Such as `switch`. */
  component: string;
  /** Its id below the device. */
  id: string;
  label: string | null;
  config: Values;
  about: About;
};

/** Short keys of what is read here. */
const long: Readonly<Record<string, string>> = {
  act_t: 'action_topic',
  act_tpl: 'action_template',
  avty: 'availability',
  avty_t: 'availability_topic',
  avty_tpl: 'availability_template',
  bri_cmd_t: 'brightness_command_topic',
  bri_scl: 'brightness_scale',
  bri_stat_t: 'brightness_state_topic',
  bri_val_tpl: 'brightness_value_template',
  clr_temp_cmd_t: 'color_temp_command_topic',
  clr_temp_k: 'color_temp_kelvin',
  clr_temp_stat_t: 'color_temp_state_topic',
  clr_temp_val_tpl: 'color_temp_value_template',
  cmd_t: 'command_topic',
  cmps: 'components',
  cns: 'connections',
  curr_hum_t: 'current_humidity_topic',
  curr_hum_tpl: 'current_humidity_template',
  curr_temp_t: 'current_temperature_topic',
  curr_temp_tpl: 'current_temperature_template',
  dev: 'device',
  dev_cla: 'device_class',
  dir_cmd_t: 'direction_command_topic',
  dir_stat_t: 'direction_state_topic',
  dir_val_tpl: 'direction_value_template',
  ent_cat: 'entity_category',
  evt_typ: 'event_types',
  exp_aft: 'expire_after',
  fan_mode_cmd_t: 'fan_mode_command_topic',
  fan_mode_stat_t: 'fan_mode_state_topic',
  fan_mode_stat_tpl: 'fan_mode_state_template',
  fx_cmd_t: 'effect_command_topic',
  fx_list: 'effect_list',
  fx_stat_t: 'effect_state_topic',
  fx_val_tpl: 'effect_value_template',
  hum_cmd_t: 'target_humidity_command_topic',
  hum_stat_t: 'target_humidity_state_topic',
  hum_state_tpl: 'target_humidity_state_template',
  ids: 'identifiers',
  max_hum: 'max_humidity',
  max_k: 'max_kelvin',
  max_mirs: 'max_mireds',
  mdl: 'model',
  min_hum: 'min_humidity',
  min_k: 'min_kelvin',
  min_mirs: 'min_mireds',
  mode_cmd_t: 'mode_command_topic',
  mode_stat_t: 'mode_state_topic',
  mode_stat_tpl: 'mode_state_template',
  off_dly: 'off_delay',
  ops: 'options',
  osc_cmd_t: 'oscillation_command_topic',
  osc_stat_t: 'oscillation_state_topic',
  osc_val_tpl: 'oscillation_value_template',
  p: 'platform',
  pct_cmd_t: 'percentage_command_topic',
  pct_stat_t: 'percentage_state_topic',
  pct_val_tpl: 'percentage_value_template',
  pl: 'payload',
  pl_avail: 'payload_available',
  pl_cls: 'payload_close',
  pl_lock: 'payload_lock',
  pl_not_avail: 'payload_not_available',
  pl_off: 'payload_off',
  pl_on: 'payload_on',
  pl_open: 'payload_open',
  pl_osc_off: 'payload_oscillation_off',
  pl_osc_on: 'payload_oscillation_on',
  pl_prs: 'payload_press',
  pl_stop: 'payload_stop',
  pl_unlk: 'payload_unlock',
  pos_clsd: 'position_closed',
  pos_open: 'position_open',
  pos_t: 'position_topic',
  pos_tpl: 'position_template',
  pr_mode_cmd_t: 'preset_mode_command_topic',
  pr_mode_stat_t: 'preset_mode_state_topic',
  pr_mode_val_tpl: 'preset_mode_value_template',
  pos: 'reports_position',
  pr_modes: 'preset_modes',
  rgb_cmd_t: 'rgb_command_topic',
  rgb_stat_t: 'rgb_state_topic',
  rgb_val_tpl: 'rgb_value_template',
  set_pos_t: 'set_position_topic',
  spd_rng_max: 'speed_range_max',
  spd_rng_min: 'speed_range_min',
  stat_cla: 'state_class',
  stat_closing: 'state_closing',
  stat_clsd: 'state_closed',
  stat_locked: 'state_locked',
  stat_off: 'state_off',
  stat_on: 'state_on',
  stat_open: 'state_open',
  stat_opening: 'state_opening',
  stat_stopped: 'state_stopped',
  stat_t: 'state_topic',
  stat_unlocked: 'state_unlocked',
  stat_val_tpl: 'state_value_template',
  stype: 'subtype',
  sug_dsp_prc: 'suggested_display_precision',
  sup_clrm: 'supported_color_modes',
  sw: 'sw_version',
  swing_mode_cmd_t: 'swing_mode_command_topic',
  swing_mode_stat_t: 'swing_mode_state_topic',
  swing_mode_stat_tpl: 'swing_mode_state_template',
  t: 'topic',
  temp_cmd_t: 'temperature_command_topic',
  temp_hi_cmd_t: 'temperature_high_command_topic',
  temp_hi_stat_t: 'temperature_high_state_topic',
  temp_hi_stat_tpl: 'temperature_high_state_template',
  temp_lo_cmd_t: 'temperature_low_command_topic',
  temp_lo_stat_t: 'temperature_low_state_topic',
  temp_lo_stat_tpl: 'temperature_low_state_template',
  temp_stat_t: 'temperature_state_topic',
  temp_stat_tpl: 'temperature_state_template',
  temp_unit: 'temperature_unit',
  tilt_cmd_t: 'tilt_command_topic',
  tilt_status_t: 'tilt_status_topic',
  tilt_status_tpl: 'tilt_status_template',
  uniq_id: 'unique_id',
  unit_of_meas: 'unit_of_measurement',
  val_tpl: 'value_template',
};

/** Components that one message may have. */
const maxComponents = 128;
const longestName = 64;

/** Keys of a message of a device that count for each of its components. */
const shared: readonly string[] = [
  'availability',
  'availability_topic',
  'availability_template',
  'payload_available',
  'payload_not_available',
  'state_topic',
  'command_topic',
];

function expanded(values: Values): Values {
  const named: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) setOwnValue(named, ownValue(long, key) ?? key, value);
  return named;
}

/** A topic may begin or end with `~`, which is the text under this key. */
function withWholeTopics(values: Values, start: string): Values {
  const whole = (key: string, value: unknown): unknown => {
    if (typeof value !== 'string' || !/(?:^|_)topic$/.test(key) || start === '') return value;
    if (value.startsWith('~')) return start + value.slice(1);
    return value.endsWith('~') ? value.slice(0, -1) + start : value;
  };
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) setOwnValue(result, key, whole(key, value));
  return result;
}

/** What a topic below the discovery prefix announces; null: nothing. */
export function readDiscoveryTopic(rest: string): { component: string; id: string } | null {
  const [, component = '', node = '', id = ''] = /^([\w-]+)\/(?:([\w-]+)\/)?([\w-]+)\/config$/.exec(rest) ?? [];
  // What a station tells Home Assistant does not come back.
  return id === '' || /^station_/.test(node === '' ? id : node) ? null : { component, id };
}

/** The components of a message; one that has its platform alone is gone. */
export function readDiscovery(place: { component: string; id: string }, payload: Values): Announced[] {
  const start = textIn(payload, '~') ?? '';
  const config = withAvailability(withWholeTopics(expanded(payload), start), start);
  const device = ownValue(config, 'device');
  const about = isRecord(device) ? expanded(device) : {};
  if (place.component !== 'device') return [announced(place, config, about)];
  const components = ownValue(config, 'components');
  if (!isRecord(components)) return [];
  const common = Object.entries(config).filter(([key]) => shared.includes(key));
  return Object.entries(components)
    .slice(0, maxComponents)
    .flatMap(([id, values]) => {
      const own = isRecord(values) ? withAvailability(withWholeTopics(expanded(values), start), start) : {};
      const component = textIn(own, 'platform');
      const merged: Record<string, unknown> = Object.fromEntries(common);
      for (const [key, value] of Object.entries(own)) setOwnValue(merged, key, value);
      return component === null || Object.keys(own).length < 2 ? [] : [announced({ component, id }, merged, about)];
    });
}

function withAvailability(config: Values, start: string): Values {
  const listed = ownValue(config, 'availability');
  if (listed === undefined) return config;
  const all = Array.isArray(listed) ? (listed as readonly unknown[]) : [listed];
  const entries = all.slice(0, maxPresences + 1).filter(isRecord);
  return { ...config, availability: entries.map((entry) => withWholeTopics(expanded(entry), start)) };
}

function announced({ component, id }: { component: string; id: string }, config: Values, device: Values): Announced {
  const label = plainText(textIn(config, 'name') ?? '');
  const own = firstText(ownValue(device, 'identifiers')) ?? connectionOf(device) ?? textIn(config, 'unique_id') ?? id;
  return {
    component,
    id: slugOf(id),
    label,
    config: Object.fromEntries(Object.entries(config).filter(([key]) => !told.includes(key))),
    about: {
      externalId: `home_assistant:${addressOf(own)}`,
      name: plainText(textIn(device, 'name') ?? label ?? own, longestName) ?? id.slice(0, longestName),
      model: plainText(textIn(device, 'model') ?? '', longestName),
      firmwareVersion: plainText(textIn(device, 'sw_version') ?? '', 128),
    },
  };
}

/** Read already, or of no use here: what is kept of a message is small without it. */
const told: readonly string[] = [
  '~',
  'device',
  'origin',
  'o',
  'name',
  'icon',
  'ic',
  'object_id',
  'obj_id',
  'unique_id',
];

const slugOf = (id: string): string =>
  id
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 40);

function firstText(value: unknown): string | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' && first !== '' ? first : null;
}

/** `[["mac", "…"]]` */
function connectionOf(device: Values): string | null {
  const connections = ownValue(device, 'connections');
  const first: unknown = Array.isArray(connections) ? connections[0] : null;
  return Array.isArray(first) ? firstText(first[1]) : null;
}

const longestAddress = 48;

/** One level of a topic. What it cannot be as it is gets a number made of it. */
function addressOf(text: string): string {
  if (/^[\w.:-]+$/.test(text) && text.length <= longestAddress) return text;
  // FNV-1a, 32 bits: it tells names apart, and keeps no secret.
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return `${text.replace(/[^\w.:-]/g, '-').slice(0, longestAddress - 9)}-${hash.toString(16).padStart(8, '0')}`;
}

const maxPresences = 4;

/** Where a component says whether it is there. Null: with a template that computes. */
export function presencesOf(config: Values): Presence[] | null {
  const listed = ownValue(config, 'availability');
  const entries: readonly Values[] = Array.isArray(listed)
    ? listed.filter(isRecord)
    : [
        {
          ...config,
          topic: ownValue(config, 'availability_topic'),
          value_template: ownValue(config, 'availability_template'),
        },
      ];
  const found: Presence[] = [];
  for (const entry of entries.slice(0, maxPresences)) {
    const topic = textIn(entry, 'topic');
    const template = textIn(entry, 'value_template');
    const online = textIn(entry, 'payload_available') ?? 'online';
    if (template !== null && saysWhatIsDefined(template, online)) continue;
    const path = template === null ? [] : templatePath(template);
    if (path === null) return null;
    if (topic === null) continue;
    const offline = textIn(entry, 'payload_not_available') ?? 'offline';
    found.push({ topic, path, online: online.slice(0, 64), offline: offline.slice(0, 64) });
  }
  return found;
}

const longestTemplate = 256;
const braces = /^\{\{-?\s*(.+?)\s*-?\}\}$/;
/** `NAME if CONDITION else LITERAL`. */
const guarded = /^(.+?)\s+if\s+(.+?)\s+else\s+(?:-?[\w.]+|'[^']*'|"[^"]*")$/;
/** Changes at most how a value is written (home-assistant.io, "Template functions"). */
const filter = /\s*\|\s*(?:is_defined|string|(?:float|int|round|default)(?:\(\s*[\w.'-]*\s*\))?)$/;
const name = /^value(?:_json((?:\.[A-Za-z_]\w*|\[[^\]]*\])*))?$/;
const step = /\.([A-Za-z_]\w*)|\[\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\]/g;

/**
 * `{{ value }}`, `{{ value_json.NAME }}` and `{{ value_json['NAME'] }}`, also several names in a row: what stands in a payload, as every
 * publisher writes it. It may be followed by `if NAME is defined else …`: what is not there is not read. Null: it computes something.
 */
export function templatePath(template: string): string[] | null {
  const text = expressionIn(template);
  const [, value = text, condition = null] = guarded.exec(text) ?? [];
  let plain = value;
  while (filter.test(plain)) plain = plain.replace(filter, '');
  const path = namesIn(plain);
  if (path === null || condition === null) return path;
  const isItsOwn = whatIsDefined(condition)?.every((names) => names.every((one, at) => one === path[at])) === true;
  return isItsOwn ? path : null;
}

function namesIn(text: string): string[] | null {
  const match = name.exec(text);
  if (match === null) return null;
  const path: string[] = [];
  const rest = (match[1] ?? '').replace(step, (_all, plain?: string, single?: string, double?: string) => {
    path.push(plain ?? single ?? double ?? '');
    return '';
  });
  return rest === '' && path.length <= 6 ? path : null;
}

/** The names in `NAME is defined and NAME is defined`. Null: it says something else. */
function whatIsDefined(condition: string): string[][] | null {
  const found = condition.split(/\s+and\s+/).map((one) => namesIn(/^(.+?)\s+is\s+defined$/.exec(one)?.[1] ?? ''));
  return found.every((names) => names !== null) ? found : null;
}

/** `{{ 'online' if NAME is defined else 'offline' }}`, as EMS-ESP: a value that is not there is not read anyway. */
function saysWhatIsDefined(template: string, online: string): boolean {
  const [, word = '', condition = ''] = guarded.exec(expressionIn(template)) ?? [];
  return word.slice(1, -1) === online && whatIsDefined(condition) !== null;
}

/** What is between the braces; empty: nothing, or too much to look at. */
const expressionIn = (template: string): string =>
  template.length > longestTemplate ? '' : (braces.exec(template.trim())?.[1] ?? '');
