import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { isSweep } from '../../rig/extent.ts';
import { waitFor } from '../../rig/program.ts';
import { glance, logIn, openBrowser, openPerson, type Look, type Person } from './browser.ts';
import { startRunningStation, type RunningStation } from './running-station.ts';

const owner = { name: 'Olena', email: 'olena@example.org', password: 'correct horse battery' };

/** Addresses with a name in place of an id. Each address of the app is one of them, or leads to another one. */
const addresses = [
  '/',
  '/devices',
  '/devices/:id',
  '/scenes',
  '/scenes/new',
  '/scenes/:id',
  '/activity',
  '/settings',
  '/automations',
  '/automations/new',
  '/automations/:id',
  '/automations/:id/edit',
  '/account',
  '/secure',
  '/settings/systems',
  '/settings/home',
  '/settings/network',
  '/settings/updates',
  '/settings/backup',
  '/settings/notifications',
  '/settings/people',
  '/settings/remote',
  '/settings/diagnostics',
  '/settings/log',
  '/settings/about',
  '/unknown-devices',
  '/add',
  '/add/gateways',
  '/add/manual',
  '/add/usb',
  '/add/list',
];

const sizes = { phone: { width: 360, height: 740 }, desk: { width: 1280, height: 900 } };
const languages = { en: 'English', uk: 'Ukrainian', de: 'German', pl: 'Polish' };
type Reading = { language: keyof typeof languages; looks: Look[] };
const everyLook = Object.entries(sizes).flatMap(([device, viewport]) =>
  (['light', 'dark'] as const).map((colorScheme): Look => ({ device, viewport, colorScheme })),
);
/** In short: the other journeys see the pages in English, in all looks. */
const readings: Reading[] = isSweep
  ? (['en', 'uk', 'de', 'pl'] as const).map((language) => ({ language, looks: everyLook }))
  : (
      [
        ['uk', 'light'],
        ['de', 'dark'],
        ['pl', 'light'],
      ] as const
    ).map(([language, colorScheme]) => ({
      language,
      looks: [{ device: 'phone', viewport: sizes.phone, colorScheme }],
    }));

/** Every page in every language, filled by a running station: nothing sticks out, no label is cut, axe finds no serious fault. */
describe('every page of the web app, in a real Chromium', { timeout: 1_800_000 }, () => {
  const day = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;
  let ids: Record<string, string> = {};

  const readIn = async (language: string): Promise<void> => {
    await page.evaluate(`localStorage.setItem('station.language', '${language}')`);
  };
  const isShown = () => page.locator('main:not(:has(span.animate-breathe.bg-sunken)) h1').first().waitFor();

  before(async () => {
    station = day.use(await startRunningStation({ SIMULATE_WIFI: 'true' }));
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await page.goto('/');
  });
  after(() => day.disposeAsync());

  it('no address of the app is missing here', async () => {
    const sources = ['shell.tsx', 'app.tsx', 'place-marks.ts'].map((name) =>
      readFile(join(import.meta.dirname, '../../../apps/web/src/app', name), 'utf8'),
    );
    const found = (await Promise.all(sources)).flatMap((source) =>
      [...source.matchAll(/\bpath(?:=|: )["'](\/[^"']*)["']/g)].map(([, path = '']) => path),
    );
    assert.ok(found.length > 20, 'the addresses are found');
    const known = new Set([...addresses, '/add/:way?']);
    assert.deepEqual(
      found.filter((path) => !known.has(path)),
      [],
    );
  });

  for (const { language, looks } of readings) {
    it(`the first page of a new station in ${languages[language]}`, async () => {
      await readIn(language);
      await page.goto('/');
      await isShown();
      await glance(page, `first-${language}`, looks);
    });
  }

  it('a station with an automation and a scene', async () => {
    const data = { ...owner, code: station.setupCode, stationName: 'Kyiv flat' };
    const origin = { origin: station.url };
    const answer = await page.request.post('/api/auth/setup', { data, headers: origin });
    const { accessToken } = (await answer.json()) as { accessToken: string };
    const headers = { ...origin, authorization: `Bearer ${accessToken}` };
    const devices = await waitFor('a lamp', async () => {
      const all = (await (await page.request.get('/api/devices', { headers })).json()) as {
        id: string;
        type: string;
      }[];
      return all.some(({ type }) => type === 'light') && all;
    });
    const lamp = devices.find(({ type }) => type === 'light')?.id;
    const post = async (path: string, data: object = {}): Promise<{ id: string }> => {
      const made = await page.request.post(path, { data, headers });
      assert.ok(made.ok(), `${path}: ${await made.text()}`);
      return (await made.json()) as { id: string };
    };
    // The longest names, which no browser can divide: nothing may stick out because of them.
    const zone = await post('/api/zones', { name: 'W'.repeat(100) });
    const moved = await page.request.patch(`/api/devices/${lamp}`, { data: { zoneId: zone.id }, headers });
    assert.ok(moved.ok(), await moved.text());
    const member = { name: 'M'.repeat(100), email: 'm@example.org', role: 'limited', zoneIds: [zone.id] };
    await post('/api/station/members', member);
    const turnOn = { deviceId: lamp, action: 'turn_on' };
    const scene = await post('/api/scenes', { name: 'Evening', commands: [turnOn] });
    const steps = [
      ['trigger', 'schedule', { time: '19:30', days: ['mon', 'sun'] }],
      ['condition', 'time_range', { from: '17:00', to: '23:00' }],
      ['action', 'device_command', turnOn],
      ['action', 'delay', { seconds: 3_600 }],
      ['action', 'scene', { sceneId: scene.id }],
      ['action', 'notify', { message: 'Good evening' }],
    ] as const;
    const nodes = steps.map(([type, kind, config], n) => ({ id: `n${n}`, type, data: { kind, config } }));
    const edges = nodes.slice(1).map(({ id }, n) => ({ id: `e${n}`, source: `n${n}`, target: id }));
    const automation = await post('/api/automations', { name: '', flow: { nodes, edges } });
    await post(`/api/automations/${automation.id}/publish`);
    await post(`/api/automations/${automation.id}/run`);
    ids = { devices: lamp ?? '', scenes: scene.id, automations: automation.id };
    await olena.context.clearCookies();
    await readIn('en');
    await page.goto('/');
    await logIn(page, owner);
    await page.getByRole('navigation').first().waitFor();
  });

  for (const { language, looks } of readings) {
    it(`every page in ${languages[language]}`, async (test) => {
      await readIn(language);
      const faults: string[] = [];
      for (const address of addresses) {
        await page.goto(address.replace(/^\/(\w+)\/:id/, (_, list: string) => `/${list}/${ids[list]}`));
        await isShown();
        assert.equal(await page.evaluate('document.documentElement.lang'), language);
        await glance(page, `page${address.replaceAll(/[/:]+/g, '-')}-${language}`, looks).catch((error: unknown) =>
          faults.push(String(error)),
        );
      }
      assert.deepEqual(faults, []);
      test.diagnostic(`${addresses.length} pages in ${looks.length} looks`);
    });
  }

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});
