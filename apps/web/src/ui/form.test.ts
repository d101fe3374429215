import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SetupRequest } from '@station/protocol/rest';
import { faultsOf, refusedFields } from './form.ts';

test('an empty form has a fault for each field, except fields that may stay empty or are not shown', () => {
  const texts = { email: '', password: '', name: ' ', stationName: '', code: '' };
  const limits = { body: SetupRequest, mayBeEmpty: ['stationName'] as const };
  const found = faultsOf(limits, texts, ['email', 'password', 'name', 'stationName']);
  assert.deepEqual(Object.fromEntries(found), { email: 'required', password: 'required', name: 'required' });
});

test('a check has words of its own, beside and in place of what the body says, and none for an empty field', () => {
  const body = { properties: { id: { minLength: 1, pattern: '^[a-z]+$' }, first: {}, again: {} } };
  const checks = {
    id: () => 'Small letters only.',
    again: (text: string, { first }: { first: string }) => (text === first ? null : 'Not the same.'),
  };
  const faults = (id: string, again: string) =>
    Object.fromEntries(
      faultsOf<'id' | 'first' | 'again'>({ body, checks }, { id, first: 'x', again }, ['id', 'first', 'again']),
    );
  assert.deepEqual(faults('A', 'y'), { id: { words: 'Small letters only.' }, again: { words: 'Not the same.' } });
  assert.deepEqual(faults('', 'x'), { id: 'required' });
});

test('a field the station refused is marked by the end of its pointer', () => {
  const names = ['email', 'ntfy/url', 'webhook/url', 'mail'];
  const refused = (pointer: string) => [...refusedFields(names, [{ pointer, message: 'no' }])];
  assert.deepEqual(refused('/email'), [['email', 'refused']]);
  assert.deepEqual(refused('/ntfy/url'), [['ntfy/url', 'refused']]);
  assert.deepEqual(refused('/mail/host'), []);
});
