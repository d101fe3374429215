import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedLog } from '../../testing/recorded-log.ts';
import { runBackend } from '../../testing/running-backend.ts';
import { enforceAccess } from './access.ts';
import { createHttpServer } from './server.ts';
import { registerHealthRoute } from './health.ts';

test('a healthy backend answers 200 with the release’s version, also to HEAD', async () => {
  await using running = await runBackend({ env: { STATION_VERSION: 'v3.1.4' } });
  const response = await running.http.inject('/api/health');
  assert.equal(response.statusCode, 200);
  assert.deepEqual(response.json(), { status: 'ok', version: '3.1.4', checks: { database: true, mqtt: true } });
  assert.equal((await running.http.inject({ method: 'HEAD', url: '/api/health' })).statusCode, 200);
});

test('the check that fails is named with its reason, and the answer is 503', async () => {
  const reasons = { database: 'disk full', mqtt: 'not connected' } as const;
  for (const failing of ['database', 'mqtt'] as const) {
    await using app = createHttpServer({ logger: recordedLog() });
    const hook = async (): Promise<void> => undefined;
    enforceAccess(app, {
      verifyToken: hook,
      admit: () => hook,
      requireStationRole: () => hook,
      verifyDeviceToken: hook,
      verifyAgentToken: hook,
      verifyMetricsToken: hook,
    });
    const checks = {
      database: async () => (failing === 'database' ? reasons.database : null),
      mqtt: async () => (failing === 'mqtt' ? reasons.mqtt : null),
    };
    await registerHealthRoute(app, { checks, version: '1.0.0' });
    const response = await app.inject('/api/health');
    assert.equal(response.statusCode, 503);
    assert.deepEqual(response.json(), {
      status: 'failing',
      version: '1.0.0',
      checks: { database: true, mqtt: true, [failing]: false },
      reasons: { [failing]: reasons[failing] },
    });
  }
});
