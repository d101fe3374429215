import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { BackupProgress } from '@station/protocol/backups';
import { lockFolder } from './adapters/backup-files.ts';
import { JobTooSlowError } from '../core/adapters/job-process.ts';
import { migrations } from '../store/migrations/all.ts';
import type { StationMigration } from '../store/migrate.ts';
import { startsOnTrial } from './restore-decide.ts';
import { runBackupJob } from './run-backup-job.ts';
import {
  addUser,
  addZone,
  backedUp,
  lampType,
  logger,
  namesOf,
  oldStation,
  passkeysIn,
  passphrase,
  reasonOf,
  settingsKey,
  station,
} from '../../testing/backup/backup-station.ts';
import { setLimits } from '../store/member-limits.ts';
import { testPasskey } from '../../testing/test-passkey.ts';

const newStation = '01a1b2c3-0000-4000-8000-000000000002';

test('an empty station becomes the one of the backup, with its id, and everybody logs in again', async () => {
  const agent = { wifi: [], broker: null, release: null, missing: [] };
  await using old = await station({ agent });
  await using fresh = await station();
  const file = join(old.dataDir, 'a.age');
  await backedUp(old, file);
  assert.equal((await old.engine.verify(file, passphrase)).kind, 'done');
  await (await fresh.start({ stationId: newStation }))[Symbol.asyncDispose]();
  const outcome = await fresh.engine.restore(file, passphrase, null);
  assert.equal(outcome.kind, 'done', JSON.stringify(outcome));
  await using store = await fresh.start({ stationId: newStation });
  assert.deepEqual(await namesOf(store), ['Kitchen']);
  const row = await store.db.selectFrom('station').selectAll().executeTakeFirstOrThrow();
  assert.equal(row.station_id, oldStation);
  assert.equal(row.owner_id, 'olena');
  assert.deepEqual(await store.db.selectFrom('sessions').selectAll().execute(), []);
  assert.deepEqual(await passkeysIn(store), [testPasskey('olena')]);
  assert.equal(await readFile(join(fresh.dataDir, 'settings-key'), 'utf8'), settingsKey);
  assert.equal(await readFile(join(fresh.dataDir, 'device-types/lamp.json'), 'utf8'), lampType);
  assert.equal(await readFile(join(fresh.dataDir, 'agent.json'), 'utf8'), JSON.stringify(agent));
  assert.ok(existsSync(join(fresh.dataDir, 'restore-previous')), 'kept until the start succeeded');
  assert.notEqual(await fresh.confirm(), null);
  const left = await readdir(fresh.dataDir);
  assert.deepEqual(
    left.filter((name) => /restore|^backup-work.+/.test(name)),
    [],
  );
});

test('a restore that does not start three times gives the station its own data back', async () => {
  await using old = await station();
  await using own = await station();
  const file = join(old.dataDir, 'a.age');
  await backedUp(old, file);
  {
    await using store = await own.start();
    await addZone(store, 'Garage');
  }
  assert.equal((await own.engine.restore(file, passphrase, null)).kind, 'done');
  for (let start = 1; start <= startsOnTrial; start++) {
    await using store = await own.start();
    assert.deepEqual(await namesOf(store), ['Kitchen'], `start ${start}`);
  }
  {
    await using store = await own.start();
    assert.deepEqual(await namesOf(store), ['Garage']);
  }
  assert.equal(await own.confirm(), null);
  assert.equal(logger.events('restore_undone').length, 1);
  await using again = await own.start();
  assert.deepEqual(await namesOf(again), ['Garage']);
  assert.ok(!existsSync(join(own.dataDir, 'restore-undone')));
});

test('a backup that cannot be restored is refused with its reason, and nothing is changed', async () => {
  await using old = await station();
  const file = join(old.dataDir, 'a.age');
  await backedUp(old, file);
  const content = await readFile(file);
  const altered = Buffer.from(content);
  altered[content.length - 3000] = (altered[content.length - 3000] ?? 0) ^ 1;
  await writeFile(join(old.dataDir, 'altered.age'), altered);
  await writeFile(join(old.dataDir, 'cut.age'), content);
  await truncate(join(old.dataDir, 'cut.age'), content.length - 1000);
  await writeFile(join(old.dataDir, 'other.age'), randomBytes(1000));
  await using own = await station();
  await (await own.start())[Symbol.asyncDispose]();
  const before = (await readdir(own.dataDir)).sort();
  const cases = {
    'a.age': ['not the passphrase', 'passphrase_wrong'],
    'altered.age': [passphrase, 'incomplete'],
    'cut.age': [passphrase, 'incomplete'],
    'other.age': [passphrase, 'not_recognised'],
    'none.age': [passphrase, 'not_readable'],
  } as const;
  for (const [name, [word, reason]] of Object.entries(cases)) {
    assert.equal(reasonOf(await own.engine.restore(join(old.dataDir, name), word, null)), reason, name);
  }
  assert.deepEqual((await readdir(own.dataDir)).sort(), [...new Set([...before, 'backup-work'])].sort());
});

