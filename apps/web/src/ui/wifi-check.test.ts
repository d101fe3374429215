import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkWifi } from './wifi-check.ts';

test('a network has no password only when that was chosen', () => {
  const cases: [ssid: string, password: string, isOpen: boolean, faults: ReturnType<typeof checkWifi>][] = [
    ['Cabin', 'under the doormat', false, { ssid: null, password: null }],
    ['Cabin', '', false, { ssid: null, password: 'missing' }],
    ['Cabin', '', true, { ssid: null, password: null }],
    ['Cabin', 'seven77', false, { ssid: null, password: 'short' }],
    ['', '', false, { ssid: 'required', password: 'missing' }],
  ];
  for (const [ssid, password, isOpen, faults] of cases) assert.deepEqual(checkWifi({ ssid, password }, isOpen), faults);
});
