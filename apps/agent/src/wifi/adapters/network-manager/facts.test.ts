import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { factsOf, type Observed } from './facts.ts';
import { interfaces, treeOf } from './objects.ts';

const carrier = 0x10000;
/** A machine with a wired interface, which has no address of its own, and a device of this type. `gateway` as the kernel has it. */
function observed(name: string, type: number, gateway: string | null, flags = carrier): Observed {
  const tree = treeOf({
    '/1': {
      [interfaces.device]: { DeviceType: 1, Interface: 'eth0', State: 100, Ip4Config: '/' },
      [interfaces.wired]: { Carrier: true },
    },
    '/2': { [interfaces.device]: { DeviceType: type, Interface: name, State: 100, InterfaceFlags: flags } },
  });
  const foreign = new Map([[name, { ip: '10.0.0.7', gateway }]]);
  return { tree, profiles: [], blocked: 'no', clients: 0, foreign, hasLeftovers: false, hasRoute: true };
}

const cableOf = (facts: Observed) => factsOf(facts, null).ethernet;

describe('a cable', () => {
  for (const [what, name, type] of [
    ['a bridge', 'br0', 13],
    ['a bond', 'bond0', 10],
    ['a VLAN', 'eth0.20', 11],
    ['a team', 'team0', 15],
    ['a macvlan', 'host0', 18],
  ] as const) {
    test(`counts in ${what}`, () => {
      const expected = { interface: name, ip: '10.0.0.7', gateway: '10.0.0.1' };
      assert.deepEqual(cableOf(observed(name, type, '10.0.0.1')), expected);
    });
  }

  test('is none: what has no way out, as the bridges of containers, or no carrier, or is a tunnel', () => {
    assert.equal(cableOf(observed('docker0', 13, null)), null);
    assert.equal(cableOf(observed('br0', 13, '10.0.0.1', 0)), null);
    assert.equal(cableOf(observed('wg0', 29, '10.0.0.1')), null);
  });
});
