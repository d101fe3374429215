import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock, type Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { nodeDisk } from '@station/kit/durable-files';
import type { LegacyMessage } from '@station/protocol/cloud-messages';
import { createDeviceStore } from '../store/device-store.ts';
import { openSecretBox } from '../store/secret-box.ts';
import { createStationStore, ensureStation } from '../store/station-store.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createActivityRecord } from './activity.ts';
import { createCloudConfigStore } from './cloud-config-store.ts';
import { createIdentity } from './identity.ts';
import { createLegacyMessages, createStationReset } from './legacy-messages.ts';

const reset = { type: 'station_reset' } as const;
const rename = { type: 'station_renamed', name: 'By the sea' } as const;

/** A claimed station with one device, which gets the reset when `isReached` holds. */
async function setUp(clock: Clock = systemClock) {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const { db } = starting.use(await openTestStore());
  await ensureStation(db, { stationId: null, generateId: () => 'station', timeZone: 'UTC', clock });
  const box = await openSecretBox({ disk: nodeDisk, path: join(folder.path, 'key') });
  const config = createCloudConfigStore({ db, box, clock });
  await config.claim('a token that is long enough');
  const devices = createDeviceStore({ db, clock });
  await devices.provision({ externalId: 'porch', type: 'light', name: 'Porch', zoneId: null });
  const logger = recordedLog();
  const isReached = Promise.withResolvers<void>();
  const sent: string[] = [];
  const answers: unknown[] = [];
  const done = { resets: 0 };
  const publish = (externalId: string): Promise<void> => {
    sent.push(externalId);
    return isReached.promise;
  };
  const applyLegacy = createLegacyMessages({
    identity: createIdentity({ db, clock }),
    reset: createStationReset({ config, devices, publish, revoke: () => undefined, clock, logger }),
    revoke: () => undefined,
    send: (message) => void answers.push(message),
    onReset: () => void (done.resets += 1),
    run: createExclusiveRunner().run,
    record: createActivityRecord({ clock, onChange: () => undefined }),
    logger,
  });
  const apply = (message: LegacyMessage, isOurs = true) => applyLegacy(message, () => isOurs);
  const name = async () => (await createStationStore(db).read()).name;
  const running = starting.move();
  const dispose = () => running.disposeAsync();
  return { db, config, apply, isReached, sent, answers, done, logger, name, [Symbol.asyncDispose]: dispose };
}

test('a repeated reset request is acknowledged again and done once; other messages have no effect', async () => {
  await using all = await setUp();
  const { apply, sent, answers, done, logger } = all;
  const before = await all.name();
  const first = apply(reset);
  await until('the reset is sent to the device', () => sent.length === 1);
  assert.equal(answers.length, 1);
  await apply(reset);
  assert.equal(answers.length, 2, 'at once');
  const renaming = apply(rename);
  all.isReached.resolve();
  await Promise.all([first, renaming]);
  await apply(reset);
  await apply(rename);
  assert.deepEqual(answers, Array(3).fill({ type: 'station_reset_ack' }));
  assert.deepEqual([sent, done.resets], [['porch'], 1]);
  assert.deepEqual(
    logger.events('cloud_station_reset').map(({ phase }) => phase),
    ['begun', 'done'],
  );
  const { stationToken, resetAt } = await all.config.read();
  assert.deepEqual(
    { stationToken, resetAt, name: await all.name() },
    { stationToken: null, resetAt: null, name: before },
  );
});

test('a failed reset can be requested again, and messages are applied until then', async () => {
  await using all = await setUp();
  const { db, apply, done } = all;
  all.isReached.resolve();
  const move = (from: string, to: string) => db.schema.alterTable(from).renameTo(to).execute();
  await move('cloud_commands', 'away');
  await assert.rejects(apply(reset));
  await move('away', 'cloud_commands');
  await apply(rename);
  assert.deepEqual([await all.name(), done.resets], [rename.name, 0]);
  await apply(reset);
  assert.equal(done.resets, 1);
  assert.equal((await all.config.read()).stationToken, null);
});

test('a queued message has no effect once its link was ended', async () => {
  await using all = await setUp();
  const before = await all.name();
  await Promise.all([all.apply(rename, false), all.apply(reset, false)]);
  assert.deepEqual([await all.name(), all.sent, all.answers, all.done.resets], [before, [], [], 0]);
});

test('the reset waits ten seconds for devices that the broker cannot reach, then continues without them', async () => {
  const asked = Promise.withResolvers<void>();
  const elapsed = Promise.withResolvers<void>();
  const sleep: Clock['sleep'] = (ms, signal) => {
    if (ms !== 10_000) return systemClock.sleep(ms, signal);
    asked.resolve();
    return elapsed.promise;
  };
  await using all = await setUp({ ...systemClock, sleep });
  const done = all.apply(reset);
  await asked.promise;
  assert.equal(all.done.resets, 0);
  elapsed.resolve();
  await done;
  assert.deepEqual(
    all.logger.events('cloud_station_reset').map(({ phase, devices, reached }) => [phase, devices, reached]),
    [
      ['begun', 1, 0],
      ['done', 1, 0],
    ],
  );
  assert.deepEqual([all.done.resets, (await all.config.read()).stationToken], [1, null]);
});
