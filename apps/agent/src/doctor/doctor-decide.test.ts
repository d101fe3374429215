import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendAnswer, WifiFacts } from './doctor-ports.ts';
import {
  decideBackend,
  decideConfiguration,
  decideEncryption,
  decideEngine,
  decideImages,
  decideLocalName,
  decideMachineUpdates,
  decidePublicCertificate,
  decideServices,
  decideState,
  decideUnit,
  decideUpdateKeys,
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
  for (const isSynced of [true, null]) assert.deepEqual(codes(decideImages([image, old], [], isSynced)), []);
  assert.deepEqual(codes(decideImages([image, old], [], false)), ['image_files_unsynced']);
  assert.deepEqual(codes(decideImages([image, old], [image, old], null)), ['image_missing', 'rollback_image_missing']);
  assert.deepEqual(codes(decideServices(fine)), []);
  const [removed] = decideServices(fine, ['frontend'])?.findings ?? [];
  assert.deepEqual(removed, { code: 'service_not_running', values: { service: 'frontend', state: 'removed' } });
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

test('the keys that sign releases are named, and where they come from', () => {
  const learnedFile = 'update-keys.json';
  assert.equal(decideUpdateKeys({ configured: [], learned: [], learnedFile }), null);
  const one = decideUpdateKeys({ configured: ['A'], learned: [], learnedFile });
  assert.deepEqual(one, { detail: 'UPDATE_PUBLIC_KEY: A', findings: [] });
  const more = decideUpdateKeys({ configured: ['A'], learned: ['B', 'C'], learnedFile });
  assert.equal(more?.detail, 'UPDATE_PUBLIC_KEY: A; update-keys.json: B, C');
});

test('the certificate is there, and valid now; its fingerprint can be compared on a phone', () => {
  const own = { mode: 'own', folder: '/tls' } as const;
  const found = {
    names: ['cabin.local', '10.0.0.7'],
    validFrom: '2026-01-01T00:00:00.000Z',
    validUntil: '2027-01-20T00:00:00.000Z',
    fingerprint: 'AB:CD',
    beforeUntil: null,
  };
  const good = decideEncryption(own, found, '2026-06-01T00:00:00.000Z');
  assert.deepEqual(good, { detail: 'cabin.local, 10.0.0.7; 2027-01-20; SHA-256 AB:CD', findings: [] });
  for (const wrong of ['2025-12-31T23:59:59.000Z', '2027-01-20T00:00:00.000Z']) {
    assert.deepEqual(codes(decideEncryption(own, found, wrong)), ['certificate_expired']);
  }
  const renewed = { ...found, beforeUntil: '2026-12-31T23:59:59.000Z' };
  assert.deepEqual(codes(decideEncryption(own, renewed, '2026-06-01T00:00:00.000Z')), ['authority_renewed']);
  assert.deepEqual(codes(decideEncryption(own, renewed, '2027-01-01T00:00:00.000Z')), [], 'that one has ended');
  assert.deepEqual(codes(decideEncryption(own, null, '2026-06-01T00:00:00.000Z')), ['certificate_missing']);
  assert.deepEqual(codes(decideEncryption({ ...own, mode: 'off' }, null, '2026-06-01T00:00:00.000Z')), []);
});

test('the certificate for the public name: there, missing with the reason of the proxy, not renewed, ended', () => {
  const name = 'home.example.org';
  const served = {
    kind: 'served',
    issuer: 'CA',
    validFrom: '2026-01-01T00:00:00Z',
    validUntil: '2026-04-01T00:00:00Z',
  } as const;
  const line = (fields: object): string => JSON.stringify(fields);
  const log = [
    line({ logger: 'http.acme_client', msg: 'challenge failed', error: 'Failed to connect to 203.0.113.9' }),
    line({ logger: 'tls.obtain', msg: 'will retry', error: 'a longer text' }),
    line({ logger: 'tls', msg: 'stapling OCSP', error: 'no OCSP server' }),
    'no JSON',
  ];
  const good = decidePublicCertificate(name, { served, log }, '2026-02-01T00:00:00.000Z');
  assert.deepEqual(good, { detail: 'home.example.org; 2026-04-01; CA', findings: [] });
  const none = { kind: 'none', reason: 'the proxy does not run' } as const;
  const missing = (lines: string[]) =>
    decidePublicCertificate(name, { served: none, log: lines }, '2026-02-01T00:00:00.000Z');
  assert.deepEqual(missing(log).findings, [
    { code: 'public_certificate_missing', values: { name, reason: 'Failed to connect to 203.0.113.9' } },
  ]);
  assert.equal(missing([]).findings[0]?.values['reason'], 'the proxy does not run');
  const at = (now: string) => codes(decidePublicCertificate(name, { served, log }, now));
  assert.deepEqual(at('2026-03-10T00:00:00.000Z'), []);
  assert.deepEqual(at('2026-03-20T00:00:00.000Z'), ['public_certificate_ending']);
  assert.deepEqual(at('2026-04-02T00:00:00.000Z'), ['public_certificate_ended']);
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
    { answer: { kind: 'answer', status: 200, body: '<html>' }, port: '8080', expected: ['port_taken'] },
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

test('the name in the network, and security updates of the machine', () => {
  assert.deepEqual(codes(decideLocalName('station.local')), []);
  assert.deepEqual(codes(decideLocalName(null)), ['local_name_missing']);
  assert.deepEqual(codes(decideMachineUpdates([])), []);
  const [found] = decideMachineUpdates(['a', 'b', 'c', 'd', 'e', 'f']).findings;
  assert.deepEqual(found, {
    code: 'security_updates_pending',
    values: { count: '6', packages: 'a, b, c, d, e, …' },
  });
});
