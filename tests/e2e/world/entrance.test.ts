import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { textOn, timeoutMs } from '../web/browser.ts';
import { type RunningStation, startRunningStation } from '../web/running-station.ts';

let station: RunningStation;
let browser: Browser;
const names = [
  'station.local',
  'station',
  'station.fritz.box',
  'station.lan',
  'station.home.arpa',
  'pi.hole',
  'localhost.me',
];

before(async () => {
  station = await startRunningStation();
  const rules = names.map((name) => `MAP ${name} 127.0.0.1`).join(', ');
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', `--host-resolver-rules=${rules}`],
  });
});
after(async () => {
  await browser.close();
  await station[Symbol.asyncDispose]();
});

/** A new browser at this name. `prepare` changes what it gets, or is. */
async function open(name: string, prepare?: (context: BrowserContext) => Promise<unknown>): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-GB', serviceWorkers: 'block' });
  context.setDefaultTimeout(timeoutMs);
  await prepare?.(context);
  const page = await context.newPage();
  await page.goto(`http://${name}:${new URL(station.url).port}/`);
  return page;
}

const words = (page: Page): Promise<string> => page.locator('body').innerText();

describe('the page that opens first', () => {
  for (const name of ['station.local', 'station', '127.0.0.1']) {
    test(`works at ${name}`, async () => {
      const page = await open(name);
      await textOn(page, 'Set up this station');
      await page.context().close();
    });
  }

  for (const name of names.slice(2)) {
    test(`says at ${name} that this is no address of the station, and which is one`, async () => {
      const page = await open(name);
      await textOn(page, 'This is not an address of the station');
      const text = await words(page);
      assert.match(text, new RegExp(`does not answer as “${name.replaceAll('.', '\\.')}”`));
      const address = await page.getByRole('link').first().getAttribute('href');
      assert.match(address ?? '', /^http:\/\/(station\.local|localhost|127\.0\.0\.1)/);
      assert.doesNotMatch(text, /restarting/);
      await page.context().close();
    });
  }

  const html = { contentType: 'text/html', body: '<html>Log in to the hotel</html>' };
  const json = (code: string) => ({ contentType: 'application/json', body: JSON.stringify({ code, message: 'Why.' }) });
  const answers: [what: string, answer: { status: number; contentType: string; body: string }, expected: RegExp][] = [
    [
      'an error of the station',
      { status: 500, ...json('internal') },
      /answers, but not as this page expects[^]*500 internal/,
    ],
    ['a page of somebody else', { status: 200, ...html }, /answers, but not as this page expects[^]*200 bad_answer/],
    [
      'a refusal by a program between them',
      { status: 403, ...html },
      /answers, but not as this page expects[^]*403 bad_answer/,
    ],
    [
      'an address that is not there',
      { status: 404, ...html },
      /answers, but not as this page expects[^]*404 bad_answer/,
    ],
    [
      'a code that it does not know',
      { status: 418, ...json('teapot') },
      /answers, but not as this page expects[^]*Why\.[^]*418 teapot/,
    ],
    ['a proxy without a backend', { status: 502, ...html }, /The station does not answer[^]*restarting/],
    ['a backend that stops', { status: 503, ...json('shutting_down') }, /The station does not answer[^]*restarting/],
  ];
  for (const [what, answer, expected] of answers) {
    test(`tells ${what} as what it is`, async () => {
      const page = await open('station.local', (context) =>
        context.route('**/api/**', (route) => route.fulfill(answer)),
      );
      await textOn(page, /The station (answers|does not answer)/);
      assert.match(await words(page), expected);
      await page.context().close();
    });
  }

  test('says to a browser that is too old that it is', async () => {
    const page = await open('station.local', (context) =>
      context.addInitScript(() => {
        Object.defineProperty(AbortSignal, 'any', { value: undefined });
      }),
    );
    await textOn(page, 'This browser is too old');
    assert.match(await words(page), /Chrome or Edge 116/);
    await page.context().close();
  });
});
