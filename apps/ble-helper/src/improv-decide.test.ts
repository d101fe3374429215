import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideImprov, improvCommand, improvStates, type ImprovFacts, type ImprovStep } from './improv-decide.ts';

describe('the command of Improv', () => {
  it('carries name and password with their lengths, and the sum', () => {
    assert.deepEqual(
      improvCommand('{"ssid":"MyWirelessAP","password":"mysecurepassword"}'),
      // The example of the specification ("Send Wi-Fi settings").
      Uint8Array.from([
        0x01, 0x1e, 0x0c, 0x4d, 0x79, 0x57, 0x69, 0x72, 0x65, 0x6c, 0x65, 0x73, 0x73, 0x41, 0x50, 0x10, 0x6d, 0x79,
        0x73, 0x65, 0x63, 0x75, 0x72, 0x65, 0x70, 0x61, 0x73, 0x73, 0x77, 0x6f, 0x72, 0x64, 0xc0,
      ]),
    );
  });

  it('counts bytes, and takes an open network', () => {
    const frame = improvCommand('{"ssid":"Дім","password":""}');
    assert.deepEqual([...(frame ?? [])].slice(0, 3), [1, 8, 6]);
    assert.equal(frame?.length, 2 + 8 + 1);
  });

  it('is none for anything else', () => {
    const tooLong = JSON.stringify({ ssid: 'x'.repeat(128), password: 'x'.repeat(126) });
    for (const payload of ['', '1', 'null', '[]', '{"ssid":"x"}', '{"ssid":"","password":"x"}', tooLong])
      assert.equal(improvCommand(payload), null);
  });
});

describe('the exchange of Improv', () => {
  const facts: ImprovFacts = {
    state: improvStates.authorized,
    error: 0,
    hasResult: false,
    hasWritten: false,
    hadWritten: false,
    isAuthorizationOver: false,
  };
  const failed = (error: string) => ({ kind: 'failed', error }) as ImprovStep;
  const { authorizationRequired, authorized, provisioning, provisioned } = improvStates;
  const rows: [string, Partial<ImprovFacts>, ImprovStep][] = [
    ['begins with the command', {}, { kind: 'write' }],
    ['writes to a device whose state is not known', { state: null }, { kind: 'write' }],
    ['writes to a device that was provisioned before', { state: provisioned }, { kind: 'write' }],
    ['waits for the button', { state: authorizationRequired }, { kind: 'wait' }],
    [
      'ends without the button',
      { state: authorizationRequired, isAuthorizationOver: true },
      failed('improv_not_authorized'),
    ],
    ['waits after the command', { hasWritten: true, state: provisioning }, { kind: 'wait' }],
    [
      'waits while the device still says that it is authorized',
      { hasWritten: true, state: authorized },
      { kind: 'wait' },
    ],
    ['ends when it has joined', { hasWritten: true, state: provisioned }, { kind: 'done' }],
    ['ends with a result', { hasWritten: true, state: null, hasResult: true }, { kind: 'done' }],
    ['tells a wrong password', { hasWritten: true, error: 3 }, failed('improv_wrong_credentials')],
    ['tells a missing authorization', { hasWritten: true, error: 4 }, failed('improv_not_authorized')],
    ['tells any other error', { hasWritten: true, error: 1 }, failed('improv_refused')],
    ['has joined while the link was lost', { hadWritten: true, state: provisioned }, { kind: 'done' }],
    ['joins while the link was lost', { hadWritten: true, state: provisioning }, { kind: 'wait' }],
    ['writes again when it has not joined', { hadWritten: true, state: authorized }, { kind: 'write' }],
    [
      'tells an error over another link',
      { hadWritten: true, state: provisioning, error: 3 },
      failed('improv_wrong_credentials'),
    ],
  ];
  for (const [what, change, step] of rows)
    it(what, () => assert.deepEqual(decideImprov({ ...facts, ...change }), step));
});
