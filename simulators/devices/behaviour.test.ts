import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionsOf } from '@station/protocol/device-command-schemas';
import { builtInDeviceTypes, type Capability } from '@station/protocol/device-types';
import { createBehaviour, simulatedTypes } from './behaviour.ts';
import { makeLogins } from './devices-file.ts';
import { seededRandom } from './random.ts';

const dayOf = (seed: string, type: (typeof simulatedTypes)[number]): unknown[] => {
  const random = seededRandom(seed);
  const behaviour = createBehaviour(type, random);
  return Array.from({ length: 200 }, (_, step) => {
    const reports = behaviour.step(random, step / 200);
    return [behaviour.pauseMs(random), reports, { ...behaviour.state }];
  });
};

for (const type of simulatedTypes) {
  test(`${type}: reports the values of its type, in range, and repeats them for the same seed`, () => {
    const known = builtInDeviceTypes.find((one) => one.type === type);
    assert.ok(known);
    const capabilities: readonly Capability[] = known.capabilities;
    const steps = dayOf('a', type) as [number, { data: { action: string } }[], Record<string, unknown>][];
    assert.deepEqual(dayOf('a', type), steps);
    assert.notDeepEqual(dayOf('b', type), steps);
    for (const [pauseMs, reports, state] of steps) {
      assert.ok(pauseMs >= 4_000 && pauseMs <= 120_000);
      for (const { data } of reports) assert.ok(known.events.includes(data.action), data.action);
      assert.deepEqual(Object.keys(state).sort(), known.capabilities.map(({ name }) => name).sort());
      for (const { name, kind, min, max } of capabilities) {
        const value: unknown = state[name];
        assert.equal(typeof value, kind);
        if (typeof value === 'number')
          assert.ok(value >= (min ?? value) && value <= (max ?? value), `${name} ${value}`);
      }
    }
  });

  test(`${type}: executes every command of its type, and no other`, () => {
    const behaviour = createBehaviour(type, seededRandom('a'));
    const own = builtInDeviceTypes.find((one) => one.type === type)?.commands ?? [];
    for (const { action, parameters } of own) {
      const params = Object.fromEntries(parameters.map(({ name, kind }) => [name, kind === 'boolean' ? true : 42]));
      assert.ok(behaviour.execute(action, params), action);
      for (const { name, capability } of parameters) {
        if (capability !== null) assert.equal(behaviour.state[capability], params[name]);
      }
    }
    assert.ok(!behaviour.execute('dance', {}));
    assert.equal(actionsOf(type).length, own.length + 4);
  });
}

test('logins have every type and unique names and tokens', () => {
  const logins = makeLogins(40);
  assert.equal(new Set(logins.map(({ externalId }) => externalId)).size, 40);
  assert.equal(new Set(logins.map(({ token }) => token)).size, 40);
  assert.equal(new Set(logins.map(({ name }) => name)).size, 40);
  assert.deepEqual(new Set(logins.map(({ type }) => type)), new Set(simulatedTypes));
});
