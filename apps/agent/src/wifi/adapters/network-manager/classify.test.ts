import assert from 'node:assert/strict';
import type { JoinFailure } from '@station/protocol/agent-network';
import { test } from 'node:test';
import type { Security } from '@station/protocol/wifi-password';
import { classify, classifyTimeout, describeEvidence, type Evidence } from './classify.ts';

const device = (state: number, reason = 0): Evidence => ({ kind: 'device', state, reason });
const begun = [device(40), device(50)];
const asked = [...begun, device(60), device(40), device(50)];
const handshake: Evidence = { kind: 'supplicant', state: '4way_handshake' };
const completed: Evidence = { kind: 'supplicant', state: 'completed' };
const broken = (reason: number): Evidence => ({ kind: 'disconnect', reason });
const rejected = (status: number): Evidence => ({ kind: 'authentication', status });
const turnedAway = (status: number): Evidence => ({ kind: 'association', status });

type Row = {
  what: string;
  security?: Security;
  isUnseen?: boolean;
  heard: Evidence[];
  is: JoinFailure | 'activated' | 'unsettled' | null;
};

const rows: Row[] = [
  { what: 'nothing yet', heard: [], is: null },
  { what: 'every step succeeds', heard: [...asked, device(70), device(80), device(90), device(100)], is: 'activated' },
  { what: 'NEED_AUTH at the start is how every secured join goes', heard: asked, is: null },
  { what: 'wrong WPA2 key: asked for a new one', heard: [...asked, device(60, 8)], is: 'wrong_password' },
  { what: 'wrong WPA2 key: nobody to ask', heard: [...asked, device(120, 7)], is: 'wrong_password' },
  {
    what: 'wrong WPA2 key, first reported by the supplicant',
    heard: [...asked, handshake, broken(2)],
    is: 'wrong_password',
  },
  { what: 'the handshake times out', heard: [...asked, broken(15)], is: 'wrong_password' },
  { what: 'the handshake times out at our end', heard: [...asked, broken(-15)], is: 'wrong_password' },
  { what: 'beacons lost in the handshake decide nothing', heard: [...asked, handshake, broken(-4)], is: null },
  {
    what: 'let in, and the handshake that begins again breaks off: the password was right',
    heard: [...asked, handshake, completed, device(70), handshake, broken(15)],
    is: 'unsettled',
  },
  {
    what: 'the same as NetworkManager has it',
    security: 'wpa3',
    heard: [...asked, handshake, completed, device(70), handshake, device(60, 8)],
    is: 'unsettled',
  },
  {
    what: 'the network before was let in, this one not',
    heard: [completed, ...asked, handshake, broken(15)],
    is: 'wrong_password',
  },
  {
    what: 'a handshake that begins again may come to its end',
    heard: [...asked, handshake, completed, device(70), handshake],
    is: null,
  },
  { what: 'a disconnect before the handshake decides nothing', heard: [...asked, broken(3)], is: null },
  {
    what: 'in a WPA3 handshake the key is right already',
    security: 'wpa3',
    heard: [...asked, handshake, broken(2)],
    is: null,
  },
  { what: 'wrong SAE password', security: 'wpa3', heard: [...asked, rejected(1)], is: 'wrong_password' },
  { what: 'wrong SAE password, mixed', security: 'wpa2-wpa3', heard: [...asked, rejected(15)], is: 'wrong_password' },
  { what: 'SAE wants a token first', security: 'wpa3', heard: [...asked, rejected(76)], is: null },
  { what: 'success is a status, too', security: 'wpa3', heard: [...asked, rejected(0)], is: null },
  { what: 'authentication status 1 without SAE', heard: [...asked, rejected(1)], is: null },
  {
    what: 'wrong SAE password as NetworkManager has it',
    security: 'wpa3',
    heard: [...asked, device(120, 53)],
    is: 'wrong_password',
  },
  { what: 'mixed and no association', security: 'wpa2-wpa3', heard: [...asked, device(120, 53)], is: 'timed_out' },
  { what: 'WPA2, seen, no association', heard: [...asked, device(120, 53)], is: 'timed_out' },
  { what: 'the supplicant gives up', heard: [...asked, device(120, 11)], is: 'timed_out' },
  { what: 'not met by any scan', isUnseen: true, heard: [...begun, device(120, 53)], is: 'not_found' },
  { what: 'the access point is full', heard: [...asked, turnedAway(17), device(120, 11)], is: 'refused' },
  { what: 'no address can be had', heard: [...asked, device(70), device(120, 5)], is: 'no_address' },
  ...[6, 15, 16, 17].map((reason): Row => ({
    what: `DHCP ${reason}`,
    heard: [...begun, device(120, reason)],
    is: 'no_address',
  })),
  { what: 'the supplicant does not take it', heard: [...begun, device(120, 9)], is: 'unsupported' },
  { what: 'no firmware', heard: [...begun, device(120, 35)], is: 'unsupported' },
  { what: 'the device is pulled out', heard: [...begun, device(10, 36)], is: 'failed' },
  { what: 'the radio is switched off', heard: [...begun, device(20)], is: 'failed' },
  { what: 'somebody ends it', heard: [...begun, device(110, 39)], is: 'failed' },
  { what: 'NetworkManager is not running', heard: [{ kind: 'gone' }], is: 'failed' },
  { what: 'an unknown reason', heard: [...begun, device(120, 1)], is: 'failed' },
  { what: 'what was there before ends', heard: [device(110, 39), device(30, 39)], is: null },
  { what: 'the old password was wrong, not ours', heard: [device(120, 7), device(30), ...begun], is: null },
  {
    what: 'one under way makes room for ours',
    heard: [device(50), device(110, 60), device(30, 60), ...begun],
    is: null,
  },
];

for (const { what, security = 'wpa2', isUnseen = false, heard, is } of rows)
  test(`${what}: ${is ?? 'undecided'}`, () => {
    const verdict = classify({ security, wasSeen: !isUnseen }, heard);
    assert.equal(verdict?.kind === 'failed' ? verdict.failure : (verdict?.kind ?? null), is);
  });

test('when the time is over, how far it got decides', () => {
  const wpa2 = { security: 'wpa2', wasSeen: true } as const;
  assert.equal(classifyTimeout(wpa2, [...asked, device(70)]), 'no_address');
  assert.equal(classifyTimeout(wpa2, asked), 'timed_out');
  assert.equal(classifyTimeout({ ...wpa2, wasSeen: false }, asked), 'not_found');
  assert.equal(classifyTimeout({ ...wpa2, security: 'wpa3' }, asked), 'wrong_password');
  assert.equal(classifyTimeout(wpa2, [...asked, handshake, completed, device(70), handshake]), 'timed_out');
});

test('the log has every step by name', () => {
  const told = describeEvidence([...begun, handshake, broken(15), rejected(1), turnedAway(17), device(120, 7)]);
  assert.equal(
    told,
    'device 40 (none), device 50 (none), 4way_handshake, disconnect 15, authentication status 1, association status 17, device 120 (no-secrets)',
  );
});
