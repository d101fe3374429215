import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionsOf } from '@station/protocol/device-command-schemas';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import type { DeviceType } from '@station/protocol/device-types';
import { createBehaviour } from './behaviour.ts';
import { makeLogins, simulatedTypes } from './devices-file.ts';
import { seededRandom } from './random.ts';

const dayOf = (seed: string, type: DeviceType): unknown[] => {
  const random = seededRandom(seed);
  const behaviour = createBehaviour(type, random);
  return Array.from({ length: 200 }, (_, step) => {
    const reports = behaviour.step(random, step / 200);
    return [behaviour.pauseMs(random), reports, { ...behaviour.state }];
  });
};

for (const type of builtInDeviceTypes) {
  test(`${type.type}: reports the values of its type, in range, and repeats them for the same seed`, () => {
    const steps = dayOf('a', type) as [
      number,
      { event: string; data: { action: string } }[],
      Record<string, unknown>,
    ][];
    assert.deepEqual(dayOf('a', type), steps);
    assert.notDeepEqual(dayOf('b', type), steps);
    for (const [pauseMs, reports, state] of steps) {
      assert.ok(pauseMs >= 4_000 && pauseMs <= 120_000);
      for (const { event, data } of reports) {
        assert.ok(
          type.events.some(({ action, kind }) => action === data.action && kind === event),
          data.action,
        );
      }
      assert.deepEqual(
        Object.keys(state),
        type.capabilities.map(({ key }) => key),
      );
      for (const { key, kind, min = -Infinity, max = Infinity } of type.capabilities) {
        const value: unknown = state[key];
        assert.equal(typeof value, kind);
        if (typeof value === 'number') assert.ok(value >= min && value <= max, `${key} ${value}`);
      }
    }
  });

  test(`${type.type}: executes every command of its type, and no other`, () => {
    const behaviour = createBehaviour(type, seededRandom('a'));
    for (const { action, params, sets = {}, repeatable } of type.commands) {
      const names = Object.entries(params?.properties ?? {});
      const values = Object.fromEntries(names.map(([name, { type: kind }]) => [name, kind === 'boolean' ? true : 42]));
      const before = { ...behaviour.state };
      assert.ok(behaviour.execute(action, values), action);
      for (const [key, value] of Object.entries({ ...sets, ...values })) assert.equal(behaviour.state[key], value);
      if (!repeatable) assert.notDeepEqual(behaviour.state, before);
    }
    assert.ok(!behaviour.execute('dance', {}));
    assert.equal(actionsOf(type).length, type.commands.length + 4);
  });
}

test('logins have every type and unique names and tokens', () => {
  const logins = makeLogins(40);
  assert.equal(new Set(logins.map(({ externalId }) => externalId)).size, 40);
  assert.equal(new Set(logins.map(({ token }) => token)).size, 40);
  assert.equal(new Set(logins.map(({ name }) => name)).size, 40);
  assert.deepEqual(new Set(logins.map(({ type }) => type)), new Set(simulatedTypes));
});
