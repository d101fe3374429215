import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestStore } from '../../testing/test-store.ts';
import { firmwareModes } from './0024-firmware-modes.ts';

test("devices of Station's first release keep the mode of the type that they had, unless they have one", async () => {
  await using store = await openTestStore();
  const { db } = store;
  const row = (type: string, mode: 'approval' | 'automatic') => ({ type, mode, updated_at: 1 });
  const before = [
    row('light', 'approval'),
    row('lamp', 'approval'),
    row('pir', 'approval'),
    row('pir-v1', 'automatic'),
  ];
  await db.insertInto('firmware_modes').values(before).execute();
  await firmwareModes.up(db as never);
  const after = await db.selectFrom('firmware_modes').selectAll().orderBy('type').execute();
  assert.deepEqual(
    after.map(({ type, mode }) => [type, mode]),
    [
      ['lamp', 'approval'],
      ['light', 'approval'],
      ['light-v1', 'approval'],
      ['pir', 'approval'],
      ['pir-v1', 'automatic'],
    ],
  );
});
