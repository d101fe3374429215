import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SavedNetwork } from '@station/protocol/agent-backup';
import { joinable } from './saved-networks-decide.ts';

for (const [isTaken, security, password] of [
  [true, 'wpa2', 'a password'],
  [true, 'wpa2', 'a'.repeat(64)],
  [false, 'wpa2', 'short'],
  [false, 'wpa2', null],
  [false, 'wpa2', 'a password\nwith a second line'],
  [true, 'wpa3', 'short'],
  [false, 'wpa3', null],
  [false, 'open', null],
  [false, 'owe', null],
] as const) {
  const network: SavedNetwork = { ssid: '686f6d65', security, hidden: false, password };
  test(`${isTaken ? 'joins' : 'does not join'} ${security} with ${JSON.stringify(password)}`, () =>
    assert.equal(joinable([network]).length === 1, isTaken));
}
