import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Alteration, alterBackup } from '../../testing/backup/altered-backup.ts';
import { backedUp, contentsBackedUp, passphrase, reasonOf, station } from '../../testing/backup/backup-station.ts';

const image = (values: string): string =>
  `insert into firmware_images (type, version, file, checksum, size, ready_at, path) values (${values})`;
const gateway = (base: string, login: string): string =>
  `insert into gateways (id, name, dialect, base_topic, login, token_hash, created_at)
    values ('g', 'Zigbee', 'zigbee2mqtt', '${base}', '${login}', 'h', 1)`;
const sha = `sha256:${'0'.repeat(64)}`;
const withId = (stationId: string): Alteration => ({
  sql: `update station set station_id = '${stationId}'`,
  edit: ({ manifest }) => void (manifest.stationId = stationId),
});
const inManifest = (change: object): Alteration => ({ edit: ({ manifest }) => void Object.assign(manifest, change) });
const withFile = (name: string, content: Buffer): Alteration => ({
  edit: ({ files }) => void files.set(name, content),
});

const refused: readonly (Alteration & { name: string; reason: string })[] = [
  { name: 'a station id that is a path', reason: 'damaged', ...withId('../../../evil') },
  { name: 'a station id that is a wildcard', reason: 'damaged', ...withId('+') },
  {
    name: 'the database of another station than the manifest says',
    reason: 'damaged',
    sql: "update station set station_id = 'other'",
  },
  { name: 'no station', reason: 'damaged', sql: 'delete from station' },
  { name: 'a time that is none', reason: 'damaged', ...inManifest({ createdAt: 'yesterday' }) },
  { name: 'a version that is a path', reason: 'damaged', ...inManifest({ version: '../1.0.0' }) },
  { name: 'a name without an end', reason: 'damaged', ...inManifest({ stationName: 'x'.repeat(100_000) }) },
  {
    name: 'a file with the name of a path',
    reason: 'damaged',
    ...withFile('device-types/../../evil.json', Buffer.from('{}')),
  },
  { name: 'a file that no station has', reason: 'damaged', ...withFile('station.sqlite-wal', Buffer.from('x')) },
  {
    name: 'the same file twice',
    reason: 'damaged',
    edit: ({ manifest }) => void manifest.files.push({ ...manifest.files[0]! }),
  },
  { name: 'a key of the wrong length', reason: 'not_accepted', ...withFile('settings-key', Buffer.from('c2hvcnQ=')) },
  { name: 'an empty key', reason: 'not_accepted', ...withFile('settings-key', Buffer.alloc(0)) },
  { name: 'a key of megabytes', reason: 'not_accepted', ...withFile('settings-key', Buffer.alloc(5_000_000, 0x41)) },
  {
    name: 'a device type of many megabytes',
    reason: 'not_accepted',
    zeros: { name: 'device-types/zero.json', bytes: 16 * 1024 * 1024 },
  },
  {
    name: "an agent's part of many megabytes",
    reason: 'not_accepted',
    zeros: { name: 'agent.json', bytes: 16 * 1024 * 1024 },
  },
  {
    name: 'a database larger than the disk',
    reason: 'no_space',
    claim: ({ files }) => files.forEach((file) => (file.bytes = file.name === 'station.sqlite' ? 2 ** 43 : file.bytes)),
  },
  {
    name: 'a window that takes all memory',
    reason: 'damaged',
    window: 27,
    edit: ({ files }) => void files.set('device-types/a.json', Buffer.alloc(3_000_000, 0x20)),
  },
  { name: 'a passphrase that takes all memory to check', reason: 'not_recognised', workFactor: 17 },
  {
    name: 'a device whose id has a wildcard',
    reason: 'not_accepted',
    sql: `insert into unknown_devices (external_id, first_seen_at, last_seen_at, blocked, contested) values ('+/command', 1, 1, 0, 0)`,
  },
  {
    name: 'an index that has another id than its table',
    reason: 'damaged',
    sql: `insert into unknown_devices (external_id, first_seen_at, last_seen_at) values ('+/command', 1, 1);
      create table other (external_id text primary key);
      insert into other (rowid, external_id) select rowid, 'good' from unknown_devices;
      pragma writable_schema = on;
      update sqlite_schema set rootpage = (
        select sum(rootpage) from sqlite_schema
        where name in ('sqlite_autoindex_other_1', 'sqlite_autoindex_unknown_devices_1')
      ) - rootpage where name in ('sqlite_autoindex_other_1', 'sqlite_autoindex_unknown_devices_1');
      pragma writable_schema = reset;
      drop table other`,
  },
  {
    name: 'a user whose id is a path',
    reason: 'not_accepted',
    sql: "pragma foreign_keys = off; update users set id = '../olena'",
  },
  {
    name: 'a gateway whose tree is the one of the station',
    reason: 'not_accepted',
    sql: gateway('station', 'gateway-0123456789'),
  },
  {
    name: 'a gateway whose devices announce themselves in the tree of the station',
    reason: 'not_accepted',
    sql: `${gateway('zigbee2mqtt', 'gateway-0123456789')}; update gateways set discovery_prefix = 'station/x'`,
  },
  {
    name: 'a gateway that logs in as a device',
    reason: 'not_accepted',
    sql: gateway('zigbee2mqtt', 'lamp'),
  },
  {
    name: 'a gateway of an unknown system',
    reason: 'not_accepted',
    sql: `${gateway('zigbee2mqtt', 'gateway-0123456789')}; update gateways set dialect = 'constructor'`,
  },
  {
    name: 'a device of a gateway whose id is not of any system',
    reason: 'not_accepted',
    sql: `${gateway('zigbee2mqtt', 'gateway-0123456789')};
      insert into gateway_devices (external_id, gateway_id, name, plan) values ('lamp', 'g', 'lamp', '{}')`,
  },
  {
    name: 'firmware at a foreign address',
    reason: 'not_accepted',
    sql: image(`'lamp', '1.0.0', 'lamp@1.0.0.bin', '${sha}', 1, 1, '@evil.example/lamp.bin'`),
  },
  {
    name: 'firmware in another folder',
    reason: 'not_accepted',
    sql: image(`'lamp', '1.0.0', '../../lamp@1.0.0.bin', '${sha}', 1, 1, null`),
  },
];

