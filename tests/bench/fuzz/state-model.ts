import { isDeepStrictEqual } from 'node:util';
import type { Device, DeviceFaultCode } from '@station/protocol/devices';
import { maxPayloadBytes, type DeviceTopicEnd } from '@station/protocol/topics';
import type { Random } from '../../faults/mutate.ts';
import { pick } from './pick.ts';

/**
 * Messages of a device whose effect is known because of how they are made, not because they are read again: what is shown afterwards is
 * compared with it.
 */
export type ModelMessage = {
  end: DeviceTopicEnd;
  payload: Buffer;
  /** Null: nothing of it can be used. */
  kept: Record<string, unknown> | null;
  /** What is lost; null: nothing. */
  fault: DeviceFaultCode | null;
};

type Member = { text: string; key: string; value: unknown; fault: 'bad_key' | 'bad_value' | null };

/** No built-in type declares one of them, so every value is kept as it is sent. */
const keys = [
  'draught',
  'moisture',
  'voltage',
  'mode',
  'uptime',
  'NaN',
  '1e999',
  'prototype',
  'a\u2028b',
  'ключ',
  ' ',
  'a/b~c',
  '\ufeff',
  'x'.repeat(64),
  '😀'.repeat(64),
];
const badKeys = [
  '',
  'y'.repeat(65),
  '😀'.repeat(65),
  'k\u0000',
  '\ud800',
  'a\nb',
  '"q"',
  '\\',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
];

