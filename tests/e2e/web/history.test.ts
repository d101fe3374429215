import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type { DeviceHistory } from '@station/protocol/device-history';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { makeLogins } from '@station/simulators/devices/devices-file';
import type { Browser, Locator, Page } from 'playwright-core';
import { connectDevice, type TestDevice } from '../../../apps/backend/testing/test-device.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';
import { logIn, look, openBrowser, openPerson, textOn, timeoutMs, type Person } from './browser.ts';

const root = join(import.meta.dirname, '../../..');
const minute = 60_000;
const hour = 3_600_000;
const day = 86_400_000;

type Gap = { fromMs: number; toMs: number };

/** Times ago at which the devices were offline: one for each range. */
const offlineAgo: readonly [from: number, to: number][] = [
  [100 * day, 80 * day],
  [20 * day, 17 * day],
  [4 * day, 3 * day],
  [15 * hour, 12 * hour],
  [4 * hour, 3 * hour],
  [35 * minute, 20 * minute],
];
/** When the lamp changed: on, off, … */
const switchedAgo = [50 * minute, 45 * minute, 10 * minute, 5 * minute];

const ranges = [
  ['1 h', hour],
  ['6 h', 6 * hour],
  ['24 h', day],
  ['7 days', 7 * day],
  ['30 days', 30 * day],
  ['1 year', 365 * day],
] as const;

/** A year with gaps in the database of a real station: a year of waiting is not possible. */
function recordYear(dataDir: string, now: number, devices: { climate: string; lamp: string }): Gap[] {
  using database = new DatabaseSync(join(dataDir, 'station.sqlite'));
  const gaps = offlineAgo.map(([from, to]) => ({ fromMs: now - from, toMs: now - to }));
  const isKnown = (at: number): boolean => gaps.every(({ fromMs, toMs }) => at < fromMs || at >= toMs);
  const startMs = now - 365 * day;
  database.exec('begin');
  database.prepare('insert into station_runs (id, started_at, alive_at) values (?, ?, ?)').run('year', startMs, now);
  const transition = database.prepare(
    'insert into device_transitions (device_id, capability, at, value) values (?, ?, ?, ?)',
  );
  for (const device of Object.values(devices)) {
    // The transitions of the status have no name of a value.
    database.prepare('delete from device_transitions where device_id = ?').run(device);
    transition.run(device, '', startMs, '"online"');
    for (const { fromMs, toMs } of gaps) {
      transition.run(device, '', fromMs, '"offline"');
      transition.run(device, '', toMs, '"online"');
    }
  }
  transition.run(devices.lamp, 'on', startMs, 'false');
  switchedAgo.forEach((ago, index) => transition.run(devices.lamp, 'on', now - ago, String(index % 2 === 0)));
  const hours = database.prepare(
    "insert into device_hours (device_id, capability, hour, samples, total, lowest, highest) values (?, 'temperature', ?, 60, ?, ?, ?)",
  );
  for (let at = Math.ceil(startMs / hour) * hour; at < now - 2 * hour; at += hour) {
    const value = 20 + ((at / hour) % 5);
    if (isKnown(at) && isKnown(at + hour - 1)) hours.run(devices.climate, at, 60 * value, value, value);
  }
  const sample = database.prepare(
    "insert into device_samples (device_id, capability, at, value) values (?, 'temperature', ?, ?)",
  );
  for (let at = now - 7 * day; at < now; at += minute) {
    if (isKnown(at)) sample.run(devices.climate, at, 20 + (Math.floor(at / hour) % 5));
  }
  database.exec('commit');
  return gaps;
}

/** Heights of the topmost and the lowest pixel in the colour of the line, at parts of the width; null: the line is not there. */
const linesAt = (page: Page, parts: readonly number[]): Promise<({ top: number; bottom: number } | null)[]> =>
  page.evaluate(`(() => {
    const figure = document.querySelector('figure[data-resolution]');
    const canvas = figure.querySelector('canvas');
    const over = figure.querySelector('.u-over').getBoundingClientRect();
    const whole = canvas.getBoundingClientRect();
    const scale = canvas.width / whole.width;
    const paint = document.createElement('canvas').getContext('2d');
    paint.fillStyle = getComputedStyle(figure).getPropertyValue('--accent').trim();
    paint.fillRect(0, 0, 1, 1);
    const accent = paint.getImageData(0, 0, 1, 1).data;
    const top = Math.round((over.top - whole.top) * scale);
    const height = Math.round(over.height * scale);
    return ${JSON.stringify(parts)}.map((part) => {
      const x = Math.round((over.left - whole.left + over.width * part) * scale);
      const { data } = canvas.getContext('2d').getImageData(x, top, 1, height);
      const found = [];
      for (let y = 0; y < height; y++) {
        const off = [0, 1, 2].reduce((sum, n) => sum + Math.abs(data[y * 4 + n] - accent[n]), 0);
        if (data[y * 4 + 3] > 200 && off < 60) found.push(y);
      }
      return found.length === 0 ? null : { top: found[0] / height, bottom: found.at(-1) / height };
    });
  })()`);

