import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { nodeConfigs } from './automation-flow.ts';
import { DeviceType } from './device-types.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';
import { errorWords, formatWords } from './schema-words.ts';
import { nameText } from './text-fields.ts';

/** What errors name a schema by, and not for people. */
const jargon =
  /pattern|format|schema|properties|instance|\^|\\|\[|>=|<=|\bmust be (string|integer|boolean|object|array)\b/;

type Keywords = { pattern?: string; format?: string; expected?: string; type?: string; anyOf?: TSchema[] };

/** Every schema inside a schema, with its place. */
function* partsOf(schema: unknown, place: string): Generator<{ place: string; schema: Keywords }> {
  if (typeof schema !== 'object' || schema === null) return;
  yield { place, schema };
  for (const [key, inner] of Object.entries(schema)) if (key !== 'enum') yield* partsOf(inner, `${place}/${key}`);
}

function* allSchemas(): Generator<{ place: string; schema: Keywords }> {
  for (const [key, { params, querystring, body }] of Object.entries<Route>(routes)) {
    for (const part of [params, querystring, body]) yield* partsOf(part, key);
  }
  for (const [kind, configs] of Object.entries(nodeConfigs)) yield* partsOf(configs, kind);
  yield* partsOf(DeviceType, 'device type');
}

test('every pattern and format that a request can miss is told in words', () => {
  const found = new Set<string>();
  for (const { place, schema } of allSchemas()) {
    const { pattern, format, type } = schema;
    if (type !== 'string' || (pattern === undefined && format === undefined)) continue;
    found.add(pattern ?? format ?? '');
    if (format !== undefined) assert.ok(Object.hasOwn(formatWords, format), `${place}: ${format}`);
    const { expected } = schema;
    if (pattern !== undefined) assert.ok(expected !== undefined && !jargon.test(expected), `${place}: ${pattern}`);
  }
  assert.ok(found.size > 20, `${found.size} patterns and formats`);
});

test('no error of a route shows the words of its schema', () => {
  const wrong = [undefined, null, -1, 0.5, 1e300, '', '\0', '[', true, [], [[]], {}, { unknown: 1 }, ['', '']];
  let told = 0;
  for (const { place, schema } of allSchemas()) {
    if (schema.type === undefined && schema.anyOf === undefined) continue;
    for (const value of wrong) {
      for (const error of Value.Errors(schema, value)) {
        if (error.keyword === 'additionalProperties') continue;
        const words = errorWords(schema, error);
        assert.doesNotMatch(words.replaceAll(/"[^"]*"/g, ''), jargon, `${place}: ${words}`);
        told += 1;
      }
    }
  }
  assert.ok(told > 1_000, `${told} errors`);
});

test('a name has something that is seen, and turns no text around', () => {
  const good = [
    'Kitchen',
    ' Kitchen\n',
    'مطبخ ٢',
    'חדר שינה',
    'می\u200cخواهم', // Persian with ZWNJ
    '👩\u200d👩\u200d👧 home',
    '👩\u200d🚀',
    '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}', // flag of England: tag characters
    '❤\ufe0f',
    'Kü\u0308che',
    'ห้องน้ำ',
    'क्षेत्र',
    '123',
    '—',
    'Salon\u200f (א)',
  ];
  const bad = [
    '',
    '  ',
    '\t\n',
    '\u200b',
    '\u00ad\u00ad',
    '\u2800',
    '\u3164',
    '\uffa0',
    '\u115f\u1160',
    '\u{e0041}\u{e0042}',
    '\u200e\u200f\u061c',
    '\ufeff',
    '\u2060\u180e',
    '\u034f\u0301',
    '\ufe0f',
    'Lamp\u202egnp.exe',
    '\u2066Lamp\u2069',
    'Lamp\u2067',
  ];
  const name = new RegExp(nameText.pattern, 'u');
  for (const text of good) assert.ok(name.test(text), JSON.stringify(text));
  for (const text of bad) assert.ok(!name.test(text), JSON.stringify(text));
});
