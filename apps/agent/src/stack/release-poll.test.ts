import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takesPart } from './release-poll.ts';

const station = (index: number): string => `7f1f6c4e-3c5a-4b58-9a53-${String(index).padStart(12, '0')}`;

test('a rollout of 0 includes no station, of 100 every one, and a wider one keeps those of a narrower', () => {
  for (let index = 0; index < 200; index += 1) {
    assert.equal(takesPart(station(index), { version: '1.0.0', rollout: 0 }), false);
    assert.equal(takesPart(station(index), { version: '1.0.0', rollout: 100 }), true);
    const narrow = takesPart(station(index), { version: '1.0.0', rollout: 20 });
    if (narrow) assert.ok(takesPart(station(index), { version: '1.0.0', rollout: 50 }));
  }
});

test('a rollout takes about its share of the stations, others for each version', () => {
  const share = (version: string): boolean[] =>
    Array.from({ length: 4000 }, (_, index) => takesPart(station(index), { version, rollout: 25 }));
  const first = share('1.0.0');
  const second = share('1.1.0');
  for (const taken of [first, second]) {
    const count = taken.filter(Boolean).length;
    assert.ok(count > 900 && count < 1100, `${count} of 4000`);
  }
  assert.notDeepEqual(first, second);
});