describe('the history of a device in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const story = new AsyncDisposableStack();
  const [climate, , , lamp] = makeLogins(4);
  let station: Installation;
  let browser: Browser;
  let person: Person;
  let page: Page;
  let gaps: Gap[] = [];
  /** When the year ended that was written into the database: before the first test. */
  const recordedAt = (): number => (gaps.at(-1)?.toMs ?? 0) + 20 * minute;
  let ids = { climate: '', lamp: '' };
  let sensor: TestDevice;
  /** Answers of the station to the page, newest last. */
  const answers: DeviceHistory[] = [];

  const figure = (): Locator => page.locator('figure[data-resolution]');
  const slider = (): Locator => page.getByRole('slider', { name: 'Time on the chart' });
  const span = async (): Promise<Gap> => {
    const at = async (name: string): Promise<number> => Number(await slider().getAttribute(name)) * 1_000;
    return { fromMs: await at('aria-valuemin'), toMs: await at('aria-valuemax') };
  };
  async function open(device: string): Promise<void> {
    await page.goto(`/devices/${device}`);
    await figure().locator('canvas').waitFor({ timeout: timeoutMs });
  }
  async function choose(words: string, lengthMs: number): Promise<DeviceHistory> {
    answers.length = 0;
    await page.locator('label', { hasText: new RegExp(`^${words}$`) }).click();
    const isOf = (one: DeviceHistory): boolean =>
      Math.abs(Date.parse(one.to) - Date.parse(one.from) - lengthMs) < lengthMs / 10;
    const answer = await waitFor(`the history of ${words}`, () => answers.findLast(isOf));
    await page.locator(`figure[data-resolution="${answer.resolutionMs}"] canvas`).waitFor({ timeout: timeoutMs });
    await waitFor(`the chart of ${words}`, async () => {
      const shownMs = Number(await figure().getAttribute('data-length'));
      return Math.abs(shownMs - lengthMs) < lengthMs / 10;
    });
    return answer;
  }

  before(async () => {
    assert.ok(climate && lamp);
    if (await isWebStale(root)) {
      const path = process.env['PATH'] ?? '';
      const home = systemEnv['HOME'] ?? '/root';
      await buildWeb({ root, path, home, signal: AbortSignal.timeout(300_000) });
    }
    const env = { WEB_DIR: join(root, 'dist/web') };
    station = story.use(await install('the embedded broker and SQLite', { logins: [climate, lamp], env }));
    await station.startBackend();
    await station.logIn();
    const rows = await station.query<{ id: string; external_id: string }>('select id, external_id from devices');
    const idOf = (externalId: string): string => rows.find((row) => row.external_id === externalId)?.id ?? '';
    ids = { climate: idOf(climate.externalId), lamp: idOf(lamp.externalId) };
    const connect = (login: typeof climate, id: string): Promise<TestDevice> =>
      connectDevice(station.mqttUrl, { stationId, id, externalId: login.externalId, token: login.token });
    // What the state is, before its history is written below.
    for (const [login, id, state] of [
      [climate, ids.climate, { temperature: 21 }],
      [lamp, ids.lamp, { on: false }],
    ] as const) {
      await using device = await connect(login, id);
      await device.publish('state', { state });
    }
    await station.stopBackend('SIGTERM');
    gaps = recordYear(station.dataDir, Date.now(), ids);
    await station.startBackend();
    sensor = story.use(await connect(climate, ids.climate));
    const light = story.use(await connect(lamp, ids.lamp));
    await sensor.publish('state', { state: { temperature: 21 } });
    await light.publish('state', { state: { on: false } });
    browser = story.use(await openBrowser());
    person = story.use(await openPerson(browser, station.url, 'en-GB'));
    page = person.page;
    page.on('response', (response) => {
      if (/\/history\?/.test(response.url()) && response.ok())
        void response.json().then(
          (answer: DeviceHistory) => answers.push(answer),
          () => undefined,
        );
    });
    await logIn(page, owner);
    await page.getByRole('navigation').first().waitFor({ timeout: timeoutMs });
  });
  after(() => story.disposeAsync());

  it('shows a time offline as a gap in each range, and says its resolution', async () => {
    await open(ids.climate);
    const resolutions: number[] = [];
    for (const [words, lengthMs] of ranges) {
      const answer = await choose(words, lengthMs);
      resolutions.push(answer.resolutionMs);
      const shown = await span();
      // The newest gap that a chart of this length shows: each range has one that is a good part of it.
      const [gap] = gaps.filter(({ fromMs, toMs }) => fromMs > shown.fromMs && toMs - fromMs > lengthMs / 20);
      assert.ok(gap, words);
      assert.ok(
        answer.gaps.some(
          ({ from, to }) => Math.abs(Date.parse(from) - gap.fromMs) + Math.abs(Date.parse(to) - gap.toMs) < minute,
        ),
        `${words}: the station names the gap`,
      );
      await textOn(page, /^No data for .+: the device was offline or the station was off\.$/);
      await textOn(page, /^Resolution: .+$/);
      const part = (at: number): number => (at - shown.fromMs) / (shown.toMs - shown.fromMs);
      const from = part(gap.fromMs);
      const to = part(gap.toMs);
      const step = answer.resolutionMs / (shown.toMs - shown.fromMs);
      const inside = [0.2, 0.5, 0.8].map((share) => from + (to - from) * share);
      assert.deepEqual(await linesAt(page, inside), [null, null, null], `${words}: no line across the gap`);
      const around = await linesAt(page, [from - 3 * step, to + 3 * step]);
      assert.ok(
        around.every((one) => one !== null),
        `${words}: a line before and after it: ${JSON.stringify(around)}`,
      );
    }
    assert.deepEqual(
      resolutions,
      resolutions.toSorted((a, b) => a - b),
      'the longer the coarser',
    );
    assert.ok(new Set(resolutions).size >= 4, resolutions.join(', '));
    await look(page, '27-history-year');
  });

  it('draws a switch from the moments at which it changed', async () => {
    await open(ids.lamp);
    const recorded = recordedAt();
    const answer = await choose('1 h', hour);
    const shown = await span();
    const changes = answer.points.filter(({ at }) => Date.parse(at) > shown.fromMs + minute);
    const [on, off, onAgain, offAgain] = changes.map(({ at }) => Date.parse(at));
    assert.deepEqual(
      [on, off, onAgain, offAgain].map((at) => Math.round((recorded - (at ?? 0)) / minute)),
      switchedAgo.map((ago) => Math.round(ago / minute)),
    );
    const at = (ms: number): number => (ms - shown.fromMs) / (shown.toMs - shown.fromMs);
    const middle = (a = 0, b = 0): number => at((a + b) / 2);
    const [gap] = gaps.slice(-1);
    assert.ok(gap);
    const [high, low, none, highAgain, lowAgain] = await linesAt(page, [
      middle(on, off),
      middle(off, gap.fromMs),
      middle(gap.fromMs, gap.toMs),
      middle(onAgain, offAgain),
      middle(offAgain, shown.toMs),
    ]);
    assert.equal(none, null, 'nothing is known while it was offline');
    assert.ok(high && low && highAgain && lowAgain);
    assert.ok(high.top < 0.2 && highAgain.top < 0.2, `on is above: ${JSON.stringify([high, highAgain])}`);
    assert.ok(low.top > 0.8 && lowAgain.top > 0.8, `off is below: ${JSON.stringify([low, lowAgain])}`);
    await look(page, '28-history-switch');
  });

  it('saves a file with the same moments', async () => {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download as CSV' }).click();
    const [head, ...lines] = (await readFile(await (await download).path(), 'utf8')).trimEnd().split('\r\n');
    assert.equal(head, 'time,value,share,changes,seconds');
    assert.deepEqual(
      lines.map((line) => line.split(',')[1]),
      ['true', 'false', 'true', 'false'],
    );
    const recorded = recordedAt();
    const times = lines.map((line) => Date.parse(line.split(',')[0] ?? ''));
    assert.deepEqual(
      times,
      switchedAgo.map((ago) => recorded - ago),
    );
  });

  it('says the same when it is drawn again', async () => {
    await open(ids.climate);
    await choose('1 h', hour);
    // Reports draw the chart that is open; the station's answer draws the next one.
    await sensor.publish('state', { state: { temperature: 25 } });
    await textOn(page, /highest 25/);
    await sensor.publish('state', { state: { temperature: 17 } });
    await textOn(page, /Lowest 17/);
    const live = await readMoments();
    await page.reload();
    await figure().locator('canvas').waitFor({ timeout: timeoutMs });
    await choose('1 h', hour);
    const again = await readMoments();
    const common = [...live].filter(([time]) => again.has(time));
    assert.ok(common.length >= 8, `${common.length} common moments`);
    // The interval of the last report may have been open in the first chart.
    for (const [time, words] of common) assert.equal(again.get(time), words, time);
    assert.match([...again.values()].join(), /17/);
  });

  /** Time → value as the chart says them, for the last moments. */
  async function readMoments(): Promise<Map<string, string>> {
    const moments = new Map<string, string>();
    await slider().focus();
    for (let step = 0; step < 16; step++) {
      await page.keyboard.press('ArrowLeft');
      const words = (await slider().getAttribute('aria-valuetext')) ?? '';
      const at = words.lastIndexOf(': ');
      moments.set(words.slice(0, at), words.slice(at + 2));
    }
    return moments;
  }

  it('the browser reported no fault', () => {
    assert.deepEqual(person.complaints, []);
  });
});
