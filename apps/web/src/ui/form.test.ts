import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SetupRequest } from '@station/protocol/rest';
import { faultsOf, refusedFields } from './form.ts';

test('an empty form has a fault for each field, except fields that may stay empty', () => {
  const texts = { email: '', password: '', name: ' ', stationName: '' };
  const expected = { email: 'required', password: 'required', name: 'required' };
  assert.deepEqual(Object.fromEntries(faultsOf(SetupRequest, texts, ['stationName'])), expected);
});

test('a field the station refused is marked by its pointer', () => {
  assert.deepEqual([...refusedFields([{ pointer: '/email', message: 'no' }])], [['email', 'refused']]);
});
