import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPayload } from './read-payload.ts';

const read = (text: string, end: Parameters<typeof readPayload>[0] = 'state') => readPayload(end, Buffer.from(text));
const stateOf = (members: string): unknown => (read(`{"state":{${members}}}`).body as { state: unknown }).state;

for (const literal of [
  'NaN',
  'nan',
  '-nan',
  'Infinity',
  '-Infinity',
  'inf',
  '-inf',
  '1e999',
  '-1e999',
  '[1,NaN]',
  '{"b":[1e999]}',
]) {
  test(`${literal} in a state costs its key alone`, () => {
    assert.deepEqual(read(`{"state":{"a":1,"t":${literal},"z":"x"}}`), {
      body: { state: { a: 1, z: 'x' } },
      fault: 'bad_value',
    });
  });
}

test('words that only look like such numbers are kept inside texts and refused elsewhere', () => {
  const members = '"NaN":"NaN","a":": NaN, -Infinity","q":"\\":NaN","s":"\\\\"';
  assert.deepEqual(stateOf(`${members},"t":NaN`), { NaN: 'NaN', a: ': NaN, -Infinity', q: '":NaN', s: '\\' });
  for (const text of [
    '{"state":{"t":NaNo}}',
    '{"state":{NaN:1}}',
    '{"state":{"t":1NaN}}',
    '{"state":{"t":NaN',
    'NaN',
    '"NaN',
    '-',
  ])
    assert.deepEqual(read(text), { body: undefined, fault: 'bad_shape' }, text);
});

const integers: [source: string, kept: unknown][] = [
  ['9007199254740991', 9007199254740991],
  ['-9007199254740991', -9007199254740991],
  ['9007199254740993', '9007199254740993'],
  ['-18446744073709551615', '-18446744073709551615'],
  ['9007199254740993.0', '9007199254740993.0'],
  ['1'.repeat(400), '1'.repeat(400)],
  ['0.1234567890123456789', 0.1234567890123456789],
  ['1234567890123456789e3', 1234567890123456789e3],
  ['"9007199254740993"', '9007199254740993'],
  ['[9007199254740993,{"n":9007199254740993}]', ['9007199254740993', { n: '9007199254740993' }]],
];
for (const [source, kept] of integers) {
  test(`${source.slice(0, 45)} is never rounded`, () => {
    assert.deepEqual(read(`{"state":{"n":${source}}}`), { body: { state: { n: kept } }, fault: null });
  });
}

test('a key has 1 to 64 characters, however many bytes they need', () => {
  const good = ['x'.repeat(64), '😀'.repeat(64), 'a\u2028b', ' ', 'ж'];
  for (const key of good) assert.deepEqual(Object.keys(stateOf(`${JSON.stringify(key)}:1`) as object), [key]);
  for (const key of ['', 'x'.repeat(65), '😀'.repeat(65)])
    assert.deepEqual(read(`{"state":{${JSON.stringify(key)}:1,"a":2}}`), {
      body: { state: { a: 2 } },
      fault: 'bad_key',
    });
});

test('keys that JSON writes with escapes are refused, so that none is mixed up with another', () => {
  for (const key of ['\\', 'a\nb', '"q"', '\t']) {
    const text = `{"state":{${JSON.stringify(key)}:1,"a":2}}`;
    assert.deepEqual(read(text), { body: { state: { a: 2 } }, fault: 'bad_key' });
  }
  assert.equal(read('{"state":{"n":{"\\\\":1}}}').fault, 'bad_value');
  // After these, V8 may return a backslash for this key.
  const { body, fault } = read('{"state":{"\\u0416":1}}');
  assert.ok(fault === 'bad_key' || Object.keys((body as { state: object }).state)[0] === 'Ж');
});

