import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { look, openBrowser, openPerson, timeoutMs, textOn, type Person } from './browser.ts';
import { startRunningStation, type RunningStation } from './running-station.ts';

const owner = { name: 'Olena Kovalenko', email: 'olena@example.org', password: 'correct horse battery' };
const sentence = 'When Ceiling lamp is turned on → turn on Desk lamp, wait 2 s, turn off Desk lamp';

/** A day on which the station learns to do things automatically, with devices that really do them. */
describe('automations in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let station: RunningStation;
  let browser: Browser;
  let olena: Person;
  let page: Page;

  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  const see = (text: string | RegExp) => textOn(page, text);
  const headlineIs = (name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name }).waitFor({ timeout: timeoutMs });
  const part = (name: string) => page.getByRole('group', { name, exact: true });
  const choose = async (name: string, subject: string, what?: string): Promise<void> => {
    await part(name).getByLabel('Which device').selectOption({ label: subject });
    if (what !== undefined) await part(name).getByLabel('What', { exact: true }).selectOption({ label: what });
  };
  /** The page joins words and arrows with non-breaking spaces. */
  const words = async (): Promise<string> => (await page.getByRole('main').innerText()).replaceAll('\u00a0', ' ');
  const reads = async (text: string): Promise<void> =>
    assert.ok((await words()).includes(text), `${text}\n${await words()}`);
  const runs = () => page.getByRole('region', { name: 'Runs' }).getByRole('listitem');
  const theSwitch = (name: string) => page.getByRole('switch', { name, exact: true });

  /** Not what this page hopes for, but what the lamp has confirmed. */
  const is = (name: string, on: boolean): Promise<void> =>
    page.getByRole('switch', { name, exact: true, checked: on }).and(page.locator(':not([aria-busy])')).waitFor();

  /** Switches a lamp at home, and waits until the lamp confirms it. */
  const turn = async (name: string, on: boolean): Promise<void> => {
    await theSwitch(name).waitFor();
    if ((await theSwitch(name).getAttribute('aria-checked')) === String(on)) return;
    await theSwitch(name).click();
    await is(name, on);
  };

  before(async () => {
    station = day.use(await startRunningStation());
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.url, 'en-GB'));
    page = olena.page;
    await page.goto('/');
    for (const [label, text] of [
      ['Set-up code', station.setupCode],
      ['Your name', owner.name],
      ['E-mail', owner.email],
    ] as const) {
      await page.getByLabel(label).fill(text);
    }
    await page.getByLabel('Password', { exact: true }).fill(owner.password);
    await press('Create account');
    await headlineIs(/devices online/);
  });
  after(() => day.disposeAsync());

  it('there is nothing yet, and I am told what I could say', async () => {
    await go('Automations');
    await see('No automations yet');
    await look(page, '40-automations-empty');
    await page.getByRole('link', { name: 'New automation' }).click();
    await headlineIs('New automation');
  });

  it('I say in words what should happen; what is missing is marked, and the cursor goes there', async () => {
    await choose('Start 1', 'Ceiling lamp', 'is turned on');
    await press('Save and switch on');
    await see('Choose something here.');
    assert.equal(
      await page.evaluate(`document.activeElement.closest('fieldset').querySelector('legend').textContent`),
      'Step 1',
    );
    await choose('Step 1', 'Desk lamp', 'turn off');
    await press('Add a step');
    await choose('Step 2', 'Wait');
    await part('Step 2').getByLabel('Unit').selectOption({ label: 'seconds' });
    await part('Step 2').getByLabel('How long').fill('2');
    await press('Add a step');
    await choose('Step 3', 'Desk lamp', 'turn on');
    // The wrong way round: the first becomes the last.
    await press('Move step 1 down');
    await press('Move step 2 down');
    await press('Move step 1 down');
    await reads('When Ceiling lamp is turned on → turn on Desk lamp, wait 2 s, turn off Desk lamp');
    await look(page, '41-in-words');
    await page.getByLabel('Name', { exact: true }).fill('Both lamps');
    await press('Save and switch on');
    await headlineIs('Both lamps');
    await see(/^On$/);
    await reads(sentence);
    await see('It has not run yet.');
  });

  it('I turn on the one lamp, and the station turns on the other by itself, and off again', async () => {
    await go('Home');
    await turn('Desk lamp', false);
    await turn('Ceiling lamp', false);
    await turn('Ceiling lamp', true);
    await is('Desk lamp', true);
    await is('Desk lamp', false);
    await go('Automations');
    await see(/^Done\s·\sa moment ago/);
    await look(page, '42-automations');
    await page.getByRole('link', { name: 'Both lamps' }).click();
    await runs().first().getByText('Started by a value of Ceiling lamp').waitFor();
    await runs().first().getByText('Steps').click();
    for (const step of ['Turn on Desk lamp', 'Wait 2 s', 'Turn off Desk lamp']) await reads(step);
  });

  it('I start it by hand, and watch it wait and end', async () => {
    const before = await runs().count();
    await press('Run now');
    await see('Started. It appears below.');
    await runs().first().getByText('Started by hand').waitFor();
    await runs()
      .first()
      .getByText(/waiting until|· done/)
      .first()
      .waitFor();
    await runs().first().getByText('Done', { exact: true }).waitFor();
    assert.ok((await runs().count()) > before);
    await look(page, '43-automation');
  });

  it('I make it mind the time of day; until I switch that on, the words before count', async () => {
    await page.getByRole('link', { name: 'Edit' }).click();
    await headlineIs('Edit Both lamps');
    await press('Add a condition');
    await choose('Condition 1', 'A time of day');
    // Twelve hours from now on this machine's clock, which the station uses too.
    const soon = (hours: number): string =>
      new Date(Date.now() + hours * 3_600_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
    await part('Condition 1').getByLabel('From').fill(soon(11));
    await part('Condition 1').getByLabel('To').fill(soon(12));
    await press('Save without switching on');
    await headlineIs('Both lamps');
    await see('Edited since it was switched on');
    await reads(`In effect now: ${sentence}`);
    await press('Put the changes into effect');
    await page.getByText('Edited since it was switched on').first().waitFor({ state: 'detached' });
    await press('Run now');
    await runs().first().getByText('Nothing to do').waitFor();
    await runs().first().getByText('Its conditions were not met, so nothing was done.').waitFor();
  });

  it('one that someone drew elsewhere is told way by way, and not offered for change', async () => {
    await makeFork(station.url);
    await go('Automations');
    await page.getByRole('link', { name: 'Drawn elsewhere' }).click();
    await headlineIs('Drawn elsewhere');
    await see(/^Made elsewhere, with more than one way through it/);
    await reads('When it is 21:30, every day → if Ceiling lamp is on → write “Still bright” into the activity');
    await reads('When it is 21:30, every day → if not: Ceiling lamp is on → turn on Ceiling lamp');
    assert.equal(await page.getByRole('link', { name: 'Edit' }).count(), 0);
    await press('Switch on');
    await see(/^On$/);
    await look(page, '44-made-elsewhere');
  });

  it('what it has to say stands in the activity, and leads back to it', async () => {
    await press('Run now');
    await runs().first().getByText('Done', { exact: true }).waitFor();
    await go('Activity');
    await see('Still bright');
    await page.getByRole('link', { name: 'Drawn elsewhere' }).click();
    await headlineIs('Drawn elsewhere');
  });

  it('I take it back to a draft and delete it, after having been asked each time', async () => {
    await press('Back to draft');
    const back = page.getByRole('dialog', { name: 'Take Drawn elsewhere back to a draft?' });
    await back.getByRole('button', { name: 'Back to draft' }).click();
    await see(/^Draft$/);
    await press('Delete');
    await page.getByRole('dialog', { name: 'Delete Drawn elsewhere?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await headlineIs('Automations');
    await page.getByRole('link', { name: 'Both lamps' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Drawn elsewhere' }).count(), 0);
  });

  it('I read it all in Ukrainian', async () => {
    await go('Account');
    await page.getByText('Українська').click();
    await page.getByRole('heading', { level: 2, name: 'Мова' }).waitFor();
    await go('Сценарії');
    await headlineIs('Сценарії');
    await reads('Коли «Ceiling lamp» вмикається, лише якщо зараз між');
    await reads('→ увімкнути «Desk lamp», зачекати 2 с, вимкнути «Desk lamp»');
    await look(page, '45-automations-uk');
  });

  it('all day long, the browser had nothing to complain about', () => {
    assert.deepEqual(olena.complaints, []);
  });
});

/** An automation with a fork, as another program might make it. */
async function makeFork(url: string): Promise<void> {
  const post = async (path: string, body: unknown, token?: string): Promise<{ accessToken?: string; id?: string }> => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { accessToken?: string; id?: string };
  };
  const { accessToken: token = '' } = await post('/api/auth/login', { email: owner.email, password: owner.password });
  const list = await fetch(`${url}/api/devices`, { headers: { authorization: `Bearer ${token}` } });
  const devices = (await list.json()) as { id: string; name: string }[];
  const deviceId = devices.find(({ name }) => name === 'Ceiling lamp')?.id;
  const nodes = [
    { id: 't', type: 'trigger', data: { kind: 'schedule', config: { time: '21:30' } } },
    {
      id: 'c',
      type: 'condition',
      data: { kind: 'state_equals', config: { deviceId, capability: 'on', value: true } },
    },
    { id: 'a', type: 'action', data: { kind: 'notify', config: { message: 'Still bright' } } },
    {
      id: 'b',
      type: 'action',
      data: { kind: 'device_command', config: { deviceId, action: 'turn_on' } },
    },
  ];
  const edges = [
    { id: '1', source: 't', target: 'c' },
    { id: '2', source: 'c', target: 'a' },
    { id: '3', source: 'c', target: 'b', sourceHandle: 'false' },
  ];
  await post('/api/automations', { name: 'Drawn elsewhere', flow: { nodes, edges } }, token);
}
