import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideProvisioning, type ProvisioningFacts } from './provisioning-decide.ts';

const now = 1_000_000;
const facts: ProvisioningFacts = {
  method: 'ble',
  status: 'queued',
  changedAt: now,
  endsAt: null,
  hasToken: true,
  loginAt: null,
  hadDevice: false,
  device: null,
  write: { kind: 'none' },
  handshakeAt: null,
  broker: 'embedded',
  listeningSince: 0,
  now,
};
const known = { hadDevice: true, device: { isOnline: true } };
const writing = { status: 'writing', write: { kind: 'running' } } as const;
const waiting = { status: 'waiting', endsAt: now + 5_000 } as const;
const done = { write: { kind: 'done' } } as const;
const failed = { write: { kind: 'failed', error: 'connect_failed' } } as const;
const external = { broker: 'external' } as const;

const cases: [string, Partial<ProvisioningFacts>, string | null, number?][] = [
  ['the login is made first', { hasToken: false }, 'make_login'],
  ['an Improv device needs none for the write', { method: 'improv', hasToken: false }, 'write'],
  ['then it is written', {}, 'write'],
  ['it waits for the radio', { write: { kind: 'running' } }, null, Infinity],
  ['it is being written', writing, null, Infinity],
  ['it was written', { ...writing, ...done }, 'await_handshake 60000'],
  ['it was written before its start was noted', done, 'await_handshake 60000'],
  ['an Improv device was written', { ...writing, ...done, method: 'improv' }, 'await_handshake 3600000'],
  ['the write failed', { ...writing, ...failed }, 'failed connect_failed'],
  ['the radio gave up before the write', failed, 'failed connect_failed'],
  ['the write failed, but its login is used', { ...writing, ...failed, loginAt: now }, 'await_handshake 60000'],
  [
    'an external broker does not tell that',
    { ...writing, ...failed, ...external, loginAt: now },
    'failed connect_failed',
  ],
  ['another process wrote', { ...writing, write: { kind: 'none' } }, 'failed interrupted'],
  ['another process wrote, and it arrived', { status: 'writing', loginAt: now }, 'await_handshake 60000'],
  ['it waits for the handshake', waiting, null, 5_000],
  ['the handshake did not come', { ...waiting, endsAt: now }, 'timed_out null'],
  ['the handshake may wait at the broker', { ...waiting, endsAt: now, listeningSince: now }, null, 30_000],
  ['somebody removed it', { ...waiting, hadDevice: true }, 'cancelled null'],
  ['a known device was written to', { ...waiting, ...known }, 'replace_login'],
  ['the same with an external broker', { ...waiting, ...known, ...external }, 'replace_login'],
  ['its login was replaced', { ...waiting, ...known, loginAt: now }, null, 5_000],
  ['its handshake is older than its login', { ...waiting, ...known, loginAt: now, handshakeAt: now - 1 }, null, 5_000],
  ['its handshake came', { ...waiting, ...known, loginAt: now, handshakeAt: now }, 'succeeded null'],
  ['its handshake came during the write', { ...writing, ...known, loginAt: 1, handshakeAt: 2 }, 'succeeded null'],
  ['a handshake with the old login', { ...writing, ...known, handshakeAt: now }, null, Infinity],
  ['a handshake before anything', { ...known, handshakeAt: now }, 'write'],
  ['by hand, embedded: both logins work', { ...waiting, ...known, method: 'manual' }, null, 5_000],
  ['by hand, external: the old login is in use', { ...waiting, ...known, ...external, method: 'manual' }, null, 5_000],
  [
    'by hand, external: it is offline',
    { ...waiting, hadDevice: true, device: { isOnline: false }, ...external, method: 'manual' },
    'replace_login',
  ],
  [
    'a known Improv device with its old login',
    { ...waiting, ...known, method: 'improv', hasToken: false, handshakeAt: now },
    'succeeded null',
  ],
  [
    'the same before the write',
    { ...waiting, ...known, method: 'improv', hasToken: false, handshakeAt: now - 1 },
    null,
    5_000,
  ],
];

for (const [name, given, wanted, waitMs = 0] of cases) {
  test(`adding a device: ${name}`, () => {
    const { step, waitMs: waits } = decideProvisioning({ ...facts, ...given });
    const { kind, ...rest } = step ?? { kind: null };
    const [first, second] = Object.values(rest);
    const what =
      kind === 'end' ? `${String(first)} ${String(second)}` : first === undefined ? kind : `${kind} ${String(first)}`;
    assert.deepEqual([what, waits], [wanted, waitMs]);
  });
}
