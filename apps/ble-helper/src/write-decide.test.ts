import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideNextTry, failureOfCall, type Failure, type NextTry } from './write-decide.ts';

describe('an error of a call', () => {
  const bluez = 'org.bluez.Error.';
  const rows: ['connect' | 'write', string, Failure['error'], Failure['next']][] = [
    ['connect', 'station.Lost', 'bluetooth_stopped', 'retry'],
    ['write', 'org.freedesktop.DBus.Error.NoReply', 'bluetooth_stopped', 'retry'],
    ['connect', `${bluez}NotReady`, 'adapter_off', 'retry'],
    ['connect', 'org.freedesktop.DBus.Error.UnknownObject', 'not_found', 'retry'],
    ['write', 'org.freedesktop.DBus.Error.UnknownMethod', 'disconnected', 'retry'],
    ['connect', `${bluez}Failed`, 'connect_failed', 'retry'],
    ['connect', 'station.TimedOut', 'connect_failed', 'restart_radio'],
    ['write', `${bluez}Failed`, 'write_failed', 'retry'],
    ['write', `${bluez}InProgress`, 'write_failed', 'retry'],
    ['write', `${bluez}NotConnected`, 'disconnected', 'retry'],
    ['write', `${bluez}NotPermitted`, 'write_failed', 'give_up'],
    ['write', `${bluez}InvalidValueLength`, 'payload_invalid', 'give_up'],
  ];
  for (const [step, name, error, next] of rows)
    it(`${name} of a ${step} is ${error}`, () => assert.deepEqual(failureOfCall(step, name), { error, next }));
});

describe('the next try', () => {
  const usual = { tried: 1, tries: 4, hasForgotten: false, unanswered: 1 as number | null, firstRetryMs: 250 };
  const rows: [string, Failure, Partial<typeof usual>, NextTry][] = [
    [
      'comes after a pause',
      { error: 'connect_failed', next: 'retry' },
      {},
      { kind: 'again', first: 'disconnect', waitMs: 250 },
    ],
    [
      'waits longer each time',
      { error: 'disconnected', next: 'retry' },
      { tried: 3 },
      { kind: 'again', first: 'disconnect', waitMs: 750 },
    ],
    [
      'is none after the last',
      { error: 'disconnected', next: 'retry' },
      { tried: 4 },
      { kind: 'end', error: 'disconnected' },
    ],
    [
      'is none when that would not help',
      { error: 'payload_invalid', next: 'give_up' },
      {},
      { kind: 'end', error: 'payload_invalid' },
    ],
    [
      'begins with forgetting the device',
      { error: 'service_missing', next: 'rediscover' },
      {},
      { kind: 'again', first: 'forget', waitMs: 250 },
    ],
    [
      'forgets it once',
      { error: 'service_missing', next: 'rediscover' },
      { hasForgotten: true },
      { kind: 'end', error: 'service_missing' },
    ],
    [
      'forgets old handles after two failed writes',
      { error: 'write_failed', next: 'retry' },
      { tried: 2 },
      { kind: 'again', first: 'forget', waitMs: 500 },
    ],
    [
      'restarts nothing after one connection without an answer',
      { error: 'connect_failed', next: 'restart_radio' },
      {},
      { kind: 'again', first: 'disconnect', waitMs: 250 },
    ],
    [
      'restarts the radio after two of them',
      { error: 'connect_failed', next: 'restart_radio' },
      { tried: 2, unanswered: 2 },
      { kind: 'again', first: 'restart_radio', waitMs: 500 },
    ],
    [
      'restarts it once',
      { error: 'connect_failed', next: 'restart_radio' },
      { tried: 3, unanswered: null },
      { kind: 'again', first: 'disconnect', waitMs: 750 },
    ],
  ];
  for (const [what, failure, change, next] of rows)
    it(what, () => assert.deepEqual(decideNextTry(failure, { ...usual, ...change }), next));
});
