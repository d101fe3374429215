import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { nodeDisk } from '@station/kit/durable-files';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createBackendConditions } from '../core/conditions.ts';
import { openSecretBox } from '../store/secret-box.ts';
import { createChannelHealth } from './channel-health.ts';
import { createNotificationStore } from './notification-store.ts';

test('a channel is broken when nothing arrives, not when one receiver cannot be reached', async () => {
  await using opened = await openTestStore();
  const clock = manualClock();
  const conditions = createBackendConditions({ clock, logger: recordedLog(), onChanged: () => undefined });
  const box = await openSecretBox({ disk: nodeDisk, path: '', key: randomBytes(32) });
  const store = createNotificationStore({ db: opened.db, box, clock });
  const health = createChannelHealth({ store, conditions });
  const isFailing = (): boolean => conditions.list().some(({ id }) => id === 'notifications_failing');
  const failThreeTimes = async (createdAt: number): Promise<void> => {
    for (let failure = 0; failure < 3; failure += 1) await health.failed('push', 'no_answer', createdAt);
  };
  const first = clock.now();
  clock.advance(1_000);
  await health.sent('push');
  await failThreeTimes(first);
  assert.equal(isFailing(), false, 'another browser had the message');
  clock.advance(1_000);
  await failThreeTimes(clock.now());
  assert.equal(isFailing(), true);
  await health.sent('push');
  assert.equal(isFailing(), false);
});
