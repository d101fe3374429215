import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { newToken } from '../core/secrets.ts';
import { runProgram } from '../../testing/running-program.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

const rounds = 4;
const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';

/** Numbers of the events on disk. */
function kept(dataDir: string): Set<number> {
  using database = new DatabaseSync(join(dataDir, 'station.sqlite'), { readOnly: true });
  const rows = database.prepare('select data from device_events').all() as { data: string }[];
  return new Set(rows.map(({ data }) => (JSON.parse(data) as { n: number }).n));
}

test('messages acknowledged at QoS 1 are on disk after each kill of the backend', async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const devicesFile = join(folder.path, 'devices.json');
  const token = newToken();
  const device = { externalId: 'lamp-1', type: 'light', name: 'Lamp', token };
  await writeFile(devicesFile, JSON.stringify({ devices: [device] }), { mode: 0o600 });
  const login = { stationId, id: '', externalId: 'lamp-1', token };
  const acknowledged = new Set<number>();
  let sent = 0;
  for (let round = 0; round < rounds; round++) {
    await using program = runProgram({
      PORT: '0',
      DATA_DIR: dataDir,
      STATION_ID: stationId,
      DEVICES_FILE: devicesFile,
    });
    const address = (): unknown => program.lines.find(({ event }) => event === 'mqtt_listening')?.['address'];
    await until('the broker listens', () => address() !== undefined);
    await using lamp = await connectDevice(String(address()), login);
    const before = acknowledged.size;
    const enough = before + 200;
    const talk = async (): Promise<void> => {
      while (lamp.client.connected) {
        for (let i = 0; i < 20; i++) {
          const n = sent++;
          const event = { event: 'device_event', data: { action: 'counted', n } };
          lamp.publish('event', event).then(
            () => acknowledged.add(n),
            () => undefined,
          );
        }
        await sleep(1);
      }
    };
    const talking = talk();
    await until('many were acknowledged', () => acknowledged.size >= enough);
    // While more are under way.
    program.child.kill('SIGKILL');
    await Promise.all([program.exit, talking]);
    assert.ok(sent > acknowledged.size, 'nothing was under way');
    const missing = acknowledged.difference(kept(dataDir));
    assert.deepEqual([...missing], [], `acknowledged and lost in round ${round}`);
  }
});
