import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkForm, refusedFields } from './form.ts';

const rules = { email: 'email', password: 'new_password', name: 'filled', stationName: 'free' } as const;

test('an empty form has a fault for each field, except fields that may stay empty', () => {
  assert.deepEqual(checkForm({}, rules), { email: 'required', password: 'required', name: 'required' });
});

test('an address needs an @ and a password its ten characters', () => {
  const values = { email: 'olena', password: 'nine char', name: 'Olena' };
  assert.deepEqual(checkForm(values, rules), { email: 'email', password: 'short' });
  assert.deepEqual(checkForm({ email: 'olena@home', password: 'ten chars!', name: 'Olena' }, rules), {});
});

test('a field the station refused is marked by its pointer', () => {
  assert.deepEqual(refusedFields([{ pointer: '/email', message: 'no' }]), { email: 'refused' });
});
