import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstance } from 'i18next';
import { type WifiDeviceState, wifiDeviceStates } from '@station/protocol/devices-wifi';
import { textsOf } from '../../../testing/texts-of.ts';
import { wifiAdvice, type WifiChange, wifiHeadline } from './devices-wifi-words.ts';

const i18n = createInstance();
await i18n.init({
  lng: 'en',
  resources: { en: { translation: await textsOf('en') } },
  interpolation: { escapeValue: false },
});
const { t } = i18n;

const change = (state: WifiChange['state'], counts: Partial<Record<WifiDeviceState, number>>): WifiChange => ({
  id: 'c1',
  ssid: 'New net',
  state,
  startedBy: null,
  startedAt: '2026-03-01T12:00:00.000Z',
  endedAt: null,
  counts: Object.fromEntries(wifiDeviceStates.map((one) => [one, counts[one] ?? 0])) as WifiChange['counts'],
  devices: [],
});

test('says in one sentence how far the devices are', () => {
  const cases: [WifiChange, string, string][] = [
    [change('running', { told: 2, followed: 1 }), 'working', 'Moving to “New net”: 1 of 3 followed'],
    [change('ended', { followed: 3 }), 'ok', 'All 3 devices followed to “New net”'],
    [change('ended', { followed: 2, offline: 1 }), 'attention', '2 of 3 devices followed to “New net”'],
    [change('cancelled', { not_told: 2 }), 'attention', 'Stopped: 0 of 2 devices followed to “New net”'],
    [change('ended', {}), 'ok', 'There are no devices to bring to “New net”'],
  ];
  for (const [one, tone, words] of cases) assert.deepEqual(wifiHeadline(t, one), { tone, words });
});

test('says once for each state what to do about those that did not follow', () => {
  assert.deepEqual(wifiAdvice(t, change('ended', { followed: 5 })), []);
  const starts = (one: WifiChange): string[] => wifiAdvice(t, one).map((words) => words.split(':')[0] ?? '');
  assert.deepEqual(starts(change('ended', { not_followed: 2, not_told: 1, offline: 1 })), [
    'Did not arrive',
    'Not sent',
    'Offline',
  ]);
  assert.match(wifiAdvice(t, change('running', { offline: 1 }))[0] ?? '', /come online while this runs/);
});
