import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { nodeDisk } from '@station/kit/durable-files';
import type { LegacyMessage } from '@station/protocol/cloud-messages';
import { createDeviceStore } from '../store/device-store.ts';
import { openSecretBox } from '../store/secret-box.ts';
import { createStationStore, ensureStation } from '../store/station-store.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { openTestStore } from '../testing/test-store.ts';
import { until } from '../testing/until.ts';
import { createActivityRecord } from './activity.ts';
import { createCloudConfigStore } from './cloud-config-store.ts';
import { createIdentity } from './identity.ts';
import { createObedience, createStationReset } from './legacy-messages.ts';

const clock = systemClock;
const reset = { type: 'station_reset' } as const;
const rename = { type: 'station_renamed', name: 'By the sea' } as const;

/** A claimed station with one device, which is told when `isReached` holds. */
async function setUp() {
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
  const told: string[] = [];
  const said: unknown[] = [];
  const done = { resets: 0 };
  const publish = (externalId: string): Promise<void> => {
    told.push(externalId);
    return isReached.promise;
  };
  const obeys = createObedience({
    identity: createIdentity({ db, clock }),
    reset: createStationReset({ config, devices, publish, revoke: () => undefined, clock, logger }),
    revoke: () => undefined,
    say: (message) => void said.push(message),
    onReset: () => void (done.resets += 1),
    run: createExclusiveRunner().run,
    record: createActivityRecord({ clock, onChange: () => undefined }),
    logger,
  });
  const obey = (message: LegacyMessage, isOurs = true) => obeys(message, () => isOurs);
  const name = async () => (await createStationStore(db).read()).name;
  const running = starting.move();
  const dispose = () => running.disposeAsync();
  return { db, config, obey, isReached, told, said, done, logger, name, [Symbol.asyncDispose]: dispose };
}

test('a reset that is asked for again, while it goes on or after it, is acknowledged again and done once; nothing else has an effect', async () => {
  await using all = await setUp();
  const { obey, told, said, done, logger } = all;
  const before = await all.name();
  const first = obey(reset);
  await until('the device is being told', () => told.length === 1);
  assert.equal(said.length, 1);
  await obey(reset);
  assert.equal(said.length, 2, 'at once');
  const renaming = obey(rename);
  all.isReached.resolve();
  await Promise.all([first, renaming]);
  await obey(reset);
  await obey(rename);
  assert.deepEqual(said, Array(3).fill({ type: 'station_reset_ack' }));
  assert.deepEqual([told, done.resets], [['porch'], 1]);
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

test('a reset that failed can be asked for again, and until then the station obeys', async () => {
  await using all = await setUp();
  const { db, obey, done } = all;
  all.isReached.resolve();
  const move = (from: string, to: string) => db.schema.alterTable(from).renameTo(to).execute();
  await move('cloud_commands', 'away');
  await assert.rejects(obey(reset));
  await move('away', 'cloud_commands');
  await obey(rename);
  assert.deepEqual([await all.name(), done.resets], [rename.name, 0]);
  await obey(reset);
  assert.equal(done.resets, 1);
  assert.equal((await all.config.read()).stationToken, null);
});

test('what a cloud said before its link was ended has no effect when its turn comes', async () => {
  await using all = await setUp();
  const before = await all.name();
  await Promise.all([all.obey(rename, false), all.obey(reset, false)]);
  assert.deepEqual([await all.name(), all.told, all.said, all.done.resets], [before, [], [], 0]);
});
