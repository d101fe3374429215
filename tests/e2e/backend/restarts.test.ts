import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { willGraceMs } from '@station/backend/mqtt/availability-decide';
import { startDaemon, waitFor } from '../../rig/program.ts';
import { install, kinds, stationId, type Installation } from './installation.ts';
import { extent } from '../../rig/extent.ts';
import { watchStatuses } from './watcher.ts';

const devices = extent(300, 1_000);
const simulator = join(import.meta.dirname, '../../../simulators/devices/main.ts');
const timeoutMs = 120_000;

/** How many devices have sent a message since a moment, milliseconds since the epoch. */
async function devicesSeenSince(station: Installation, moment: number): Promise<number> {
  const [row] = await station.query<{ n: number | string }>(
    `select count(*) as n from devices where status = 'online' and last_seen_at >= ${moment}`,
  );
  return Number(row?.n);
}

const waitForMessagesSince = (what: string, station: Installation, moment: number): Promise<true> =>
  waitFor(what, async () => (await devicesSeenSince(station, moment)) === devices || null, timeoutMs);

type Restart = { of: 'backend' | 'broker'; signal: NodeJS.Signals };

async function restart(station: Installation, { of, signal }: Restart): Promise<void> {
  if (of === 'backend') {
    await station.stopBackend(signal);
    await station.startBackend();
  } else {
    await station.mosquitto?.stop(signal);
    await station.mosquitto?.start();
  }
}

for (const kind of kinds) {
  describe(`${devices} devices on ${kind}`, { timeout: 600_000 }, () => {
    it('are never shown as offline while broker and backend restart, and all reconnect', async (test: TestContext) => {
      await using station = await install(kind, { devices });
      await station.startBackend();
      const args = ['--file', station.devicesFile, '--count', String(devices), '--station', stationId];
      await using _fleet = await startDaemon(
        process.execPath,
        [simulator, ...args, '--url', station.mqttUrl, '--heartbeat', '5'],
        {
          logFile: join(station.folder, 'fleet.log'),
        },
      );
      await waitForMessagesSince('all devices to be online', station, 0);
      const settled = Date.now();
      await using watcher = await watchStatuses(station);
      await waitFor('the browser to be connected', () => watcher.isListening());

      const both = (of: Restart['of']): Restart[] => [
        { of, signal: 'SIGTERM' },
        { of, signal: 'SIGKILL' },
      ];
      for (const each of [...(station.mosquitto ? both('broker') : []), ...both('backend')]) {
        await restart(station, each);
        const back = Date.now();
        await waitForMessagesSince(`messages of all devices after ${each.signal} of the ${each.of}`, station, back);
        const reconnectedMs = Date.now() - back;
        // Again after the time at which a last will caused by the restart would count.
        await waitForMessagesSince('messages of all devices again', station, Date.now() + willGraceMs + 1_000);
        await waitFor('the browser to be connected again', () => watcher.isListening());
        test.diagnostic(`${each.signal} of the ${each.of}: messages of all devices after ${reconnectedMs} ms`);
      }
      assert.deepEqual(watcher.seen.slice(0, 20), []);
      assert.ok(watcher.looks() > 50, `the database was read ${watcher.looks()} times`);
      // Without a watcher, the time of the last status change shows it.
      const changed = await station.query(`select external_id, status_at from devices where status_at > ${settled}`);
      assert.deepEqual(changed, []);
      assert.deepEqual(await station.logged('not a log line'), []);
    });
  });
}
