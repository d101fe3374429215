import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Value } from 'typebox/value';
import { createAgentConditions } from '@station/kit/conditions';
import { WifiStatus } from '@station/protocol/agent-api';
import { ssidFromText } from '../core/wifi-network.ts';
import { type Facts, initialMemory, type Memory } from './wifi-facts.ts';
import type { RadioFacts } from './wifi-ports.ts';
import { setConditions, wifiStatusOf } from './wifi-status.ts';

const now = 50_000;
const clock = { now: () => Date.UTC(2026, 0, 1), monotonic: () => now, sleep: async () => undefined };
const home = ssidFromText('home');
const client = { ssid: home, ip: '10.0.0.2', gateway: '10.0.0.1', signal: 60, candidateId: null };
const hotspot = { ssid: ssidFromText('Station'), ip: '192.0.2.1', clients: 2 };
const radio: NonNullable<RadioFacts['radio']> = {
  interface: 'wlan0',
  isManaged: true,
  blocked: 'no',
  canBeAccessPoint: true,
  state: 'disconnected',
  client: null,
  hotspot: null,
};
const factsOf = (changes: Partial<RadioFacts>): Facts => ({
  nowMs: now,
  network: {
    manager: 'running',
    radio,
    ethernet: null,
    known: [home],
    hidden: [],
    unkept: [],
    hasRoute: true,
    hasLeftovers: false,
    ...changes,
  },
  networks: [],
  scan: { isRunning: false, endedMs: null },
  portal: { isOpen: false, isListening: false },
  seenMs: null,
});
const memory = (changes: Partial<Memory> = {}): Memory => ({ ...initialMemory(now - 10_000, true), ...changes });
const link = { key: 'wifi 686f6d65 10.0.0.2 10.0.0.1', connectivity: 'local' as const, failures: 0, probedMs: now };
const ethernet = { interface: 'eth0', ip: '10.9.0.2', gateway: null };

describe('status of Wi-Fi', () => {
  for (const [mode, before, facts] of [
    ['disabled', memory({ isEnabled: false }), factsOf({ ethernet })],
    ['offline', memory(), null],
    ['offline', memory(), factsOf({})],
    ['offline', memory(), factsOf({ radio: { ...radio, client: { ...client, ip: null } } })],
    ['client', memory(), factsOf({ radio: { ...radio, client } })],
    ['ethernet', memory(), factsOf({ radio: { ...radio, client }, ethernet })],
    ['hotspot', memory(), factsOf({ radio: { ...radio, hotspot }, ethernet })],
  ] as const) {
    test(`is ${mode}, in the shape that is promised`, () => {
      const status = wifiStatusOf(before, facts, clock);
      assert.equal(status.mode, mode);
      assert.ok(Value.Check(WifiStatus, status), JSON.stringify(status));
    });
  }

  test('shows the network, its connectivity, and since when', () => {
    const facts = factsOf({ radio: { ...radio, client } });
    const status = wifiStatusOf(memory({ state: 'CONNECTED', link }), facts, clock);
    assert.deepEqual(status, {
      mode: 'client',
      ssid: 'home',
      ip: '10.0.0.2',
      signal: 60,
      connectivity: 'local',
      hotspot: { active: false, ssid: null, ip: null, clients: 0 },
      watchdog: {
        state: 'CONNECTED',
        since: '2025-12-31T23:59:50.000Z',
        attempts: 0,
        nextRetryAt: null,
        lastFailure: null,
      },
    });
  });

  test('shows the hotspot, and when known networks are tried', () => {
    const returns = { [home]: { delayMs: 60_000, dueMs: now + 5000, missedScans: 0 } };
    const before = memory({ state: 'HOTSPOT_ACTIVE', returns, lastFailure: 'wrong_password' });
    const {
      hotspot: told,
      watchdog,
      connectivity,
    } = wifiStatusOf(before, factsOf({ radio: { ...radio, hotspot } }), clock);
    assert.deepEqual(told, { active: true, ssid: 'Station', ip: '192.0.2.1', clients: 2 });
    assert.equal(connectivity, 'none');
    assert.equal(watchdog.nextRetryAt, '2026-01-01T00:00:05.000Z');
    assert.equal(watchdog.lastFailure, 'wrong_password');
    const retrying = wifiStatusOf(
      memory({ state: 'RETRYING', attempts: 1, attemptedMs: now - 10_000 }),
      factsOf({}),
      clock,
    );
    assert.equal(retrying.watchdog.nextRetryAt, '2026-01-01T00:00:20.000Z');
  });
});

