import { ownValue } from '@station/protocol/own-value';
import type { AnnouncedDevice, ForeignTopics } from '../dialect.ts';
import { actionFeature, type Feature, featureOf, isKey } from '../features-decide.ts';
import { isRecord, plainText, textIn, type Values } from '../foreign-values-decide.ts';
import { slugOf, wordsOf } from '../words-decide.ts';
import { sensorsOf } from './tasmota-sensors-decide.ts';

/** What `rl` says of a relay. */
const relay = { switch: 1, light: 2, shutter: 3 } as const;
const maxRelays = 32;
/** Longest name that a device of the station is given of it. */
const longestName = 64;
/** Characters of a topic, and of what it is made of. */
const longestTopic = 256;

/** Null: it is not of this MAC, or has no topics of its own. */
export function describeTasmota(mac: string, config: Values, sensors: Values, base: string): AnnouncedDevice | null {
  const topics = textIn(config, 'mac') === mac ? topicsOf(config, mac) : null;
  if (topics === null) return null;
  const features = featuresOf(config, sensors);
  const { words, plan } = wordsOf(features);
  const model = plainText(textIn(config, 'md') ?? '') ?? 'Tasmota';
  const names = [textIn(config, 'dn'), textOf(listIn(config, 'fn')[0]), textIn(config, 't')];
  const online = textIn(config, 'onln') ?? 'Online';
  const offline = textIn(config, 'ofln') ?? 'Offline';
  const name = names.flatMap((one) => plainText(one ?? '', longestName) ?? []).at(0) ?? base;
  return {
    externalId: `tasmota:${mac.toLowerCase()}`,
    name,
    topics,
    words: {
      type: `tasmota.${slugOf(model)}`,
      firmwareVersion: plainText(textIn(config, 'sw') ?? '', 128) ?? 'unknown',
      chip: 'tasmota',
      names: { en: model },
      ...words,
    },
    plan: { ...plan, availability: { online: online.slice(0, 64), offline: offline.slice(0, 64) } },
  };
}

/** Of `%prefix%/%topic%/` and the three prefixes; null: the messages of the device could not be told from others. */
function topicsOf(config: Values, mac: string): ForeignTopics | null {
  const full = textIn(config, 'ft') ?? '';
  const [command, stat, tele] = listIn(config, 'tp').map(textOf);
  if (!full.includes('%prefix%') || command === '' || stat === '' || tele === '') return null;
  if (command === undefined || stat === undefined || tele === undefined) return null;
  const words = { topic: textIn(config, 't') ?? '', hostname: textIn(config, 'hn') ?? '', id: mac.slice(-6) };
  // In one pass: what is filled in is not filled in again.
  const fill = (prefix: string): string =>
    full
      .slice(0, longestTopic)
      .replace(/%(prefix|topic|hostname|id)%/g, (_all, word: string) =>
        (ownValue({ ...words, prefix }, word) ?? '').slice(0, longestTopic),
      )
      .replace(/\/+$/, '')
      .slice(0, longestTopic);
  return { heard: [fill(tele), fill(stat)], command: fill(command) };
}

const listIn = (values: Values, key: string): readonly unknown[] => {
  const value = ownValue(values, key);
  return Array.isArray(value) ? value.slice(0, maxRelays) : [];
};
/** An object may have no number that it can become. */
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Whether a SetOption of this number is on. */
function hasOption(config: Values, number: string): boolean {
  const options = ownValue(config, 'so');
  return isRecord(options) && ownValue(options, number) === 1;
}

const both = { isReadable: true, isSettable: true } as const;

function featuresOf(config: Values, sensors: Values): Feature[] {
  const events = actionsOf(config);
  return [
    ...relaysOf(config),
    ...shuttersOf(config),
    ...(ownValue(config, 'if') === 1 ? [fanSpeed] : []),
    ...switchesOf(config),
    ...(events.length === 0 ? [] : [actionFeature(events)]),
    ...(ownValue(config, 'bat') === 1 ? [battery] : []),
    ...sensorsOf(sensors),
    signal,
  ].filter(({ property }) => isKey(property.key));
}

const fanSpeed = featureOf(
  { path: ['FanSpeed'], key: 'fan_speed', ...both, kind: 'number' },
  { group: 'fan', label: 'Fan speed', min: 0, max: 3, step: 1 },
);
const battery = featureOf(
  { path: ['BatteryPercentage'], key: 'battery', isReadable: true, isSettable: false, kind: 'number' },
  { unit: '%', min: 0, max: 100, category: 'diagnostic' },
);
const signal = featureOf(
  { path: ['Wifi', 'RSSI'], key: 'linkquality', isReadable: true, isSettable: false, kind: 'number' },
  { unit: '%', min: 0, max: 100, category: 'diagnostic' },
);

/** Relays that are switches or lights. Each has its number in `POWER<n>`, also between those of shutters. */
function relaysOf(config: Values): Feature[] {
  const kinds = listIn(config, 'rl');
  const isFan = ownValue(config, 'if') === 1;
  const switched = kinds.flatMap((kind, at) => (kind === relay.switch || kind === relay.light ? [at] : []));
  const lights = switched.filter((at) => kinds[at] === relay.light && !(isFan && at === 0));
  const [off = 'OFF', on = 'ON', toggle = 'TOGGLE'] = listIn(config, 'state').map(textOf);
  const names = listIn(config, 'fn').map(textOf);
  const isAlone = switched.length === 1;
  return switched.flatMap((at) => {
    const end = isAlone ? '' : `_${at + 1}`;
    const label = isAlone ? null : plainText(names[at] ?? '');
    const isLight = kinds[at] === relay.light || hasOption(config, '30');
    const property = { path: [`POWER${at + 1}`], key: `on${end}`, ...both, kind: 'boolean', on, off } as const;
    const named = { name: 'state', end, label, isNamed: label !== null, toggle };
    const place = lights.indexOf(at);
    return [
      featureOf(property, { ...named, group: isLight ? 'light' : 'switch' }),
      ...(place < 0 ? [] : lightOf(config, { place, lights: lights.length, end })),
    ];
  });
}