/** As written, and as kept. */
const goodValues: readonly (readonly [string, unknown])[] = [
  ...(['1', '-0.5', '0', '1e2', '1E-7', '1e308', 'true', 'null', '""', '[]', '{}'] as const).map(asParsed),
  ...['":NaN"', '", -Infinity"', '"1e999"', '"\\":NaN,"', '"9007199254740993"', '"\\u0041😀"', '"\\\\"'].map(asParsed),
  ...['[1,[2,{"a":[null]}]]', '{"":2}', '0.12345678901234567', '9007199254740991'].map(asParsed),
  ...['9007199254740993', '-9007199254740992', '18446744073709551615', '7'.repeat(400)].map(asText),
  ['[1,12345678901234567890]', [1, '12345678901234567890']],
  ['{"n":-12345678901234567890}', { n: '-12345678901234567890' }],
  ['12345678901234567890e2', 12345678901234567890e2],
];
const badValues = [
  'NaN',
  'nan',
  '-nan',
  'Infinity',
  '-Infinity',
  'inf',
  '-inf',
  '1e999',
  '-1E+400',
  '[1,NaN]',
  '{"a":[-1e999]}',
  '"\\u0000"',
  '"\\ud800"',
  '["\\udfff"]',
  '{"\\n":1}',
  '{"__proto__":1}',
  '[{"constructor":{}}]',
  `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
];
const nonsense = [
  ' ',
  'nonsense',
  '[]',
  'null',
  '5',
  '{',
  '{"state":5}',
  '{"state":[]}',
  '{"state":null}',
  '{"state":NaN}',
  "{'state':{}}",
  '{"state":{"a":1,}}',
  '{"state":{"a":1}} x',
  '{"state":{"a":1}',
  '{"state":{"a":01}}',
  'NaN',
  '{"state":{NaN:1}}',
  '{"state":{"a":1NaN}}',
  '{"state":{"a":NaNo}}',
  '{"event":"other","data":{"action":"x"}}',
  '{"event":"user_event","data":{"action":NaN}}',
  '{"type":7,"firmwareVersion":"1","chip":"c"}',
  '{"status":"?"}',
];

function asParsed(text: string): readonly [string, unknown] {
  return [text, JSON.parse(text)];
}

function asText(text: string): readonly [string, unknown] {
  return [text, text];
}

/** What a device says about its type changes nothing else of its handshake. */
const descriptions = [
  '',
  ',"capabilities":[{"key":"on","kind":"boolean"}]',
  ',"capabilities":[{"key":"__proto__","kind":"boolean"}],"primary":{"capability":"__proto__"}',
  ',"capabilities":[{"key":"constructor","kind":"text"}],"__proto__":{"polluted":true}',
  ',"capabilities":[{"key":"m","kind":"enum","values":["toString"],"valueNames":{"__proto__":{"en":"x"}}}]',
  ',"capabilities":[{"key":"n","kind":"number","min":-1e308,"max":1e308,"step":5e-324}]',
  ',"capabilities":[{"key":"n","kind":"number"}],"commands":[{"action":"toString","confirmedBy":["n"],"repeatable":true}]',
  `,"capabilities":[{"key":"${'k'.repeat(200)}","kind":"number"}],"names":{"en":"a\u202eb"}`,
  `,"capabilities":${'['.repeat(2_000)}${']'.repeat(2_000)}`,
  `,"capabilities":[{"key":"a","kind":"text"}],"names":{"en":"${'x'.repeat(40_000)}"}`,
];

const ends = ['state', 'event', 'heartbeat', 'handshake'] as const;

/** @param type of the device, for its handshakes. */
export function modelMessage(type: string, random: Random): ModelMessage {
  const kind = random();
  if (kind < 0.02) return { end: pick(random, ends), payload: Buffer.alloc(0), kept: null, fault: null };
  if (kind < 0.12) return uselessMessage(random);
  if (kind < 0.16) return { ...good('heartbeat', '{"status":"online","rssi":NaN}'), kept: {} };
  if (kind < 0.2) {
    const body = { type, firmwareVersion: `1.${Math.floor(random() * 100)}.0`, chip: 'esp32' };
    const text = JSON.stringify(body).slice(0, -1);
    return { ...good('handshake', `${text}${pick(random, descriptions)}}`), kept: body };
  }
  if (kind < 0.35) return eventMessage(random);
  const [text, kept, fault] = objectOf(membersOf(random));
  return { end: 'state', payload: Buffer.from(`{"seq":${pick(random, ['1', 'NaN'])},"state":${text}}`), kept, fault };
}

/** Only messages that cannot be used. */
export function uselessMessage(random: Random): ModelMessage {
  const kind = random();
  const end = pick(random, ends);
  const lost = (payload: Buffer, fault: DeviceFaultCode): ModelMessage => ({ end, payload, kept: null, fault });
  if (kind < 0.03) return lost(Buffer.alloc(maxPayloadBytes + 1, ' '), 'too_large');
  if (kind < 0.06) return { ...lost(Buffer.from(largeEvent), 'event_too_large'), end: 'event' };
  if (kind > 0.3) return lost(Buffer.from(pick(random, nonsense)), 'bad_shape');
  const payload = Buffer.from('{"state":{"a":"x"},"event":"user_event","data":{"action":"x"},"status":"online"}');
  payload[payload.indexOf('x')] = pick(random, [0x80, 0xc3, 0xed, 0xff]);
  return lost(payload, 'bad_encoding');
}

const largeEvent = JSON.stringify({ event: 'user_event', data: { action: 'a', text: 'x'.repeat(4_096) } });

const good = (end: DeviceTopicEnd, text: string) => ({ end, payload: Buffer.from(text), fault: null });

function eventMessage(random: Random): ModelMessage {
  const event = pick(random, ['device_event', 'user_event']);
  const action: Member = { text: '"action":"pressed"', key: 'action', value: 'pressed', fault: null };
  // Whatever they are, together they are not too large for an event.
  const members = membersOf(random).filter((member) => member.text.length < 1_000);
  const [text, kept, fault] = objectOf([...members, action]);
  return { end: 'event', payload: Buffer.from(`{"event":"${event}","data":${text}}`), kept, fault };
}

function membersOf(random: Random): Member[] {
  return Array.from({ length: Math.floor(random() * 6) }, () => memberOf(random));
}

function memberOf(random: Random): Member {
  const isBadKey = random() < 0.06;
  const key = pick(random, isBadKey ? badKeys : keys);
  const space = pick(random, ['', ' ', '\n\t']);
  const name = `${space}${JSON.stringify(key)}${space}:${space}`;
  if (random() < 0.15) {
    const fault = isBadKey ? 'bad_key' : 'bad_value';
    return { text: `${name}${pick(random, badValues)}${space}`, key, value: undefined, fault };
  }
  const [text, value] = pick(random, goodValues);
  return { text: `${name}${text}${space}`, key, value, fault: isBadKey ? 'bad_key' : null };
}

/** Of several values of one key the last counts, at the place of the first. */
function objectOf(members: readonly Member[]): [string, Record<string, unknown>, DeviceFaultCode | null] {
  const last = new Map(members.map((member) => [member.key, member]));
  const kept = [...last.values()].filter(({ fault }) => fault === null);
  const text = `{${members.map((member) => member.text).join(',')}}`;
  const fault = last.values().find((member) => member.fault !== null)?.fault ?? null;
  return [text, Object.fromEntries(kept.map(({ key, value }) => [key, value])), fault];
}

/** When a message was sent and acknowledged: its time lies between. Milliseconds since the epoch. */
type Span = { from: number; to: number };

/** What a device must look like. */
export type DeviceModel = {
  took(message: ModelMessage, span: Span): void;
  /** Data of all its events, oldest first. */
  events(): readonly Record<string, unknown>[];
  /** @returns what is shown differently; null: nothing. */
  differenceTo(shown: Device): string | null;
};

export function createDeviceModel(): DeviceModel {
  const state = new Map<string, { value: unknown; span: Span }>();
  const events: Record<string, unknown>[] = [];
  let stateSpan: Span | null = null;
  let fault: { code: DeviceFaultCode; end: DeviceTopicEnd; span: Span; count: number } | null = null;
  let handshake: Record<string, unknown> = { firmwareVersion: null, chip: null };

  const noteFault = ({ end, fault: code }: ModelMessage, span: Span): void => {
    if (code !== null) {
      const count = fault?.code === code && fault.end === end ? fault.count + 1 : 1;
      fault = { code, end, span, count };
    } else if (fault?.end === end || end === 'handshake') {
      fault = null;
    }
  };
  return {
    took: (message, span) => {
      // It removes a retained message, and says nothing.
      if (message.payload.length === 0) return;
      noteFault(message, span);
      const { end, kept } = message;
      if (kept === null) return;
      if (end === 'handshake') handshake = kept;
      if (end === 'event') events.push(kept);
      if (end !== 'state') return;
      for (const [key, value] of Object.entries(kept)) state.set(key, { value, span });
      stateSpan = span;
    },
    events: () => events,
    differenceTo: (shown) => {
      const expected = Object.fromEntries(Array.from(state, ([key, { value }]) => [key, value]));
      if (!isDeepStrictEqual(shown.state, expected)) return `state: ${differingKeys(shown.state, expected)}`;
      if (shown.status !== 'online') return `status: ${shown.status}`;
      if (shown.firmwareVersion !== handshake['firmwareVersion'] || shown.chip !== handshake['chip'])
        return 'handshake';
      if (!isWithin(shown.stateAt, stateSpan)) return `stateAt: ${shown.stateAt}`;
      if (shown.fault?.code !== fault?.code || shown.fault?.count !== fault?.count)
        return `fault: ${JSON.stringify(shown.fault)} instead of ${JSON.stringify(fault)}`;
      if (fault !== null && !isWithin(shown.fault?.at ?? null, fault.span))
        return `time of the fault: ${shown.fault?.at}`;
      return differingAge(shown);
    },
  };

  function differingAge({ stateTimes }: Device): string | null {
    for (const [key, { span }] of state) {
      const own = Object.hasOwn(stateTimes, key) ? (stateTimes[key] ?? null) : null;
      const isLatest = span === stateSpan;
      if (own === null && !isLatest && span.to < (stateSpan?.from ?? 0)) return `age of ${JSON.stringify(key)}: none`;
      if (own !== null && (isLatest || !isWithin(own, span))) return `age of ${JSON.stringify(key)}: ${own}`;
    }
    const more = Object.keys(stateTimes).filter((key) => !state.has(key));
    return more.length === 0 ? null : `ages of what is not in the state: ${more.join(' ')}`;
  }
}

function isWithin(time: string | null, span: Span | null): boolean {
  if (time === null || span === null) return time === null && span === null;
  const at = Date.parse(time);
  return at >= span.from && at <= span.to;
}

function differingKeys(shown: Record<string, unknown>, expected: Record<string, unknown>): string {
  const all = new Set([...Object.keys(shown), ...Object.keys(expected)]);
  const ownOf = (from: Record<string, unknown>, key: string): unknown =>
    Object.hasOwn(from, key) ? from[key] : undefined;
  const differing = [...all].filter((key) => !isDeepStrictEqual(ownOf(shown, key), ownOf(expected, key)));
  return differing
    .slice(0, 3)
    .map(
      (key) =>
        `${key.slice(0, 20)} = ${JSON.stringify(ownOf(shown, key))} instead of ${JSON.stringify(ownOf(expected, key))}`,
    )
    .join('; ');
}