describe('conditions of Wi-Fi', () => {
  const longAgo = { state: 'CHECK', sinceMs: now - 40_000 } as const;
  const usual = { country: 'UA', isPortTaken: false, hotspotFailure: null };
  const rows: [string[], Memory, Facts, Partial<Parameters<typeof setConditions>[3]>][] = [
    [[], memory(), factsOf({}), {}],
    [['network_manager_absent'], memory(), factsOf({ manager: 'absent', radio: null }), {}],
    [[], memory({ isEnabled: false, ...longAgo }), factsOf({ manager: 'absent', radio: null }), {}],
    [[], memory({ isEnabled: false, ...longAgo }), factsOf({ radio: null }), {}],
    [[], memory({ isEnabled: false, ...longAgo }), factsOf({ radio: null, hasRoute: false, ethernet }), {}],
    [[], memory({ isEnabled: false }), factsOf({ radio: null, hasRoute: false }), {}],
    [['wifi_no_radio'], memory({ isEnabled: false, ...longAgo }), factsOf({ radio: null, hasRoute: false }), {}],
    [
      ['network_manager_absent'],
      memory({ isEnabled: false, ...longAgo }),
      factsOf({ manager: 'absent', radio: null, hasRoute: false }),
      {},
    ],
    [['wifi_no_radio'], memory(), factsOf({ radio: null }), {}],
    [['wifi_unmanaged'], memory(), factsOf({ radio: { ...radio, isManaged: false } }), {}],
    [['wifi_blocked_hard'], memory(), factsOf({ radio: { ...radio, blocked: 'hard' } }), {}],
    [['wifi_blocked_soft'], memory(), factsOf({ radio: { ...radio, blocked: 'soft' } }), {}],
    [
      ['wifi_blocked_soft', 'wifi_country_unset'],
      memory(),
      factsOf({ radio: { ...radio, blocked: 'soft' } }),
      { country: null },
    ],
    [['wifi_not_kept'], memory(), factsOf({ unkept: [home] }), {}],
    [['portal_port_taken'], memory(), factsOf({}), { isPortTaken: true }],
    [['hotspot_dns_port_taken'], memory(), factsOf({}), { hotspotFailure: 'dns_port_taken' }],
    [['hotspot_failed'], memory(), factsOf({}), { hotspotFailure: 'failed' }],
    [['hotspot_failed'], memory(), factsOf({}), { hotspotFailure: 'unsupported' }],
    [[], memory(), factsOf({ radio: { ...radio, hotspot } }), { hotspotFailure: 'failed' }],
    [['internet_unreachable'], memory({ state: 'CONNECTED', link }), factsOf({ radio: { ...radio, client } }), {}],
    [
      [],
      memory({ state: 'CONNECTED', link: { ...link, connectivity: 'full' } }),
      factsOf({ radio: { ...radio, client } }),
      {},
    ],
  ];
  for (const [index, [expected, before, facts, more]] of rows.entries()) {
    test(`${index + 1}: ${expected.join(', ') || 'none'}, and cleared with its cause`, () => {
      const conditions = createAgentConditions(clock, {
        event: () => undefined,
        failed: () => undefined,
        subscribe: () => ({ [Symbol.dispose]: () => undefined }),
        keepSecret: () => undefined,
      });
      setConditions(conditions, before, facts, { ...usual, ...more });
      assert.deepEqual(
        conditions.list().map(({ id }) => id),
        expected,
      );
      setConditions(conditions, memory(), factsOf({}), usual);
      assert.deepEqual(conditions.list(), []);
    });
  }
});
