import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Value } from 'typebox/value';
import { findBuiltInType } from './builtin-device-types.ts';
import { actionsOf, commandSchema } from './device-command-schemas.ts';

const accepts = (type: string, action: string, params: unknown): boolean => {
  const schema = commandSchema(findBuiltInType(type), action);
  assert.ok(schema, `${type} does not understand ${action}`);
  return Value.Check(schema, params);
};

test('requires each parameter, with its type and range, and refuses others', () => {
  const cases: [unknown, boolean][] = [
    [{ brightness: 0 }, true],
    [{ brightness: 100 }, true],
    [{ brightness: -1 }, false],
    [{ brightness: 101 }, false],
    [{ brightness: '50' }, false],
    [{ brightness: Number.NaN }, false],
    [{}, false],
    [{ brightness: 50, on: true }, false],
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
  assert.deepEqual(actionsOf(undefined), ['reboot', 'factory_reset', 'ota_update', 'wifi_update']);
});

test('refuses actions of other types and names that every JavaScript object has', () => {
  assert.equal(commandSchema(findBuiltInType('climate'), 'turn_on'), null);
  assert.equal(commandSchema(findBuiltInType('light'), 'toString'), null);
  assert.equal(commandSchema(findBuiltInType('light'), '__proto__'), null);
  assert.deepEqual(actionsOf(findBuiltInType('light')).slice(0, 1), ['turn_on']);
});
