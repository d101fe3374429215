import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyedStore } from './store.ts';

test('a keyed store tells only those whose own value became another one', () => {
  const store = createKeyedStore<{ id: string; value: number }>(({ id }) => id);
  const one = { id: 'one', value: 1 };
  const two = { id: 'two', value: 2 };
  store.replace([one, two]);
  const told: string[] = [];
  const stop = store.subscribe('one', () => told.push('one'));
  store.subscribe('two', () => told.push('two'));
  store.replace([one, { id: 'two', value: 3 }]);
  assert.deepEqual(told, ['two']);
  assert.equal(store.get('two')?.value, 3);
  store.replace([]);
  assert.deepEqual(told, ['two', 'one', 'two']);
  assert.equal(store.get('one'), undefined);
  stop();
  store.replace([one]);
  assert.deepEqual(told, ['two', 'one', 'two']);
});
