import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { timeoutMs, seriousFaults } from '../web/browser.ts';

const output = join(import.meta.dirname, '../../output/portal');

export type Sheet = AsyncDisposable & { page: Page; context: BrowserContext; complaints: string[] };

/** The browser sheet that a phone opens for a captive portal: small, without storage, perhaps without scripts. */
export async function openSheet(
  browser: Browser,
  url: string,
  options: { locale?: string; hasScript?: boolean } = {},
): Promise<Sheet> {
  const context = await browser.newContext({
    baseURL: url,
    locale: options.locale ?? 'en-GB',
    javaScriptEnabled: options.hasScript ?? true,
    viewport: { width: 320, height: 568 },
    hasTouch: true,
  });
  context.setDefaultTimeout(timeoutMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy|Uncaught/i.test(message.text())) complaints.push(message.text());
  });
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/**
 * Takes screenshots in light and dark mode. Asserts that the page is not too wide, that controls are large enough to touch,
 * and that axe finds no serious fault.
 */
export async function lookAtSheet(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await pictureOf(page, `${name}-${colorScheme}`);
    assert.deepEqual(await seriousFaults(page), [], `${name}, ${colorScheme}`);
  }
  const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  assert.ok(wider <= 0, `${name} is ${wider} px too wide`);
  assert.deepEqual(await smallTargets(page), [], name);
}

/** Only a screenshot, because the page redirects too soon for checks. */
export async function pictureOf(page: Page, name: string): Promise<void> {
  await mkdir(output, { recursive: true });
  await page.screenshot({ path: join(output, `${name}.png`), fullPage: true });
}

/** Controls below 44 by 44 px that can be seen. Radio buttons and check boxes are touched through their labels. */
function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    [...document.querySelectorAll('a, button, select, label.net, label.sure, input:not([type=radio], [type=checkbox], [type=hidden])')]
      .filter((element) => element.getClientRects().length > 0 && !(element.matches('li a')))
      .map((element) => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.height < 44 || box.width < 44)
      .map(({ element, box }) => element.outerHTML.slice(0, 80) + ' ' + box.width + 'x' + box.height)
  `);
}
