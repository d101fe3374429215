import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkWifi } from './wifi-check.ts';

test('a network has no password only when that was chosen', () => {
  const cases: [ssid: string, password: string, isOpen: boolean, faults: ReturnType<typeof checkWifi>][] = [
    ['Cabin', 'under the doormat', false, { ssid: null, password: null }],
    ['Cabin', '', false, { ssid: null, password: 'password_missing' }],
    ['Cabin', '', true, { ssid: null, password: null }],
    ['', '', false, { ssid: 'required', password: 'password_missing' }],
  ];
  for (const [ssid, password, isOpen, faults] of cases) assert.deepEqual(checkWifi({ ssid, password }, isOpen), faults);
});

test('the password fits the security of the network, where it is known', () => {
  const fault = (password: string, security?: 'wpa2' | 'wpa3') =>
    checkWifi({ ssid: 'Cabin', password }, false, security).password;
  assert.equal(fault('seven77', 'wpa2'), 'password_length');
  assert.equal(fault('salt5', 'wpa3'), null);
  assert.equal(fault('salt5'), null);
  assert.equal(fault('a'.repeat(129)), 'password_too_long');
});