test('text that no database can store costs its key alone', () => {
  assert.deepEqual(read('{"state":{"a":"\\u0000","b":["\\ud800"],"c":"\\u0041"}}'), {
    body: { state: { c: 'A' } },
    fault: 'bad_value',
  });
  assert.deepEqual(read('{"state":{"\\u0000":1,"c":2}}'), { body: { state: { c: 2 } }, fault: 'bad_key' });
  assert.deepEqual(read('{"type":"x\\u0000","firmwareVersion":"1","chip":"c"}', 'handshake').fault, 'bad_shape');
});

test('of several values of one key the last counts, also when it is lost', () => {
  assert.deepEqual(stateOf('"t":NaN,"t":5'), { t: 5 });
  assert.deepEqual(stateOf('"t":5,"t":NaN'), {});
});

test('bytes that are no UTF-8 are not guessed', () => {
  const payload = Buffer.from('{"state":{"a":"x"}}');
  for (const byte of [0xff, 0xc3, 0xed]) {
    payload[15] = byte;
    assert.deepEqual(readPayload('state', payload), { body: undefined, fault: 'bad_encoding' });
  }
  assert.deepEqual(read('\ufeff{"state":{"a":1}}'), { body: { state: { a: 1 } }, fault: null });
  assert.deepEqual(read('{"state":{"a":1}}\0'), { body: { state: { a: 1 } }, fault: null });
  for (const text of ['\0{"state":{"a":1}}', '{"state":{"a":1}}\0x', '\0', '{"state":{"a":1}}\0\0'])
    assert.equal(read(text).fault, 'bad_shape', JSON.stringify(text));
});

test('an event loses a bad value alone, but not what makes it an event', () => {
  assert.deepEqual(read('{"event":"user_event","data":{"action":"press","battery":NaN,"":1}}', 'event'), {
    body: { event: 'user_event', data: { action: 'press' } },
    fault: 'bad_value',
  });
  assert.equal(read('{"event":"user_event","data":{"action":"\\u0000"}}', 'event').fault, 'bad_value');
  assert.equal(read('{"event":"user_event","data":{"action":NaN}}', 'event').body, undefined);
  assert.deepEqual(read('{"status":"online","rssi":NaN}', 'heartbeat').fault, null);
});

test('the worst texts of the largest size are read in a moment, and deep nesting costs its key alone', () => {
  const size = 250_000;
  const worst = [
    '['.repeat(size),
    `{"state":{"t":${'NaN,'.repeat(size / 4)}`,
    '"\\'.repeat(size / 2),
    '-'.repeat(size),
  ];
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  worst.push(`{"state":{"t":NaN,"s":"${'\\"'.repeat(size / 2)}"}}`, `{"state":{"n":${'1'.repeat(size)}}}`);
  worst.push(
    `{"state":{"n":[${'123456789012345 ,'.repeat(size / 17)}1]}}`,
    `{"state":{"n":9007199254740993,"d":${deep(size / 2)}}}`,
  );
  for (const text of worst) {
    const before = process.threadCpuUsage();
    read(text);
    const { user, system } = process.threadCpuUsage(before);
    const tookMs = (user + system) / 1000;
    assert.ok(tookMs < 500, `${Math.round(tookMs)} ms for ${text.slice(0, 30)}`);
  }
  assert.deepEqual(read(`{"state":{"a":1,"d":${deep(100_000)}}}`), { body: { state: { a: 1 } }, fault: 'bad_value' });
  assert.equal(read(`{"state":{"a":1,"d":${deep(1_000)}}}`).fault, null);
});

test('a key that every object has is lost alone, in a state, in an event and within a value', () => {
  for (const key of ['__proto__', 'constructor', 'toString']) {
    const text = `{"on":true,"${key}":{"polluted":true},"deep":{"${key}":1}}`;
    const state = readPayload('state', Buffer.from(`{"state":${text}}`));
    assert.deepEqual(state, { body: { state: { on: true } }, fault: 'bad_key' });
    const event = readPayload('event', Buffer.from(`{"event":"user_event","data":{"action":"x","${key}":1}}`));
    assert.deepEqual(event, { body: { event: 'user_event', data: { action: 'x' } }, fault: 'bad_key' });
  }
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
});
