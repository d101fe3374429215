import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { DeviceReport } from '../core/device-events.ts';
import { createEventIds } from '../core/event-ids.ts';
import { historyTables } from './device-storage.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { writeReports } from './report-store.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createHistoryStore } from './history-store.ts';
import { hourMs } from './history-decide.ts';

const dayMs = 24 * hourMs;

/** A device that measures, switches, and is offline at times, for some hours; one of them has very many changes. */
async function withWeek() {
  const store = await openTestStore();
  const clock = manualClock(Date.parse('2026-03-01T10:17:23.456Z'));
  const devices = createDeviceStore({ db: store.db, clock });
  const { id: deviceId } = await devices.provision({ externalId: 'x', type: 'climate', name: 'Hall', zoneId: null });
  const history = createHistoryStore({ store, clock });
  const newId = createEventIds(clock.now);
  const live = async (ms: number): Promise<void> => {
    const reports: DeviceReport[] = [];
    const end = clock.now() + ms;
    for (let n = 0; clock.now() < end; n++) {
      const at = clock.now();
      const isBusy = Math.floor(at / hourMs) % 3 === 0;
      reports.push({
        kind: 'state',
        deviceId,
        at,
        state: { t: 20 + ((n * 7919) % 113) / 10, on: n % 5 < 2, mode: `m${n % 7}` },
      });
      if (n % 40 === 0) reports.push({ kind: 'status', deviceId, at, status: n % 80 === 0 ? 'online' : 'offline' });
      clock.advance(isBusy ? 2_111 + ((n * 31) % 900) : 40_000 + ((n * 7_717) % 90_000));
    }
    await writeReports(store, reports, newId);
  };
  const read = async (capability: string, fromMs: number, toMs: number, resolutionMs: number) => {
    const { points, ...rest } = await history.read({ deviceId, capability, fromMs, toMs, resolutionMs });
    const plain: { at: number; changes?: number }[] = points.map((point) => ({ ...point }));
    return { ...rest, points: plain };
  };
  return { store, clock, history, live, read, deviceId, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

type Read = Awaited<ReturnType<Awaited<ReturnType<typeof withWeek>>['read']>>;

/** The points of intervals that were over at the first read and that the second covers. */
function over(read: Read, first: Read, second: Read): unknown[] {
  const { resolutionMs } = first.frame;
  const untilMs = Math.floor(first.endMs / resolutionMs) * resolutionMs;
  const fromMs = Math.max(first.frame.fromMs, second.frame.fromMs);
  const inside = read.points.filter(({ at }) => at >= fromMs && at < untilMs);
  return inside
    .filter(({ at, changes }) => !(at === fromMs && changes === 0))
    .map((point) => Object.fromEntries(Object.entries(point).map(([key, value]) => [key, rounded(value)])));
}

const rounded = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toFixed(6)) : value);

test('a chart that is drawn now and again later agrees with itself, also after housekeeping', async () => {
  await using all = await withWeek();
  await all.live(5 * hourMs);
  const cases = ['t', 'on'].flatMap((capability) =>
    (
      [
        [hourMs, 10_000],
        [5 * hourMs, 60_000],
        [dayMs, 300_000],
        [6 * dayMs, hourMs],
        [30 * dayMs, 3 * hourMs],
      ] as const
    ).map(([ago, resolutionMs]) => ({ capability, ago, resolutionMs })),
  );
  const now = all.clock.now();
  // The second time the range begins a little earlier and ends a little later.
  const read = ({ capability, ago, resolutionMs }: (typeof cases)[number], more = 0) =>
    all.read(capability, now - ago - more * resolutionMs, now + more * resolutionMs, resolutionMs);
  const drawn = await Promise.all(cases.map(async (one) => ({ one, first: await read(one) })));
  const agree = async (what: string, which: (resolutionMs: number) => boolean): Promise<void> => {
    for (const { one, first } of drawn.filter((item) => which(item.one.resolutionMs))) {
      const second = await read(one, 2);
      assert.equal(second.frame.resolutionMs, one.resolutionMs, what);
      const before = over(first, first, second);
      const after = over(second, first, second);
      assert.ok(before.length > 0 || one.resolutionMs > hourMs, `${what}: ${JSON.stringify(one)} has no points`);
      assert.deepEqual(after, before, `${what}: ${JSON.stringify(one)}`);
    }
  };
  await all.live(2 * hourMs);
  await agree('two hours later', () => true);
  await all.history.downsample();
  await agree('after housekeeping', () => true);
  all.clock.advance(10 * dayMs);
  await all.live(60_000);
  await all.history.downsample();
  await all.history.downsample();
  await agree('when only hours are left', (resolutionMs) => resolutionMs === 3 * hourMs);
});

test('transitions become few: at most one point for ten seconds at first, for an hour after a week', async () => {
  await using all = await withWeek();
  all.clock.advance(hourMs - (all.clock.now() % hourMs));
  await all.live(4 * hourMs);
  const rows = () =>
    all.store.db
      .selectFrom('device_transitions')
      .select(['at', 'value', 'span', 'changes'])
      .where('capability', '=', 'on')
      .orderBy('at')
      .execute();
  const before = await rows();
  assert.ok(before.length > 500, String(before.length));
  all.clock.advance(hourMs);
  await all.history.downsample();
  all.clock.advance(8 * dayMs);
  await all.history.downsample();
  const after = await rows();
  assert.ok(after.length <= 9, String(after.length));
  const changes = after.reduce((sum, one) => sum + (one.changes ?? 1), 0);
  assert.equal(changes, before.length, 'no change is forgotten');
  assert.equal(after.at(-1)!.value, before.at(-1)!.value);
  const counted = await all.store.db.selectFrom('device_storage').select('transitions_bytes').executeTakeFirst();
  const stored = sql<{ bytes: number }>`
    select cast(sum(${historyTables.transitions.bytes}) as bigint) as bytes from device_transitions`;
  assert.deepEqual(counted?.transitions_bytes, (await stored.execute(all.store.db)).rows[0]?.bytes);
  all.clock.advance(3 * 365 * dayMs);
  await all.history.downsample();
  assert.deepEqual(
    (await rows()).map(({ value }) => value),
    [before.at(-1)!.value],
    'the latest stays: it still holds',
  );
});
