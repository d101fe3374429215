import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StorageCall, StoredBackup } from '../core/backup-destination.ts';
import { backupView, type Viewed } from './backup-view.ts';
import type { KeptSettings, NightState } from './backup-settings.ts';

const name = 'station-x-20260101T000000Z.age';
const kept: KeptSettings = {
  nightly: false,
  at: '03:00',
  keep: { daily: 7, weekly: 4 },
  folderMark: null,
  webdav: { url: 'http://nas/', username: 'a', password: 'b' },
  passphrase: null,
};

/** A keeper whose server is slow: each listing of it waits until the test lets it go. */
function slowKeeper() {
  const listings: PromiseWithResolvers<StoredBackup[]>[] = [];
  let state: NightState = { doneAt: 0, triedAt: 0, trouble: null };
  const list = async (_target: unknown, call: StorageCall): Promise<unknown> => {
    if (call !== 'list') return null;
    const listing = Promise.withResolvers<StoredBackup[]>();
    listings.push(listing);
    return listing.promise;
  };
  const keeper = {
    dataDir: '/nowhere',
    backupDir: null,
    stationId: 'id',
    storage: { ask: list },
    stopping: new AbortController(),
    engine: { progress: () => null },
    settings: { read: async () => kept, readState: async () => state },
    verified: { of: async () => new Map() },
    station: { read: async () => ({ time_zone: 'UTC' }) },
    isSupported: true,
    clock: { now: () => 0 },
    sending: null,
    work: Promise.resolve(),
    listing: null,
    refused: null,
    moment: 1,
  } as unknown as Viewed;
  /** As the keeper does it when a backup has ended. */
  const end = (trouble: NightState['trouble']): void => {
    state = { ...state, trouble };
    keeper.work = null;
    keeper.listing = null;
    keeper.moment += 1;
  };
  const listed = async (count: number): Promise<PromiseWithResolvers<StoredBackup[]>> => {
    while (listings.length < count) await new Promise(setImmediate);
    return listings[count - 1]!;
  };
  return { keeper, end, listed };
}

test('a backup that ends during a slow listing is shown with its trouble and its files, or not at all', async () => {
  const { keeper, end, listed } = slowKeeper();
  const viewing = backupView(keeper);
  const before = await listed(1);
  const trouble = { at: '2026-01-01T00:00:00.000Z', place: 'webdav', reason: 'locked' } as const;
  end(trouble);
  before.resolve([]);
  const after = await listed(2);
  after.resolve([{ name, bytes: 5 }]);
  const view = await viewing;
  assert.deepEqual([view.isWorking, view.trouble, view.backups.map((backup) => backup.name)], [false, trouble, [name]]);
});

test('while a backup runs, the listing of before is shown with the trouble of before', async () => {
  const { keeper, listed } = slowKeeper();
  const viewing = backupView(keeper);
  (await listed(1)).resolve([]);
  const view = await viewing;
  assert.deepEqual([view.isWorking, view.trouble, view.backups], [true, null, []]);
});

test('a server that can be listed, but took no backup when it was tried, has that fault', async () => {
  const { keeper, listed } = slowKeeper();
  keeper.refused = 'forbidden';
  const viewing = backupView(keeper);
  (await listed(1)).resolve([]);
  assert.deepEqual((await viewing).faults, [{ place: 'webdav', reason: 'forbidden' }]);
});