test('the newest of what a station records stays when only the history is restored', async () => {
  await using own = await station();
  const file = join(own.dataDir, '../a.age');
  const device = {
    id: 'd',
    external_id: 'e',
    type: 'lamp',
    name: 'Lamp',
    device_token: 't',
    state: '{}',
    created_at: 1,
  };
  const sample = (at: number, value: number) => ({ device_id: 'd', capability: 'c', at, value, later: null });
  {
    await using store = await own.start();
    await store.db
      .insertInto('devices')
      .values({ ...device, status: 'unknown' } as never)
      .execute();
    await store.db
      .insertInto('device_samples')
      .values([sample(1, 10), sample(2, 20)])
      .execute();
    const transition = { device_id: 'd', capability: 'on', at: 1, value: 'true' };
    await store.db.insertInto('device_transitions').values(transition).execute();
    assert.equal((await own.engine.make(file, passphrase)).kind, 'done');
    await store.db.deleteFrom('device_samples').execute();
    await store.db.deleteFrom('device_transitions').execute();
    await store.db
      .insertInto('device_samples')
      .values([sample(2, 21), sample(3, 30)])
      .execute();
    await addZone(store, 'Attic');
  }
  assert.equal((await own.engine.restore(file, passphrase, ['history', 'device_types'])).kind, 'done');
  await using store = await own.start();
  const rows = await store.db.selectFrom('device_samples').select(['at', 'value']).orderBy('at').execute();
  assert.deepEqual(
    rows.map(({ at, value }) => [at, value]),
    [
      [1, 10],
      [2, 21],
      [3, 30],
    ],
  );
  const transitions = await store.db.selectFrom('device_transitions').select('value').execute();
  assert.deepEqual(
    transitions.map(({ value }) => value),
    ['true'],
  );
  assert.deepEqual(await namesOf(store), ['Attic'], 'other parts are untouched');
});

test('people and automations can be restored alone', async () => {
  await using own = await station();
  const file = join(own.dataDir, '../a.age');
  const automation = (id: string, name: string) => ({
    id,
    name,
    mode: 'single',
    flow: '{}',
    revision: 1,
    created_at: 1,
    updated_at: 1,
  });
  {
    await using store = await own.start();
    await addUser(store, 'olena');
    await store.db.updateTable('station').set({ owner_id: 'olena' }).execute();
    await store.db.insertInto('passkeys').values(testPasskey('olena')).execute();
    for (const zone of ['Kitchen', 'Attic']) await addZone(store, zone);
    const limits = { role: 'guest' as const, zoneIds: ['Kitchen', 'Attic'], endsAt: 7 };
    await store.db.transaction().execute((transaction) => setLimits(transaction, 'olena', limits));
    await store.db
      .insertInto('automations')
      .values([automation('a', 'Evening'), automation('b', 'Morning')] as never)
      .execute();
    assert.equal((await own.engine.make(file, passphrase)).kind, 'done');
    await store.db.updateTable('automations').set({ name: 'Changed' }).where('id', '=', 'a').execute();
    await store.db.deleteFrom('automations').where('id', '=', 'b').execute();
    await store.db
      .insertInto('automations')
      .values([automation('c', 'Newer')] as never)
      .execute();
    await store.db.deleteFrom('zones').where('id', '=', 'Attic').execute();
    await store.db.deleteFrom('users').execute();
    await addUser(store, 'taras');
    await store.db.insertInto('passkeys').values(testPasskey('taras')).execute();
  }
  assert.equal((await own.engine.restore(file, passphrase, ['people', 'automations'])).kind, 'done');
  await using store = await own.start();
  const automations = await store.db.selectFrom('automations').select('name').orderBy('name').execute();
  assert.deepEqual(
    automations.map(({ name }) => name),
    ['Evening', 'Morning'],
  );
  const users = await store.db.selectFrom('users').select('id').execute();
  assert.deepEqual(
    users.map(({ id }) => id),
    ['olena'],
  );
  assert.deepEqual(await passkeysIn(store), [testPasskey('olena')]);
  const limits = await store.db.selectFrom('member_limits').select(['user_id', 'ends_at']).execute();
  const zones = await store.db.selectFrom('member_zones').select('zone_id').execute();
  assert.deepEqual(
    [limits.map((row) => ({ ...row })), zones.map((row) => row.zone_id)],
    [[{ user_id: 'olena', ends_at: 7 }], ['Kitchen']],
  );
  assert.equal((await store.db.selectFrom('station').select('owner_id').executeTakeFirst())?.owner_id, 'olena');
});

