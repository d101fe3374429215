import { Compile } from 'typebox/compile';
import { isKeyLength, maxEventDataBytes, payloadSchemas } from '@station/protocol/device-messages';
import type { DeviceFaultCode } from '@station/protocol/devices';
import { type DeviceTopicEnd, maxPayloadBytes } from '@station/protocol/topics';
import { isInherited, ownValue } from '@station/protocol/own-value';
import { findUnstorable } from '../core/storable-text.ts';

export type ReadPayload = {
  /** Undefined when nothing of the message can be used. */
  body: unknown;
  /** What was lost; null: nothing. */
  fault: DeviceFaultCode | null;
};

const checks = {
  handshake: Compile(payloadSchemas.handshake),
  state: Compile(payloadSchemas.state),
  event: Compile(payloadSchemas.event),
  heartbeat: Compile(payloadSchemas.heartbeat),
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a message of a device (contracts, section 8). In a state, and in the data of an event, a bad key or value is lost alone, and an
 * integer that no number holds exactly becomes a text.
 */
export function readPayload(end: DeviceTopicEnd, payload: Buffer): ReadPayload {
  if (payload.length > maxPayloadBytes) return unusable('too_large');
  let text: string;
  try {
    text = withoutEnd(utf8.decode(payload));
  } catch {
    return unusable('bad_encoding');
  }
  const body = parse(text, end);
  if (body === undefined || !checks[end].Check(body)) return unusable('bad_shape');
  const hasEscapes = text.includes('\\');
  if (end === 'state') {
    const { state } = body as { state: Values };
    const fault = firstFault(state, hasEscapes);
    return fault === null ? { body, fault } : { body: { state: withoutBad(state, hasEscapes) }, fault };
  }
  if (end === 'event') {
    const { event, data } = body as { event: string; data: Values };
    if (payload.length > maxEventDataBytes && Buffer.byteLength(JSON.stringify(data)) > maxEventDataBytes)
      return unusable('event_too_large');
    const fault = firstFault(data, hasEscapes);
    if (fault === null) return { body, fault };
    const kept = { event, data: withoutBad(data, hasEscapes) };
    return checks.event.Check(kept) ? { body: kept, fault } : unusable(fault);
  }
  // Otherwise the write would fail on every retry, and the message would never be acknowledged.
  return hasEscapes && findUnstorable(body) !== null ? unusable('bad_shape') : { body, fault: null };
}

/** Programs in C often send the zero that ends their text with it. */
const withoutEnd = (text: string): string => (text.endsWith('\0') ? text.slice(0, -1) : text);

const unusable = (fault: DeviceFaultCode): ReadPayload => ({ body: undefined, fault });

type Values = Readonly<Record<string, unknown>>;

function firstFault(values: Values, hasEscapes: boolean): DeviceFaultCode | null {
  for (const key of Object.keys(values)) {
    const fault = faultOf(key, ownValue(values, key), hasEscapes);
    if (fault !== null) return fault;
  }
  return null;
}

const withoutBad = (values: Values, hasEscapes: boolean): Values =>
  Object.fromEntries(Object.entries(values).filter(([key, value]) => faultOf(key, value, hasEscapes) === null));

/** @param hasEscapes without any in the message, no text can be of a kind that is refused. */
function faultOf(key: string, value: unknown, hasEscapes: boolean): 'bad_key' | 'bad_value' | null {
  if (!isKeyLength(key) || isInherited(key) || (hasEscapes && !isSafeKey(key))) return 'bad_key';
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'bad_value';
  if (typeof value === 'object' && value !== null && !isKept(value)) return 'bad_value';
  return hasEscapes && findUnstorable(value) !== null ? 'bad_value' : null;
}

/**
 * After an object with a backslash in a key, `JSON.parse` of V8 14 returns that key in place of others that are written with escapes. So
 * keys that JSON writes with escapes are refused: those of stored states are always read correctly.
 */
const isSafeKey = (key: string): boolean => !/["\\\u0000-\u001f]/.test(key) && key.isWellFormed();

/** Deeper values would exhaust the stack of `JSON.stringify`. */
const maxDepth = 1_000;

/** Whether all numbers and keys within the value can be kept, and it is not nested too deeply. Does not recurse. */
function isKept(value: object): boolean {
  const rest: { value: object; depth: number }[] = [{ value, depth: 1 }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (next.depth > maxDepth) return false;
    for (const [key, inner] of Object.entries(next.value) as [string, unknown][]) {
      if (!isSafeKey(key) || isInherited(key)) return false;
      if (typeof inner === 'number' && !Number.isFinite(inner)) return false;
      if (typeof inner === 'object' && inner !== null) rest.push({ value: inner, depth: next.depth + 1 });
    }
  }
  return true;
}

/** Undefined when it is not JSON, not even with numbers such as NaN. */
function parse(text: string, end: DeviceTopicEnd): unknown {
  try {
    return parseExactly(text, end);
  } catch {
    const readable = withoutLiterals(text);
    if (readable === null) return undefined;
    try {
      return parseExactly(readable, end);
    } catch {
      return undefined;
    }
  }
}

/** The fast path: only so many digits may be an integer that a number would round. */
const manyDigits = /\d{16}/;

const parseExactly = (text: string, end: DeviceTopicEnd): unknown =>
  (end === 'state' || end === 'event') && manyDigits.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);

/** A number without an exponent beyond 2^53 becomes its text. With an exponent it is a measurement, whose last digits do not count. */
function exactly(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  return /[eE]/.test(source) ? value : source;
}

/** What C's printf and other languages write where JSON has no number. Longest first. */
const literals = ['infinity', 'nan', 'inf'];
/** JSON, but beyond every number: it is read as infinite, and lost for that. */
const overflow = '1e999';

/** Replaces literals such as NaN and -Infinity outside of strings; null when there are none. Needs one pass, whatever the text. */
function withoutLiterals(text: string): string | null {
  let result = '';
  let from = 0;
  let before = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === '"') {
      at = endOfString(text, at);
    } else if (':[,-'.includes(before) && 'nNiI'.includes(character)) {
      const word = text.slice(at, at + 8).toLowerCase();
      const literal = literals.find((one) => word.startsWith(one));
      if (literal !== undefined) {
        result += text.slice(from, at) + overflow;
        at += literal.length - 1;
        from = at + 1;
      }
    }
    if (!' \t\r\n'.includes(character)) before = character;
  }
  return from === 0 ? null : result + text.slice(from);
}

/** @returns the index of the closing quote, or of the last character when there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length - 1;
}
