/**
 * `node tests/e2e/web/contact-sheet.ts [PAGE…]`: pictures of every page with the simulated station of `simulators/web-preview`, on a
 * phone and on a desk, in the light and in the dark, laid side by side in sheets:
 * tests/output/contact-sheet.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createPreview } from '@station/simulators/web-preview/server';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from './browser.ts';

const root = join(import.meta.dirname, '../../../dist/web');
const output = join(import.meta.dirname, '../../output/contact-sheet');

/** Address, and what the simulated station is like (`/preview/SCENE?…`). */
type Shot = { path: string; scene?: string };

const shots: Record<string, Shot> = {
  'set-up': { path: '/', scene: 'ready?setUp=false&signedIn=false' },
  'log-in': { path: '/', scene: 'ready?signedIn=false' },
  home: { path: '/' },
  'home-empty': { path: '/', scene: 'ready?devices=none' },
  'home-away': { path: '/', scene: 'ready?agent=silent' },
  devices: { path: '/devices' },
  device: { path: '/devices/DEVICE' },
  automations: { path: '/automations' },
  'automations-empty': { path: '/automations', scene: 'ready?automations=none' },
  automation: { path: '/automations/AUTOMATION' },
  'automation-new': { path: '/automations/new' },
  activity: { path: '/activity' },
  settings: { path: '/settings' },
  scenes: { path: '/scenes' },
  station: { path: '/station' },
  network: { path: '/station/network' },
  log: { path: '/station/log' },
  firmware: { path: '/device-firmware' },
  members: { path: '/members' },
  cloud: { path: '/cloud', scene: 'ready?cloud=connected' },
  'cloud-off': { path: '/cloud' },
  account: { path: '/account' },
  notifications: { path: '/settings/notifications' },
  backup: { path: '/settings/backup' },
  add: { path: '/add' },
  'add-manually': { path: '/add/manual' },
  'unknown-devices': { path: '/unknown-devices', scene: 'ready?attention=some' },
  secure: { path: '/secure' },
  'not-found': { path: '/nowhere' },
};

const sheetStyle = `
  body { display: flex; flex-wrap: wrap; gap: 8px; margin: 8px; background: #888; font: 13px sans-serif }
  figure { margin: 0; overflow: hidden }
  img { display: block; object-fit: cover; object-position: top }
  .phone img { width: 250px; max-height: 1200px }
  .desk img { width: 508px; max-height: 620px }
`;

const widths = { phone: 360, desk: 1280 };

async function takeAll(browser: Browser, url: string, names: readonly string[]): Promise<void> {
  const first = async (path: string): Promise<string> => {
    const list = (await (await fetch(`${url}${path}`)).json()) as { id: string }[];
    return list[0]!.id;
  };
  const ids = { DEVICE: await first('/api/devices'), AUTOMATION: await first('/api/automations') };
  const context = await browser.newContext({
    baseURL: url,
    locale: 'en-GB',
    serviceWorkers: 'block',
    reducedMotion: 'reduce',
  });
  await context.addInitScript(`localStorage.setItem('station.signed-in-before', 'yes')`);
  const page = await context.newPage();
  page.on('response', (response) => {
    if (response.status() === 404) console.log(`missing: ${response.url()} on ${page.url()}`);
  });
  for (const name of names) {
    const { path, scene = 'ready' } = shots[name]!;
    await fetch(`${url}/preview/${scene}`, { method: 'POST' });
    const address = path.replace(/DEVICE|AUTOMATION/, (key) => ids[key as keyof typeof ids]);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(address);
      await page.locator('h1').first().waitFor();
      await page.waitForTimeout(700);
      await take(page, name, colorScheme);
    }
  }
  await context.close();
}

async function take(page: Page, name: string, colour: string): Promise<void> {
  for (const [device, width] of Object.entries(widths)) {
    const height = device === 'phone' ? 740 : 900;
    await page.setViewportSize({ width, height });
    // As high as the page, so that the bar of a phone lies below everything.
    const whole = await page.evaluate<number>('document.documentElement.scrollHeight');
    await page.setViewportSize({ width, height: Math.max(height, whole) });
    await page.waitForTimeout(150);
    await page.screenshot({ path: join(output, `${name}-${device}-${colour}.png`) });
  }
}

/** Sheets of six pages, which can still be read. */
async function lay(
  browser: Browser,
  names: readonly string[],
  device: keyof typeof widths,
  colour: string,
): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1560, height: 900 } });
  for (let from = 0; from < names.length; from += 6) {
    const figures = names.slice(from, from + 6).map(async (name) => {
      const bytes = await readFile(join(output, `${name}-${device}-${colour}.png`));
      return `<figure><figcaption>${name}</figcaption><img src="data:image/png;base64,${bytes.toString('base64')}"></figure>`;
    });
    await page.setContent(
      `<style>${sheetStyle}</style><body class="${device}">${(await Promise.all(figures)).join('')}`,
    );
    await page.screenshot({ path: join(output, `sheet-${device}-${colour}-${from / 6 + 1}.png`), fullPage: true });
  }
  await page.close();
}

const { positionals } = parseArgs({ allowPositionals: true });
const names = positionals.length > 0 ? positionals : Object.keys(shots);
await mkdir(output, { recursive: true });
await using browser = await openBrowser();
const { app } = await createPreview({ root });
const url = await app.listen({ host: '127.0.0.1', port: 0 });
try {
  await takeAll(browser, url, names);
  for (const device of ['phone', 'desk'] as const)
    for (const colour of ['light', 'dark']) await lay(browser, names, device, colour);
} finally {
  await app.close();
}