/** What `lt_st` says of a light: how many channels it has. */
const channels = { coldWarm: 2, rgb: 3, rgbWhite: 4, rgbColdWarm: 5 } as const;

/** Several lights are channels of their own, or colour and white apart. */
function lightOf(config: Values, { place, lights, end }: { place: number; lights: number; end: string }): Feature[] {
  const kind = numberOf(ownValue(config, 'lt_st'));
  const isApart = lights > 1 && !hasOption(config, '68');
  const dimmer = hasOption(config, '68') ? `Channel${place + 1}` : isApart ? `Dimmer${place + 1}` : 'Dimmer';
  const isColour = kind >= channels.rgb && kind <= channels.rgbColdWarm && place === 0 && !hasOption(config, '68');
  const hasWarmth = (kind === channels.coldWarm || kind === channels.rgbColdWarm) && place === (isApart ? 1 : 0);
  const range = hasOption(config, '82') ? { min: 200, max: 380 } : { min: 153, max: 500 };
  const brightness = featureOf(
    { path: [dimmer], key: `brightness${end}`, ...both, kind: 'number' },
    { group: 'light', name: 'brightness', end, unit: '%', min: 0, max: 100 },
  );
  const warmth = featureOf(
    { path: ['CT'], key: `color_temp${end}`, ...both, kind: 'number' },
    { group: 'light', name: 'color_temp', end, unit: 'mired', ...range },
  );
  return [brightness, ...(isColour ? colours : []), ...(hasWarmth && !hasOption(config, '68') ? [warmth] : [])];
}

const colour = (name: 'hue' | 'saturation', set: string, max: number): Feature =>
  featureOf(
    { path: ['color', name], set: [set], key: `color.${name}`, ...both, kind: 'number' },
    { group: 'light', name, part: 'color', label: name === 'hue' ? 'Hue' : 'Saturation', min: 0, max },
  );
const colours = [colour('hue', 'HSBColor1', 360), colour('saturation', 'HSBColor2', 100)];

/** Two relays in a row that are of a shutter are one. */
function shuttersOf(config: Values): Feature[] {
  const count = Math.floor(listIn(config, 'rl').filter((kind) => kind === relay.shutter).length / 2);
  const options = listIn(config, 'sho');
  return Array.from({ length: Math.min(count, 4) }, (_, at) => {
    const end = count === 1 ? '' : `_${at + 1}`;
    const isTurned = (numberOf(options[at]) & 1) === 1;
    const place = { group: 'cover', end } as const;
    const reads = { isReadable: true, isSettable: false } as const;
    const moves = ['OPEN', 'CLOSE', 'STOP'];
    const movements = ['opening', 'closing', 'stopped'];
    return [
      featureOf(
        {
          path: [`ShutterPosition${at + 1}`],
          key: `position${end}`,
          ...both,
          kind: 'number',
          ...(isTurned && { isTurned }),
        },
        { ...place, name: 'position', unit: '%', min: 0, max: 100 },
      ),
      featureOf(
        { path: [`Movement${at + 1}`], key: `movement${end}`, ...reads, kind: 'enum', values: movements },
        { ...place, name: 'movement' },
      ),
      featureOf(
        {
          path: [`ShutterMove${at + 1}`],
          key: `move${end}`,
          isReadable: false,
          isSettable: true,
          kind: 'enum',
          values: moves,
        },
        { ...place, name: 'state' },
      ),
    ];
  }).flat();
}

/** Modes of a switch that follow its contact (tasmota.github.io, "Buttons and Switches"). */
const following: readonly unknown[] = [1, 2, 9, 10, 13, 14];

function switchesOf(config: Values): Feature[] {
  const names = listIn(config, 'swn').map(textOf);
  return listIn(config, 'swc').flatMap((mode, at) => {
    if (!following.includes(mode) || !hasOption(config, '114')) return [];
    const label = plainText(names[at] ?? '') ?? `Switch ${at + 1}`;
    const reads = { isReadable: true, isSettable: false } as const;
    return [
      featureOf(
        { path: [`Switch${at + 1}`], key: `switch_${at + 1}`, ...reads, kind: 'boolean', on: 'ON', off: 'OFF' },
        { label, isNamed: true },
      ),
    ];
  });
}

/** Presses that come as messages: with SetOption 73 those of buttons, with 114 those of switches. */
function actionsOf(config: Values): string[] {
  const presses = hasOption(config, '13')
    ? ['single', 'hold']
    : ['single', 'double', 'triple', 'quad', 'penta', 'hold'];
  const buttons = hasOption(config, '73')
    ? listIn(config, 'btn').flatMap((kind, at) => (kind === 1 ? [at + 1] : []))
    : [];
  const switches = hasOption(config, '114')
    ? listIn(config, 'swc').flatMap((mode, at) => (typeof mode === 'number' && mode >= 0 ? [at + 1] : []))
    : [];
  return [
    ...buttons.flatMap((number) => presses.map((press) => `button${number}_${press}`)),
    ...switches.flatMap((number) => ['on', 'off', 'toggle', 'hold'].map((press) => `switch${number}_${press}`)),
  ];
}
