import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendAnswer, WifiFacts } from '../core/doctor-facts.ts';
import {
  decideBackend,
  decideConfiguration,
  decideEngine,
  decideImages,
  decideServices,
  decideState,
  decideUnit,
  decideWifi,
  type Outcome,
} from './doctor-decide.ts';

const codes = (outcome: Outcome | null): string[] | null => outcome && outcome.findings.map(({ code }) => code);

test('an environment file that others can read, and doubtful variables', () => {
  const file = '/opt/station-agent/.env';
  assert.deepEqual(codes(decideConfiguration({ file, mode: 0o600, warnings: [] })), []);
  assert.deepEqual(codes(decideConfiguration({ file, mode: null, warnings: [] })), []);
  assert.deepEqual(codes(decideConfiguration({ file, mode: 0o640, warnings: ['X is unknown'] })), [
    'config_doubtful',
    'environment_open_to_others',
  ]);
});

test('the state: intact, stale, missing, damaged, unreadable', () => {
  assert.deepEqual(codes(decideState('/d', { kind: 'ok', stale: [], images: [] })), []);
  assert.deepEqual(codes(decideState('/d', { kind: 'ok', stale: ['rollback.json'], images: [] })), [
    'state_file_stale',
  ]);
  assert.deepEqual(codes(decideState('/d', { kind: 'missing' })), ['state_missing']);
  assert.deepEqual(codes(decideState('/d', { kind: 'damaged', reason: 'sum' })), ['state_damaged']);
  assert.deepEqual(codes(decideState('/d', { kind: 'unreadable', reason: 'EIO' })), ['state_unreadable']);
});

test('the engine, its project, images and services', () => {
  const fine = { kind: 'ok', services: [{ service: 'backend', state: 'running', health: 'healthy' }] } as const;
  assert.deepEqual(codes(decideEngine('/p', { version: '27' }, fine)), []);
  assert.deepEqual(codes(decideEngine('/p', { failure: 'ENOENT' }, fine)), ['engine_unreachable']);
  assert.deepEqual(codes(decideEngine('/p', { version: '27' }, { kind: 'failed', reason: 'yaml' })), ['compose_fails']);
  const image = { service: 'backend', version: '1.0.0', imageId: 'sha256:1', isInstalled: true };
  const old = { ...image, version: '0.9.0', isInstalled: false };
  assert.deepEqual(codes(decideImages([image, old], [])), []);
  assert.deepEqual(codes(decideImages([image, old], [image, old])), ['image_missing', 'rollback_image_missing']);
  assert.deepEqual(codes(decideServices(fine)), []);
  assert.equal(decideServices({ kind: 'failed', reason: 'yaml' }), null);
  const table = [
    { state: 'exited', health: '' },
    { state: 'running', health: 'unhealthy' },
  ];
  for (const facts of table) {
    assert.deepEqual(codes(decideServices({ kind: 'ok', services: [{ service: 'mqtt', ...facts }] })), [
      'service_not_running',
    ]);
  }
});

test('the unit of the agent', () => {
  assert.deepEqual(codes(decideUnit({ active: 'active', enabled: 'enabled' })), []);
  assert.deepEqual(codes(decideUnit({ active: 'failed', enabled: 'disabled' })), ['unit_inactive', 'unit_not_enabled']);
});

test('Wi-Fi is checked when the station has or wants it', () => {
  const facts: WifiFacts = {
    devices: ['wlan0'],
    isBlocked: false,
    isNetworkManagerActive: true,
    isDnsPortTaken: false,
  };
  const none = { ...facts, devices: [] };
  const auto = { mode: 'auto', device: null } as const;
  assert.deepEqual(codes(decideWifi(auto, facts)), []);
  assert.equal(decideWifi(auto, none), null);
  assert.equal(decideWifi({ mode: 'off', device: null }, facts), null);
  assert.deepEqual(codes(decideWifi({ mode: 'on', device: null }, none)), ['wifi_device_missing']);
  assert.deepEqual(codes(decideWifi({ mode: 'auto', device: 'wlan1' }, facts)), ['wifi_device_missing']);
  const bad = { devices: ['wlan0'], isBlocked: true, isNetworkManagerActive: false, isDnsPortTaken: true };
  assert.deepEqual(codes(decideWifi(auto, bad)), ['wifi_blocked', 'network_manager_missing', 'dns_port_taken']);
});

test('the health check tells a station from another program', () => {
  const table: { answer: BackendAnswer; port?: string; expected: string[] }[] = [
    { answer: { kind: 'answer', status: 200, body: '{"status":"ok","checks":{}}' }, expected: [] },
    { answer: { kind: 'answer', status: 503, body: '{"checks":{}}' }, expected: ['backend_silent'] },
    { answer: { kind: 'answer', status: 404, body: '<html>' }, expected: ['port_80_taken'] },
    { answer: { kind: 'answer', status: 200, body: '<html>' }, expected: ['port_80_taken'] },
    { answer: { kind: 'answer', status: 200, body: '<html>' }, port: '8080', expected: ['backend_silent'] },
    { answer: { kind: 'refused' }, expected: ['backend_silent'] },
    { answer: { kind: 'failed', reason: 'no answer in time' }, expected: ['backend_silent'] },
  ];
  for (const { answer, port = '80', expected } of table) {
    assert.deepEqual(
      codes(decideBackend('http://localhost/api/health', port, answer)),
      expected,
      JSON.stringify(answer),
    );
  }
});
