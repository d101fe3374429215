import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WifiStatus } from '@station/protocol/agent-api';
import { networkLine } from './health.ts';
import { sampleStatus } from './sample-status.ts';

const { wifi } = sampleStatus();
const hotspot = { active: true, ssid: 'Station-7f10', ip: '192.0.2.1', clients: 1 };

const lines: [string, Partial<WifiStatus>, ReturnType<typeof networkLine>][] = [
  ['shows nothing where the agent does not manage the network', { mode: 'disabled' }, null],
  [
    'names the Wi-Fi it is in',
    { mode: 'client', ssid: 'Home', connectivity: 'full' },
    { key: 'wifi', tone: 'ok', ssid: 'Home', isWithoutInternet: false },
  ],
  [
    'shows that the internet is unreachable',
    { mode: 'client', ssid: 'Home', connectivity: 'local' },
    { key: 'wifi', tone: 'attention', ssid: 'Home', isWithoutInternet: true },
  ],
  [
    'does not say so before anybody was asked',
    { mode: 'ethernet', connectivity: null },
    { key: 'cable', tone: 'ok', ssid: '', isWithoutInternet: false },
  ],
  [
    'names the hotspot',
    { mode: 'hotspot', hotspot },
    { key: 'hotspot', tone: 'attention', ssid: 'Station-7f10', isWithoutInternet: false },
  ],
  [
    'distinguishes a try from a fault',
    { mode: 'offline', watchdog: { ...wifi.watchdog, state: 'JOINING' } },
    { key: 'trying', tone: 'working', ssid: '', isWithoutInternet: false },
  ],
  [
    'is at fault when nothing is being tried',
    { mode: 'offline', watchdog: { ...wifi.watchdog, state: 'RETRYING' } },
    { key: 'offline', tone: 'fault', ssid: '', isWithoutInternet: false },
  ],
];

for (const [name, change, line] of lines) test(name, () => assert.deepEqual(networkLine({ ...wifi, ...change }), line));
