import assert from 'node:assert/strict';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import { maxDeviceTypeBytes } from '@station/protocol/device-types';
import type { Store } from '../store/database.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { createDeviceEvents } from '../core/device-events.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { startDeviceTypes } from './device-types.ts';

/** Looks every 20 ms instead of every 2 s. */
const quickClock = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.min(ms, 20), signal),
};

const described = (type: string, key: string, more: object = {}): object => {
  return { type, capabilities: [{ key, kind: 'number' }], ...more };
};

/** A registry, and a folder of its own unless another is given. */
async function registry(options: { on?: Store; folder?: string } = {}) {
  await using starting = new AsyncDisposableStack();
  const store = options.on ?? starting.use(await openTestStore());
  const folder = options.folder ?? join(starting.use(await temporaryFolder()).path, 'device-types');
  const logger = recordedLog();
  const changes = { count: 0 };
  const types = starting.use(
    await startDeviceTypes({
      db: store.db,
      disk: nodeDisk,
      folder,
      events: createDeviceEvents(logger),
      onChanged: () => void (changes.count += 1),
      clock: quickClock,
      logger,
    }),
  );
  const running = starting.move();
  return {
    types,
    logger,
    changes,
    db: store.db,
    folder,
    write: async (name: string, content: object | string): Promise<void> => {
      await mkdir(folder, { recursive: true });
      // As a whole: a look must not find half of it.
      const unfinished = join(folder, `${name}.new`);
      await writeFile(unfinished, typeof content === 'string' ? content : JSON.stringify(content));
      await rename(unfinished, join(folder, name));
    },
    /** The first capability of a type, by which tests tell descriptions apart. */
    first: (type: string): string | undefined => types.find(type)?.capabilities[0]?.key,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

test('without files and announcements the station has the built-in types', async () => {
  await using all = await registry();
  assert.deepEqual(all.types.list(), builtInDeviceTypes);
  assert.equal(all.types.find('valve'), undefined);
});

test('the owner’s file goes before the built-in type, and that before the manifest', async () => {
  await using all = await registry();
  const { types } = all;
  await types.announce(described('valve', 'from-manifest'));
  assert.equal(all.first('valve'), 'from-manifest');
  await types.announce(described('light', 'from-manifest'));
  assert.equal(all.first('light'), 'on');
  await all.write('valve.json', described('valve', 'from-file'));
  await all.write('light.json', described('light', 'from-file'));
  await until('the files count', () => all.first('valve') === 'from-file' && all.first('light') === 'from-file');
  await rm(join(all.folder, 'valve.json'));
  await rm(join(all.folder, 'light.json'));
  await until('the others are back', () => all.first('valve') === 'from-manifest' && all.first('light') === 'on');
});

test('a file is added, changed and removed while the station runs, and each change is told once', async () => {
  await using all = await registry();
  await all.write('valve.json', described('valve', 'position'));
  await until('it is there', () => all.first('valve') === 'position');
  assert.equal(all.changes.count, 1);
  await all.write('valve.json', described('valve', 'opening'));
  await until('it changed', () => all.first('valve') === 'opening');
  await sleep(100);
  assert.equal(all.changes.count, 2);
  await rm(join(all.folder, 'valve.json'));
  await until('it is gone', () => all.first('valve') === undefined);
  assert.deepEqual(all.types.list(), builtInDeviceTypes);
  assert.equal(all.changes.count, 3);
  assert.deepEqual(
    all.logger.events('device_type_added').map(({ type, source }) => [type, source]),
    [['valve', 'file']],
  );
});

test('a faulty file is logged once and ignored; the others count', async () => {
  await using all = await registry();
  await all.write('a.json', '{ "type": ');
  await all.write('b.json', described('lock', 'x', { primary: { capability: 'nothing' } }));
  await all.write('c.json', described('large', 'x', { names: { en: 'x'.repeat(maxDeviceTypeBytes) } }));
  await all.write('notes.txt', 'not a type');
  await all.write('d.json', described('valve', 'position'));
  await until('the good one counts', () => all.first('valve') === 'position');
  await sleep(100);
  assert.deepEqual([all.types.find('lock'), all.types.find('large')], [undefined, undefined]);
  const refused = all.logger.events('device_type_refused');
  assert.deepEqual(refused.map(({ source }) => source).sort(), ['a.json', 'b.json', 'c.json']);
  assert.match(
    String(refused.find(({ source }) => source === 'b.json')?.['reason']),
    /"nothing", which does not exist/,
  );
  assert.match(String(refused.find(({ source }) => source === 'c.json')?.['reason']), /larger than 32768 bytes/);
  await all.write('a.json', described('lock', 'isLocked'));
  await until('it counts once it is mended', () => all.first('lock') === 'isLocked');
});

test('of two files with one type the first by name counts', async () => {
  await using all = await registry();
  await all.write('b.json', described('valve', 'second'));
  await all.write('a.json', described('valve', 'first'));
  await until('the first counts', () => all.first('valve') === 'first');
});

test('an announced type is kept over a restart, and the same announcement changes nothing', async () => {
  await using on = await openTestStore();
  {
    await using all = await registry({ on });
    await all.types.announce(described('valve', 'position'));
    await all.types.announce(described('valve', 'position'));
    assert.equal(all.changes.count, 1);
    await all.types.announce(described('valve', 'opening'));
    assert.deepEqual([all.first('valve'), all.changes.count], ['opening', 2]);
  }
  await using next = await registry({ on });
  assert.equal(next.first('valve'), 'opening');
});

test('a faulty or too large announcement is refused', async () => {
  await using all = await registry();
  await all.types.announce(described('valve', 'x\n'));
  await all.types.announce({ type: '../1' });
  await all.types.announce(undefined);
  await all.types.announce(described('valve', 'x', { names: { en: 'x'.repeat(maxDeviceTypeBytes) } }));
  assert.deepEqual(all.types.list(), builtInDeviceTypes);
  assert.deepEqual([...new Set(all.logger.events('device_type_refused').map(({ source }) => source))], ['manifest']);
  assert.deepEqual(await all.db.selectFrom('device_types').selectAll().execute(), []);
});

test('announcements stop at 200 types; known ones may still change', async () => {
  await using all = await registry();
  const rows = Array.from({ length: 199 }, (_, index) => {
    const definition = JSON.stringify(described(`t${index}`, 'x'));
    return { type: `t${index}`, definition, updated_at: 1 };
  });
  await all.db.insertInto('device_types').values(rows).execute();
  await all.types.announce(described('last', 'x'));
  await all.types.announce(described('beyond', 'x'));
  await all.types.announce(described('t0', 'changed'));
  assert.deepEqual([all.first('last'), all.first('beyond'), all.first('t0')], ['x', undefined, 'changed']);
  assert.match(String(all.logger.events('device_type_refused')[0]?.['reason']), /the station has 200 types already/);
});

test('a type that one backend was told is known to the others that share the database', async () => {
  await using on = await openTestStore();
  await using one = await registry({ on });
  await using other = await registry({ on });
  await one.types.announce(described('valve', 'position'));
  await until('the other knows it', () => other.first('valve') === 'position');
  assert.equal(other.changes.count, 1);
});

test('a stored type that this release cannot read is left out', async () => {
  await using on = await openTestStore();
  const ofNewerRelease = JSON.stringify({ ...described('valve', 'x'), kind: 'of a newer release' });
  const row = { type: 'valve', definition: ofNewerRelease, updated_at: 1 };
  await on.db
    .insertInto('device_types')
    .values([row, { ...row, type: 'broken', definition: '{' }])
    .execute();
  await using all = await registry({ on });
  assert.deepEqual(all.types.list(), builtInDeviceTypes);
});
