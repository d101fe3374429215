import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createAgentApi } from './agent-api.ts';
import { envToConfig } from './config.ts';

type Parts = Parameters<typeof createAgentApi>;

test('a backend that asks without a pause keeps the agent from no other work: those who ask meanwhile share one answer', async () => {
  let checks = 0;
  let looks = 0;
  const answer = Promise.withResolvers<void>();
  const features = {
    stack: {
      check: async () => {
        checks += 1;
        await answer.promise;
        return { kind: 'unavailable', reason: 'no network' };
      },
      versions: () => ({ currentVersion: '1.0.0', latestVersion: null }),
      updateAvailable: () => false,
      installed: () => null,
    },
    autoUpdate: { choice: () => null },
    firmware: { check: async () => ({ ok: true }) },
    wifi: { saved: null, network: null },
    engine: { operator: null },
    hostClock: {},
    mdnsName: {},
    certificates: {
      readAuthority: async () => {
        looks += 1;
        await answer.promise;
        return null;
      },
    },
  } as unknown as Parts[1];
  const base = { clock: systemClock } as Parts[2];
  const reading = envToConfig(
    { STATION_ID: '0b7c2d2e-8a7f-4e7b-9b1e-0d4f1f2a9c3d', UPDATE_SERVER_URL: 'https://updates.example/manifest.json' },
    { homeDirectory: '/home/anna', hostname: 'hallway', pid: 42 },
  );
  assert.equal(reading.kind, 'ok');
  const api = createAgentApi(reading.config, features, base);
  const asked = Array.from({ length: 250 }, () => Promise.all([api.check(), api.readBackup()]));
  await new Promise(setImmediate);
  assert.deepEqual({ checks, looks }, { checks: 1, looks: 1 });
  answer.resolve();
  const answers = await Promise.all(asked);
  assert.ok(answers.every(([check]) => !check.release.ok));
  await api.check();
  assert.equal(checks, 2);
});
