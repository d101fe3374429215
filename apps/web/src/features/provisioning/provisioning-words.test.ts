import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import { Provisioning, provisioningErrors, RadioReport } from '@station/protocol/provisioning';
import { textsOf } from '../../../testing/texts-of.ts';
import { candidateName, stepsOf } from './provisioning-words.ts';

const { error, radio } = (await textsOf('en')).provisioning;

test('every failure has a sentence with what helps', () => {
  for (const code of provisioningErrors) assert.ok(code in error, code);
});

test('every state of the radio has a name and what to do', () => {
  const reasons = (RadioReport.properties.reason.anyOf[0] as unknown as { enum: string[] }).enum;
  assert.deepEqual(Object.keys(radio).sort(), [...reasons].sort());
});

test('the steps show how far a device is', () => {
  const of = (method: Provisioning['method'], status: Provisioning['status']): string => {
    const { steps, at } = stepsOf({ method, status } as Provisioning);
    return `${at} of ${steps.join(' ')}`;
  };
  assert.equal(of('ble', 'queued'), '0 of queued writing waiting online');
  assert.equal(of('ble', 'writing'), '1 of queued writing waiting online');
  assert.equal(of('ble', 'waiting'), '2 of queued writing waiting online');
  assert.equal(of('improv', 'waiting'), '2 of queued writing login online');
  assert.equal(of('manual', 'waiting'), '0 of login online');
  assert.equal(of('ble', 'succeeded'), '4 of queued writing waiting online');
});

test('a device is named in the language of the reader', () => {
  const light = builtInDeviceTypes.find(({ type }) => type === 'light');
  const named = { deviceType: 'light', defaultName: 'Light B2C3' };
  assert.equal(candidateName('uk', named, light), 'Світильник B2C3');
  assert.equal(candidateName('en-GB', named, light), 'Light B2C3');
  assert.equal(candidateName('uk', { ...named, defaultName: 'Lightning' }, light), 'Lightning');
  assert.equal(candidateName('uk', { deviceType: null, defaultName: 'Greenhouse' }, undefined), 'Greenhouse');
});
