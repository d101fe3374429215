import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Value } from 'typebox/value';
import { actionsOf, commandSchema } from './device-command-schemas.ts';

const accepts = (type: string, action: string, params: unknown): boolean => {
  const schema = commandSchema(type, action);
  assert.ok(schema, `${type} does not understand ${action}`);
  return Value.Check(schema, params);
};

test('requires each parameter, with its type and range, and refuses others', () => {
  const cases: [unknown, boolean][] = [
    [{ brightness: 1 }, true],
    [{ brightness: 100 }, true],
    [{ brightness: 0 }, false],
    [{ brightness: 101 }, false],
    [{ brightness: '50' }, false],
    [{ brightness: Number.NaN }, false],
    [{}, false],
    [{ brightness: 50, power: true }, false],
    [null, false],
  ];
  for (const [params, good] of cases) {
    assert.equal(accepts('light', 'set_brightness', params), good, JSON.stringify(params));
  }
});

test('every type understands the common commands, also an unknown one', () => {
  for (const type of ['climate', 'pir', 'switch-pir', 'light', 'toaster']) {
    assert.ok(accepts(type, 'reboot', {}));
    assert.ok(!accepts(type, 'reboot', { now: true }));
    assert.ok(accepts(type, 'wifi_update', { ssid: 'Home', password: '' }));
    const update = { url: 'http://s/firmware/a.bin', version: '1.0.0', checksum: 'a'.repeat(64), size: 10 };
    assert.ok(accepts(type, 'ota_update', update));
    assert.ok(!accepts(type, 'ota_update', { ...update, url: 'file:///etc/passwd' }));
  }
  assert.deepEqual(actionsOf('toaster'), ['reboot', 'factory_reset', 'ota_update', 'wifi_update']);
});

test('refuses actions of other types and names that every JavaScript object has', () => {
  assert.equal(commandSchema('climate', 'set_power'), null);
  assert.equal(commandSchema('light', 'toString'), null);
  assert.equal(commandSchema('light', '__proto__'), null);
  assert.deepEqual(actionsOf('switch-pir').slice(0, 1), ['set_power']);
});