test('what a backup says of itself passes the checks of the station, and nothing changes', async (t) => {
  await using old = await station();
  const good = await contentsBackedUp(old);
  await using own = await station();
  await (await own.start())[Symbol.asyncDispose]();
  const before = (await readdir(own.dataDir)).sort();
  for (const { name, reason, ...change } of refused)
    await t.test(name, async () => {
      const file = join(old.dataDir, 'altered.age');
      await alterBackup(good, file, passphrase, change);
      assert.equal(reasonOf(await own.engine.restore(file, passphrase, null)), reason);
      const after = (await readdir(own.dataDir)).filter((one) => one !== 'backup-work');
      assert.deepEqual(after.sort(), before);
    });
});

test('a backup with a gateway and its devices is accepted', async () => {
  await using old = await station();
  const file = join(old.dataDir, 'altered.age');
  await alterBackup(await contentsBackedUp(old), file, passphrase, {
    sql: `${gateway('home/zigbee2mqtt', 'gateway-0123456789')};
      insert into gateway_devices (external_id, gateway_id, name, plan)
        values ('zigbee2mqtt:0x00158d0001dc126a', 'g', 'hall/lamp', '{}')`,
  });
  await using own = await station();
  const outcome = await own.engine.restore(file, passphrase, null);
  assert.equal(outcome.kind, 'done', JSON.stringify(outcome));
});

test('what the station would not read is left out of a restore, and named', async () => {
  await using old = await station();
  const file = join(old.dataDir, 'altered.age');
  await alterBackup(await contentsBackedUp(old), file, passphrase, {
    edit: ({ files }) => {
      files.set('jwt-secret', Buffer.from('A'.repeat(43)));
      files.set('agent.json', Buffer.from('{"wifi":"all"}'));
      files.set('device-types/bad.json', Buffer.from('{'));
      files.set('device-types/large.json', Buffer.alloc(1_000_000, 0x20));
    },
  });
  await using own = await station();
  const outcome = await own.engine.restore(file, passphrase, null);
  assert.equal(outcome.kind, 'done', JSON.stringify(outcome));
  assert.deepEqual(outcome.manifest.missing.sort(), ['agent', 'device-types/bad.json']);
  assert.deepEqual((await readdir(join(own.dataDir, 'restore-next'))).sort(), [
    'device-types',
    'settings-key',
    'station.sqlite',
  ]);
  assert.deepEqual(await readdir(join(own.dataDir, 'restore-next/device-types')), ['lamp.json']);
});

test('a new backup has no key for access tokens, and no file that the station does not read', async () => {
  await using own = await station();
  const file = join(own.dataDir, 'a.age');
  await backedUp(own, file);
  const outcome = await own.engine.verify(file, passphrase);
  assert.equal(outcome.kind, 'done');
  assert.deepEqual(outcome.manifest.files.map(({ name }) => name).sort(), [
    'device-types/lamp.json',
    'settings-key',
    'station.sqlite',
  ]);
  assert.ok((await stat(file)).size > 0);
});
