import assert from 'node:assert/strict';
import { systemClock } from '@station/kit/clock';
import { alwaysLeader } from '../core/leadership.ts';
import { createEventIds } from '../core/event-ids.ts';
import type { DeviceReport } from '../core/device-events.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { countedBytes } from '../history/history-rows.ts';
import { writeReports } from '../history/report-store.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { testOnSqlite } from '../../testing/test-postgres.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { roomOf } from './storage-decide.ts';
import { startStorageKeeper } from './storage-keeper.ts';

const mebibyte = 1024 * 1024;
const budgetBytes = 16 * mebibyte;

/** Files of PostgreSQL shrink only when it vacuums. */
testOnSqlite(
  'a flood stays within the budget, the file shrinks again, and a full disk costs half of the history',
  async () => {
    await using store = await openTestStore();
    const clock = { ...systemClock, sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(1, signal) };
    const devices = createDeviceStore({ db: store.db, clock });
    const add = async (externalId: string) =>
      (await devices.provision({ externalId, type: 'climate', name: externalId, zoneId: null })).id;
    const flood = await add('flood');
    const small = await add('small');
    const newId = createEventIds(clock.now);
    const event = (deviceId: string, text: string): DeviceReport => ({
      kind: 'event',
      deviceId,
      at: clock.now(),
      eventKind: 'device_event',
      data: { action: 'said', text },
    });
    await writeReports(store, [event(small, 'hello')], newId);
    const logger = recordedLog();
    const space = store.space!;
    const parts = { store, space, budgetBytes, waiting: () => 0, leadership: alwaysLeader, clock, logger };
    await using keeper = startStorageKeeper(parts);
    const sizes = () => space.measure();
    let most = 0;
    for (let n = 0; n < 600; n++) {
      await writeReports(
        store,
        Array.from({ length: 10 }, () => event(flood, 'x'.repeat(4_000))),
        newId,
      );
      const { fileBytes, logBytes, diskBytes } = await sizes();
      most = Math.max(most, Math.max(fileBytes, diskBytes) + logBytes);
      // As messages of a device that is slowed down.
      if (n % 4 === 0) await clock.sleep(1);
    }
    assert.ok(most <= budgetBytes / 2, `${most}`);
    await until('it is within its room', async () => {
      const { fileBytes, freeBytes } = await sizes();
      return fileBytes - freeBytes <= roomOf({ budgetBytes, isCopied: true }).rowBytes;
    });
    const kept = await store.db
      .selectFrom('device_events')
      .select('device_id')
      .where('device_id', '=', small)
      .execute();
    assert.equal(kept.length, 1);
    assert.ok(keeper.dropped().sizeEvents > 4_000);
    const before = await sizes();
    const { signal } = new AbortController();
    const started = await countedBytes(store);
    await keeper.relieve(mebibyte, signal);
    const after = await sizes();
    // The file system frees its blocks a moment later.
    assert.ok(after.fileBytes <= before.fileBytes - 0.75 * mebibyte, JSON.stringify({ before, after }));
    // Other programs fill the disk, whatever the station deletes, and the station starts again.
    for (let look = 0; look < 3; look++) await keeper.relieve(64 * mebibyte, signal);
    await keeper[Symbol.asyncDispose]();
    await using restarted = startStorageKeeper(parts);
    for (let look = 0; look < 3; look++) await restarted.relieve(64 * mebibyte, signal);
    const floor = Math.max(started, roomOf({ budgetBytes, isCopied: true }).rowBytes) / 2;
    const left = await countedBytes(store);
    assert.ok(left > 0.85 * floor && left < 1.15 * floor, JSON.stringify({ started, left }));
    await restarted.settle();
    const isRelieved = store.db.selectFrom('settings').select('key').where('key', '=', 'history.shortage');
    assert.deepEqual(await isRelieved.execute(), []);
    await store.db.deleteFrom('device_events').where('device_id', '=', flood).execute();
    // A mebibyte of free pages stays, and as much of the file may wait for a later checkpoint.
    await until('the file is small again', async () => {
      const { diskBytes, fileBytes, freeBytes } = await sizes();
      return diskBytes <= fileBytes - freeBytes + 2 * mebibyte;
    });
  },
);
