import { ownValue } from '@station/protocol/own-value';
import type { AnnouncedDevice, Property } from '../dialect.ts';
import { actionFeature, type Feature, featureOf, isKey } from '../features-decide.ts';
import { isRecord, plainText, textIn, type Values, valueAt } from '../foreign-values-decide.ts';
import { slugOf, wordsOf } from '../words-decide.ts';
import { components, type ComponentValue } from './shelly-components-decide.ts';

/** What a device answers (shelly-api-docs.shelly.cloud, "Shelly"). */
type Answers = { info: Values; config: Values; status: Values };

const maxComponents = 64;

/** Null: it has no id of a Shelly. @param prefix of its topics, for example `shelly/hall`. */
export function describeShelly(prefix: string, { info, config, status }: Answers): AnnouncedDevice | null {
  const id = textIn(info, 'id') ?? '';
  if (!/^[a-z0-9-]{1,48}$/.test(id)) return null;
  const { words, plan } = wordsOf(featuresOf(config, status));
  const model = plainText(textIn(info, 'app') ?? textIn(info, 'model') ?? '', 48) ?? 'Shelly';
  const given = textIn(info, 'name') ?? textIn(inner(inner(config, 'sys'), 'device'), 'name');
  const generation = ownValue(info, 'gen');
  return {
    externalId: `shelly:${id}`,
    name: plainText(given ?? '') ?? id,
    topics: { heard: [prefix], command: prefix },
    words: {
      type: `shelly.${slugOf(model)}`,
      firmwareVersion: plainText(textIn(info, 'ver') ?? '', 128) ?? 'unknown',
      chip: typeof generation === 'number' ? `gen${generation}` : 'shelly',
      names: { en: `Shelly ${model}` },
      ...words,
    },
    // One that sleeps leaves the broker each time, and is no less there.
    plan: { ...plan, availability: { online: 'true', offline: isSleeping(status) ? 'sleeping' : 'false' } },
  };
}

const inner = (values: Values, key: string): Values => {
  const value = ownValue(values, key);
  return isRecord(value) ? value : {};
};

function isSleeping(status: Values): boolean {
  const period = ownValue(inner(status, 'sys'), 'wakeup_period');
  return typeof period === 'number' && period > 0;
}

/** What a press is called, for example `input_0_single_push`; null: it is none. */
export function actionOf(event: Values): string | null {
  const [type, number] = (textIn(event, 'component') ?? '').split(':');
  const name = textIn(event, 'event') ?? '';
  return type === 'input' && /^\d{1,3}$/.test(number ?? '') && /^[a-z_]{1,32}$/.test(name)
    ? `input_${number}_${name}`
    : null;
}

const pushes = ['single_push', 'double_push', 'triple_push', 'long_push'];

/** `switch:0`, or `wifi`, which every device has once. */
const isComponent = /^[a-z][a-z0-9_]{0,30}(?::\d{1,3})?$/;

function featuresOf(config: Values, status: Values): Feature[] {
  const found = new Map<string, Feature>();
  const actions: string[] = [];
  const named = Object.keys(status)
    .filter((name) => isComponent.test(name) && isRecord(ownValue(status, name)))
    .slice(0, maxComponents);
  const typeOf = (name: string): string => name.split(':', 1)[0] ?? '';
  for (const name of named) {
    const type = typeOf(name);
    const isAlone = named.filter((one) => typeOf(one) === type).length === 1;
    const number = name.slice(type.length + 1);
    const settings = inner(config, name);
    const place = {
      name,
      end: isAlone || number === '' ? '' : `_${number}`,
      label: plainText(textIn(settings, 'name') ?? ''),
    };
    for (const value of ownValue(components, type) ?? []) addValue(found, place, value, inner(status, name));
    if (type === 'input' && textIn(settings, 'type') !== 'switch' && textIn(settings, 'type') !== 'analog')
      actions.push(...pushes.map((push) => `input_${number}_${push}`));
  }
  return [...found.values(), ...(actions.length === 0 ? [] : [actionFeature(actions)])];
}

/** Every device has them, and they are no part of what it does. */
const silent: readonly string[] = [
  'sys',
  'eth',
  'ble',
  'cloud',
  'mqtt',
  'ws',
  'matter',
  'knx',
  'modbus',
  'bthome',
  'bthomedevice',
  'script',
  'schedule',
  'webhook',
  'service',
  'ui',
  'plugs_ui',
  'plugpm_ui',
  'ht_ui',
  'wd_ui',
  'pill_ui',
  'group',
];

/** Names of components that the station does not know. */
export const unknownComponents = (status: Values): string[] =>
  Object.keys(status)
    .filter((name) => isComponent.test(name))
    .slice(0, maxComponents)
    .filter((name) => {
      const type = name.split(':', 1)[0] ?? '';
      return ownValue(components, type) === undefined && !silent.includes(type);
    });

type Place = { name: string; end: string; label: string | null };

/** A value that the device does not report is none that it has. */
function addValue(
  found: Map<string, Feature>,
  { name, end, label }: Place,
  value: ComponentValue,
  status: Values,
): void {
  const { at, word, set, kind = 'number', isUnreported = false } = value;
  const current = valueAt(status, at);
  if (!isUnreported && !isOfKind(current, kind)) return;
  const usual = `${word}${end}`;
  const key = found.has(usual) ? [name, ...at].join('.') : usual;
  if (!isKey(key) || found.has(key)) return;
  const isState = value.isState === true;
  const feature = featureOf(propertyOf(value, name, key), {
    group: value.group ?? null,
    name: isState ? 'state' : word,
    end,
    label: label === null ? (value.label ?? null) : plainText(isState ? label : `${label} ${value.label ?? word}`),
    isNamed: label !== null,
    unit: value.unit ?? null,
    min: value.min ?? null,
    max: value.max ?? null,
    toggle: isState && kind === 'boolean' && set !== undefined ? 'toggle' : undefined,
    category: value.isDiagnostic === true ? 'diagnostic' : null,
  });
  found.set(key, feature);
}

function isOfKind(value: unknown, kind: NonNullable<ComponentValue['kind']>): boolean {
  if (kind === 'json') return Array.isArray(value);
  return typeof value === (kind === 'enum' || kind === 'text' ? 'string' : kind);
}

function propertyOf(
  { at, set, kind = 'number', values = [], isUnreported = false }: ComponentValue,
  name: string,
  key: string,
): Property {
  const base = {
    path: [name, ...at],
    key,
    isReadable: !isUnreported,
    isSettable: set !== undefined,
    ...(set !== undefined && { set: [name, ...set] }),
  };
  if (kind === 'boolean') return { ...base, kind, on: true, off: false };
  return kind === 'enum' ? { ...base, kind, values } : { ...base, kind };
}
