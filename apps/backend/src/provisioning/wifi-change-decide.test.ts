import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wifiFollowMs } from '@station/protocol/devices-wifi';
import { decideWifiChange, type WifiChangeFacts, type WifiChangeStep, type WifiTarget } from './wifi-change-decide.ts';

const now = 10_000_000;
const target = (more: Partial<WifiTarget> = {}): WifiTarget => {
  return { deviceId: 'a', state: 'waiting', toldAt: null, isOnline: true, ...more };
};
const facts = (targets: readonly WifiTarget[], more: Partial<WifiChangeFacts> = {}): WifiChangeFacts => {
  return {
    isRunning: true,
    targets,
    handshakes: new Map(),
    isBrokerReady: true,
    listeningSince: 0,
    now,
    ...more,
  };
};
const heard = (at: number): Partial<WifiChangeFacts> => ({ handshakes: new Map([['a', at]]) });
const tell: WifiChangeStep = { kind: 'tell', deviceId: 'a' };
const note = (state: 'followed' | 'not_followed' | 'offline'): WifiChangeStep => ({
  kind: 'note',
  deviceId: 'a',
  state,
});
const end: WifiChangeStep = { kind: 'end' };
const told = (ago: number): WifiTarget => target({ state: 'told', toldAt: now - ago });

const table: [what: string, given: WifiChangeFacts, steps: WifiChangeStep[], waitMs: number][] = [
  ['tells an online device', facts([target()]), [tell], Infinity],
  ['waits for the broker', facts([target()], { isBrokerReady: false }), [], 1_000],
  ['notes that a device went offline first', facts([target({ isOnline: false })]), [note('offline'), end], Infinity],
  ['repeats a message that a crash interrupted', facts([target({ toldAt: now - 5 })]), [tell], Infinity],
  ['also to a device that is offline since', facts([target({ toldAt: now - 5, isOnline: false })]), [tell], Infinity],
  ['a handshake before the message shows nothing', facts([told(5)], heard(now - 6)), [], wifiFollowMs - 5],
  ['a handshake after the message: it followed', facts([told(5)], heard(now - 5)), [note('followed'), end], Infinity],
  [
    'also while the message is on its way',
    facts([target({ toldAt: 1 })], heard(now)),
    [note('followed'), end],
    Infinity,
  ],
  ['gives up after 3 minutes', facts([told(wifiFollowMs)]), [note('not_followed'), end], Infinity],
  ['not before', facts([told(wifiFollowMs - 1)]), [], 1],
  [
    'waits for what came while the backend was down',
    facts([told(wifiFollowMs)], { listeningSince: now - 10_000 }),
    [],
    20_000,
  ],
  ['an offline device holds nothing up', facts([target({ state: 'offline', isOnline: false })]), [end], Infinity],
  ['tells a device that comes online', facts([target({ state: 'offline' })]), [tell], Infinity],
  [
    'does not when the broker is gone again',
    facts([target({ state: 'offline' })], { isBrokerReady: false }),
    [end],
    Infinity,
  ],
  [
    'ends when every device has its result',
    facts((['followed', 'not_followed', 'not_told'] as const).map((state) => target({ state }))),
    [end],
    Infinity,
  ],
  ['ends without devices', facts([]), [end], Infinity],
  ['tells nobody after it was cancelled', facts([target()], { isRunning: false }), [], Infinity],
  ['gives up nobody then', facts([told(wifiFollowMs)], { isRunning: false }), [], Infinity],
  [
    'a device may still follow then',
    facts([told(5)], { isRunning: false, ...heard(now) }),
    [note('followed')],
    Infinity,
  ],
];

for (const [what, given, steps, waitMs] of table) {
  test(what, () => assert.deepEqual(decideWifiChange(given), { steps, waitMs }));
}

test('the next turn is at the first deadline', () => {
  const { steps, waitMs } = decideWifiChange(facts([told(1_000), { ...told(2_000), deviceId: 'b' }]));
  assert.deepEqual([steps, waitMs], [[], wifiFollowMs - 2_000]);
});
