import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core';

/** Where the pictures of the journeys go. */
const output = join(import.meta.dirname, '../../output/web');

/** How long a step of a journey may take on a busy machine before it counts as failed. */
export const timeoutMs = 120_000;

/** Waits until the text is visible: a page contains some texts twice, for narrow and wide screens. */
export const textOn = (on: Page | Locator, text: string | RegExp): Promise<void> =>
  on.getByText(text).filter({ visible: true }).first().waitFor({ timeout: timeoutMs });

export type Person = AsyncDisposable & {
  page: Page;
  context: BrowserContext;
  /** What the browser complained about: broken rules of the Content-Security-Policy, faults of the page. */
  complaints: string[];
};

export async function openBrowser(executablePath = '/usr/bin/chromium'): Promise<Browser & AsyncDisposable> {
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  return Object.assign(browser, { [Symbol.asyncDispose]: () => browser.close() });
}

/** A person with a browser of their own: nothing is remembered from anybody else. */
export async function openPerson(
  browser: Browser,
  url: string,
  locale: string,
  { serviceWorkers = 'allow' }: { serviceWorkers?: 'allow' | 'block' } = {},
): Promise<Person> {
  const context = await browser.newContext({ baseURL: url, locale, viewport: desk, serviceWorkers });
  context.setDefaultTimeout(timeoutMs);
  const page = await context.newPage();
  return { page, context, complaints: collectComplaints(page), [Symbol.asyncDispose]: () => context.close() };
}

/** Opens a page that the bar does not show, by way of the settings. */
export async function goBySettings(page: Page, name: string, settings = 'Settings'): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: settings, exact: true }).click();
  await page
    .getByRole('main')
    .getByRole('link', { name: new RegExp(`^${name}`) })
    .click();
}

/** The name of a lamp at home. */
export const lampAtHome = (page: Page): Promise<string> =>
  page.getByRole('listitem').filter({ hasText: 'Brightness' }).locator('p').first().innerText();

/** Opens the page of a device that can be controlled, from its tile at home. */
export async function openDevice(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: `${name}: details`, exact: true }).click();
  await page.getByRole('dialog').getByRole('link', { name: 'Details' }).click();
}

/** Opens what needs attention at home, and goes where one thing of it can be done. */
export async function attend(page: Page, what: RegExp): Promise<void> {
  await page.getByRole('button', { name: /things? needs? attention/ }).click();
  await page.getByRole('dialog').getByRole('link', { name: what }).click();
}

/** Opens the list of scenes, by way of the automations. */
export async function goToScenes(page: Page): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: 'Automations', exact: true }).click();
  await page
    .getByRole('main')
    .getByRole('link', { name: /^Scenes/ })
    .click();
}

/** Chooses an entry of the menu of a page. */
export async function chooseInMenu(page: Page, entry: string): Promise<void> {
  await page.getByRole('main').getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: entry }).click();
}

/** On the first page of a new station: makes the account of its owner. */
export async function createOwner(
  page: Page,
  owner: { setupCode: string; name: string; email: string; password: string; stationName?: string },
): Promise<void> {
  const { setupCode, name, email, password, stationName = '' } = owner;
  await page.goto('/');
  for (const [label, text] of [
    ['Set-up code', setupCode],
    ['Name of the station', stationName],
    ['Your name', name],
    ['E-mail', email],
  ] as const) {
    await page.getByLabel(label).fill(text);
  }
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Create account' }).click();
}

/** Opens the app and logs in. */
export async function logIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto('/');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
}

/** Broken rules of the Content-Security-Policy and faults of the page, as they come. */
export function collectComplaints(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // A station that restarts refuses connections for a moment; the browser writes that down, and it is no fault.
    if (message.type() === 'error' && /Content Security Policy|Uncaught/i.test(message.text()))
      complaints.push(message.text());
  });
  return complaints;
}

const desk = { width: 1280, height: 900 };
const phone = { width: 360, height: 740 };

/**
 * Takes pictures of the page as it is now, on a phone and on a desk, in the light and in the dark, and asserts on each that
 * nothing sticks out at the side and that axe finds no serious fault.
 */
export async function look(page: Page, name: string): Promise<void> {
  await mkdir(output, { recursive: true });
  for (const [device, viewport] of Object.entries({ phone, desk })) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(100);
      await page.screenshot({ path: join(output, `${name}-${device}-${colorScheme}.png`), fullPage: true });
      await assertFits(page, `${name} on a ${device}`);
      assert.deepEqual(await seriousFaults(page), [], `${name} on a ${device}, ${colorScheme}`);
    }
  }
  await page.setViewportSize(desk);
  await page.emulateMedia({ colorScheme: 'light' });
}

/** How somebody sees a page. `device` names the size. */
export type Look = { device: string; viewport: { width: number; height: number }; colorScheme: 'light' | 'dark' };

/** The same in some looks, for a page in one more language; and no label may be cut. */
export async function glance(page: Page, name: string, looks: readonly Look[]): Promise<void> {
  await mkdir(output, { recursive: true });
  for (const { device, viewport, colorScheme } of looks) {
    const what = `${name}-${device}-${colorScheme}`;
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(output, `${what}.png`), fullPage: true });
    await assertFits(page, what);
    const cut = await page.evaluate<string[]>(`
      [...document.querySelectorAll('nav span, button, button span, legend, label, h1, h2, h3')]
        .filter((label) => label.checkVisibility() && !label.closest('.sr-only') && getComputedStyle(label).overflowX === 'hidden')
        .filter((label) => label.scrollWidth > label.clientWidth + 1)
        .map((label) => label.textContent)
    `);
    assert.deepEqual(cut, [], `labels that are cut: ${what}`);
    assert.deepEqual(await seriousFaults(page), [], what);
  }
}

async function assertFits(page: Page, name: string): Promise<void> {
  const wider = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  assert.ok(wider <= 0, `${name} is ${wider} px too wide`);
}

export async function seriousFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  }>('axe.run(document, { resultTypes: ["violations"] })');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

/** Watches a text of the page and keeps each value it takes, in order; for what passes by too quickly to wait for. */
export async function recordChanges(page: Page, expression: string): Promise<{ stop(): Promise<string[]> }> {
  const script = `
    window.recorded = [];
    window.recorder = setInterval(() => {
      const value = String(${expression});
      if (window.recorded.at(-1) !== value) window.recorded.push(value);
    }, 20);
  `;
  // A page that is loaded again is recorded from its start.
  await page.addInitScript(script);
  await page.evaluate(script);
  return { stop: () => page.evaluate<string[]>('clearInterval(window.recorder), window.recorded') };
}

/** Chooses a device, a zone or something else in a part of an automation, and then what is meant of it. */
export async function chooseInPart(page: Page, part: string, subject: string, what?: string): Promise<void> {
  const group = page.getByRole('group', { name: part, exact: true });
  await group.getByRole('combobox', { name: 'Device, zone or other' }).first().fill(subject);
  const option = group.getByRole('option').filter({ has: page.getByText(subject, { exact: true }) });
  await option.first().click();
  if (what !== undefined) await group.getByLabel('What', { exact: true }).selectOption({ label: what });
}
