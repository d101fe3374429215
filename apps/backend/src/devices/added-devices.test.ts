import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeDisk, writeDurable } from '@station/kit/durable-files';
import { createDeviceEvents } from '../core/device-events.ts';
import type { DeviceRow } from '../store/device-store.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { openAddedDevices } from './added-devices.ts';

test('the latest addition of each device is known after a restart with another database', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'added-devices.json');
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const open = (rows: Partial<DeviceRow>[]) =>
    openAddedDevices({ disk: nodeDisk, path, devices: { list: async () => rows as DeviceRow[] }, events, logger });
  {
    await using added = await open([{ external_id: 'lamp-1', id: 'first' }]);
    assert.equal(added.wasAddedAgain({ externalId: 'lamp-1', deviceId: 'first' }), false);
    assert.equal(added.wasAddedAgain({ externalId: 'lamp-2', deviceId: 'any' }), false);
    events.emit({ kind: 'added', deviceId: 'second', externalId: 'lamp-1' });
  }
  await using added = await open([]);
  assert.equal(added.wasAddedAgain({ externalId: 'lamp-1', deviceId: 'first' }), true);
  assert.equal(added.wasAddedAgain({ externalId: 'lamp-1', deviceId: 'second' }), false);
  assert.deepEqual(logger.events('unexpected_error'), []);
});

test('a damaged file does not stop the start', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'added-devices.json');
  await writeDurable(nodeDisk, path, '{"lamp-1":');
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  await using added = await openAddedDevices({
    disk: nodeDisk,
    path,
    devices: { list: async () => [] },
    events,
    logger,
  });
  assert.equal(added.wasAddedAgain({ externalId: 'lamp-1', deviceId: 'first' }), false);
});
