import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCloudSettings as read } from './cloud-settings.ts';

const pin = `${'A'.repeat(43)}=`;

test('without CLOUD_HOST there is no cloud', () => {
  assert.deepEqual(read({}), { settings: null, problems: [] });
});

test('a host, a port, an address', () => {
  for (const host of ['cloud.example.org', 'cloud.example.org:8443', '192.0.2.7', '[2001:db8::1]:443', 'localhost:9']) {
    assert.equal(read({ CLOUD_HOST: host }).settings?.url, `wss://${host}/ws/station`);
  }
});

test('plain text only on this machine', () => {
  assert.equal(read({ CLOUD_HOST: 'ws://127.0.0.1:9000' }).settings?.url, 'ws://127.0.0.1:9000/ws/station');
  for (const host of ['ws://cloud.example.org', 'ws://192.0.2.7:80', 'ws://127.0.0.1.example.org']) {
    assert.equal(read({ CLOUD_HOST: host }).problems.length, 1, host);
  }
});

test('all problems are reported at once', () => {
  const { problems } = read({
    CLOUD_HOST: 'https://cloud.example.org/x',
    CLOUD_TLS_PINS: `${pin},nonsense`,
    CLOUD_OUTBOX_MAX_MB: '0',
  });
  assert.equal(problems.length, 3);
});

test('pins with or without their prefix; the limit in megabytes', () => {
  const { settings, problems } = read({
    CLOUD_HOST: 'c.example.org',
    CLOUD_TLS_PINS: `sha256/${pin}, ${pin}`,
    CLOUD_OUTBOX_MAX_MB: '2',
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(settings?.pins, [pin, pin]);
  assert.equal(settings?.outboxMaxBytes, 2 * 1024 * 1024);
});
