import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLabel } from './label.ts';

test('a label has JSON, or the name that the device advertises', () => {
  const cases: [text: string, read: ReturnType<typeof readLabel>][] = [
    ['{"id":"a1b2c3","type":"switch-pir"}', { externalId: 'a1b2c3', type: 'switch-pir' }],
    ['{"id":"a1b2c3"}', { externalId: 'a1b2c3', type: null }],
    ['{"id":"a1b2c3","type":"No Type"}', { externalId: 'a1b2c3', type: null }],
    [' SH_switch-pir_a1b2c3\n', { externalId: 'a1b2c3', type: 'switch-pir' }],
    [' SH_soil_sensor_a1b2c3\n', { externalId: 'a1b2c3', type: 'soil_sensor' }],
    ['{"id":"a1b2c3","type":"soil_sensor"}', { externalId: 'a1b2c3', type: 'soil_sensor' }],
    ['light-a1b2c3', { externalId: 'a1b2c3', type: 'light' }],
    ['{"id":"a/b"}', null],
    ['{"id":7}', null],
    ['[]', null],
    ['42', null],
    ['https://example.org', null],
    ['', null],
  ];
  for (const [text, read] of cases) assert.deepEqual(readLabel(text), read, text);
});
