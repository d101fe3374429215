import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core';

/** Where the pictures of the journeys go. */
const output = join(import.meta.dirname, '../../output/web');

/** How long a step of a journey may take on a busy machine before it counts as failed. */
export const timeoutMs = 60_000;

/** Waits until the text is visible: a page contains some texts twice, for narrow and wide screens. */
export const textOn = (on: Page | Locator, text: string | RegExp): Promise<void> =>
  on.getByText(text).filter({ visible: true }).first().waitFor({ timeout: timeoutMs });

export type Person = AsyncDisposable & {
  page: Page;
  context: BrowserContext;
  /** What the browser complained about: broken rules of the Content-Security-Policy, faults of the page. */
  complaints: string[];
};

export async function openBrowser(): Promise<Browser & AsyncDisposable> {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
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
export async function openPerson(browser: Browser, url: string, locale: 'en-GB' | 'uk-UA'): Promise<Person> {
  const context = await browser.newContext({ baseURL: url, locale, viewport: desk });
  context.setDefaultTimeout(timeoutMs);
  const page = await context.newPage();
  return { page, context, complaints: collectComplaints(page), [Symbol.asyncDispose]: () => context.close() };
}

/** Opens the app and logs in. */
export async function logIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto('/');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
}

function collectComplaints(page: Page): string[] {
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
      const wider = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      assert.ok(wider <= 0, `${name} on a ${device} is ${wider} px too wide`);
      assert.deepEqual(await seriousFaults(page), [], `${name} on a ${device}, ${colorScheme}`);
    }
  }
  await page.setViewportSize(desk);
  await page.emulateMedia({ colorScheme: 'light' });
}

export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  }>('axe.run(document, { resultTypes: ["violations"] })');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

/** Watches a text of the page and keeps each value it takes, in order; for what passes by too quickly to wait for. */
export async function recordChanges(page: Page, expression: string): Promise<{ stop(): Promise<string[]> }> {
  await page.evaluate(`
    window.recorded = [];
    window.recorder = setInterval(() => {
      const value = String(${expression});
      if (window.recorded.at(-1) !== value) window.recorded.push(value);
    }, 20);
  `);
  return { stop: () => page.evaluate<string[]>('clearInterval(window.recorder), window.recorded') };
}
