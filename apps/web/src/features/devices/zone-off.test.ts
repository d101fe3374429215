import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temperatureOf } from './zone-off.ts';

test('the temperature of a zone is the mean of its thermometers that are online', () => {
  const online = (temperature: unknown) => ({ status: 'online' as const, state: { temperature } });
  assert.equal(temperatureOf([online(21), online(22.25), { status: 'offline', state: { temperature: 5 } }]), 21.6);
  assert.equal(temperatureOf([online(-0.04)]), 0);
  assert.equal(temperatureOf([online('warm'), { status: 'online', state: {} }]), null);
});