test('a backup of a newer release is refused before it is unpacked', async () => {
  await using old = await station();
  const file = join(old.dataDir, 'a.age');
  const known = migrations as StationMigration[];
  const newer = { name: '9999-newer', up: async () => undefined };
  known.push(newer);
  try {
    await backedUp(old, file);
  } finally {
    known.pop();
  }
  assert.equal(reasonOf(await old.engine.verify(file, passphrase)), 'too_new');
});

test('one at a time, also beside another process', async () => {
  const first = Promise.withResolvers<void>();
  await using own = await station({
    run: async (job, options) => {
      await first.promise;
      return runBackupJob(job, { ...options, lockWaitMs: 200 });
    },
  });
  await (await own.start())[Symbol.asyncDispose]();
  const file = join(own.dataDir, 'a.age');
  const running = own.engine.make(file, passphrase);
  assert.equal(own.engine.progress()?.work, 'make');
  assert.equal(reasonOf(await own.engine.make(file, passphrase)), 'running');
  await mkdir(join(own.dataDir, 'backup-work'));
  {
    using lock = await lockFolder(join(own.dataDir, 'backup-work'), 0);
    assert.notEqual(lock, null);
    first.resolve();
    assert.equal(reasonOf(await running), 'running');
  }
  assert.equal((await own.engine.make(file, passphrase)).kind, 'done');
  assert.equal(own.engine.progress(), null);
});

test('waits for the job of a command that was killed, which ends a moment later', async () => {
  await using own = await station();
  await (await own.start())[Symbol.asyncDispose]();
  await mkdir(join(own.dataDir, 'backup-work'));
  const lock = await lockFolder(join(own.dataDir, 'backup-work'), 0);
  const running = own.engine.make(join(own.dataDir, 'a.age'), passphrase);
  await setTimeout(300);
  lock?.[Symbol.dispose]();
  assert.equal((await running).kind, 'done');
});

test('a cancelled backup leaves no file', async () => {
  await using own = await station();
  await (await own.start())[Symbol.asyncDispose]();
  const seen: (BackupProgress | null)[] = [];
  using _subscription = own.engine.changes.subscribe((progress) => {
    seen.push(progress);
    if (progress?.phase === 'packing') own.engine.cancel();
  });
  await mkdir(join(own.dataDir, 'to'));
  assert.equal(reasonOf(await own.engine.make(join(own.dataDir, 'to/a.age'), passphrase)), 'cancelled');
  assert.deepEqual(await readdir(join(own.dataDir, 'to')), []);
  assert.equal(seen.at(-1), null);
});

test('what a killed job left is removed at once, and the next one works', async () => {
  let isKilled = true;
  await using own = await station({
    run: async (job, options) => {
      if (!isKilled) return runBackupJob(job, options);
      await mkdir(join(job.dataDir, 'backup-work/scratch/next'), { recursive: true });
      throw new JobTooSlowError();
    },
  });
  await (await own.start())[Symbol.asyncDispose]();
  const file = join(own.dataDir, 'a.age');
  assert.equal(reasonOf(await own.engine.make(file, passphrase)), 'too_slow');
  assert.deepEqual(await readdir(join(own.dataDir, 'backup-work')), ['lock']);
  isKilled = false;
  assert.equal(reasonOf(await own.engine.make(file, passphrase)), 'done');
});

test('a passphrase that is too short is refused', async () => {
  await using own = await station();
  assert.equal(reasonOf(await own.engine.make(join(own.dataDir, 'a.age'), 'short')), 'passphrase_short');
});
