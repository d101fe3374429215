import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  chooseInPart,
  createOwner,
  goBySettings,
  look,
  openBrowser,
  openPerson,
  type Person,
  textOn,
  timeoutMs,
} from './browser.ts';
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
  const picker = (name: string) => part(name).getByRole('combobox', { name: 'Device, zone or other' }).first();
  const choose = (...chosen: [part: string, subject: string, what?: string]) => chooseInPart(page, ...chosen);
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
    await createOwner(page, { ...owner, setupCode: station.setupCode });
    await see(/devices online/);
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
    await choose('Trigger 1', 'Ceiling lamp', 'is turned on');
    await press('Save and turn on');
    await see('Choose something here.');
    assert.equal(
      await page.evaluate(`document.activeElement.closest('fieldset').querySelector('legend').textContent`),
      'Step 1',
    );
    await choose('Step 1', 'Desk lamp', 'turn off');
    await press('Add step');
    await choose('Step 2', 'Wait');
    await part('Step 2').getByLabel('Unit').selectOption({ label: 'seconds' });
    await part('Step 2').getByLabel('How long').fill('2');
    await press('Add step');
    await choose('Step 3', 'Desk lamp', 'turn on');
    // The wrong way round: the first becomes the last.
    await press('Move down: Step 1');
    await press('Move down: Step 2');
    await press('Move down: Step 1');
    await reads('When Ceiling lamp is turned on → turn on Desk lamp, wait 2 s, turn off Desk lamp');
    await look(page, '41-in-words');
    await page.getByLabel('Name', { exact: true }).fill('Both lamps');
    await press('Save and turn on');
    await headlineIs('Both lamps');
    await see(/^On$/);
    await reads(sentence);
    await see('It has not run yet.');
  });

  it('I turn on the one lamp, and the station turns on the other automatically, and off again', async () => {
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

  it('I start it manually, and watch it wait and end', async () => {
    const before = await runs().count();
    await press('Run now');
    await see('Started. It appears below.');
    await runs().first().getByText('Started manually').waitFor();
    await runs()
      .first()
      .getByText(/waiting until|· done/)
      .first()
      .waitFor();
    await runs().first().getByText('Done', { exact: true }).waitFor();
    assert.ok((await runs().count()) > before);
    await look(page, '43-automation');
  });

  it('I add a time of day; until I publish it, the previous version runs', async () => {
    await page.getByRole('link', { name: 'Edit' }).click();
    await headlineIs('Edit Both lamps');
    await press('Add condition');
    await choose('Condition 1', 'A time of day');
    // Twelve hours from now on this machine's clock, which the station uses too.
    const soon = (hours: number): string =>
      new Date(Date.now() + hours * 3_600_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
    await part('Condition 1').getByRole('group', { name: 'From' }).getByLabel('Time').fill(soon(11));
    await part('Condition 1').getByRole('group', { name: 'To' }).getByLabel('Time').fill(soon(12));
    await press('Save without applying');
    await headlineIs('Both lamps');
    await see('Has changes that are not applied');
    await reads(`Currently active: ${sentence}`);
    await press('Apply changes');
    await page.getByText('Has changes that are not applied').first().waitFor({ state: 'detached' });
    await press('Run now');
    await runs().first().getByText('Nothing to do').waitFor();
    await runs().first().getByText('Its conditions were not met, so nothing was done.').waitFor();
  });

  it('I choose its device with the keyboard alone', async () => {
    await go('Automations');
    await page.getByRole('link', { name: 'New automation' }).click();
    await headlineIs('New automation');
    await picker('Trigger 1').focus();
    await page.keyboard.type('desk');
    await page.getByRole('option', { name: 'Desk lamp' }).waitFor();
    await look(page, '43a-picker');
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('listbox').count(), 0);
    assert.equal(await picker('Trigger 1').inputValue(), 'Choose…');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const active = await picker('Trigger 1').getAttribute('aria-activedescendant');
    assert.equal(await page.locator(`[id="${active}"]`).innerText(), 'Sunrise or sunset');
    await page.keyboard.press('Enter');
    await see(/^The station does not know where it is\./);
    // Nothing is lost when the page is left: the draft waits, also over a reload.
    await page.getByRole('link', { name: 'Set its place in Settings' }).click();
    await headlineIs('Home and zones');
    await page.reload();
    await go('Automations');
    await see('You began an automation that is not saved.');
    await look(page, '43a-unsaved');
    await page.getByRole('link', { name: 'Continue editing' }).click();
    await see('These changes are not saved yet.');
    assert.equal(await picker('Trigger 1').inputValue(), 'Sunrise or sunset');
    await press('Discard changes');
    await page.getByText('These changes are not saved yet.').waitFor({ state: 'detached' });
    assert.equal(await picker('Trigger 1').inputValue(), 'Choose…');
    await go('Automations');
    await page.getByRole('link', { name: 'New automation' }).waitFor();
    assert.equal(await page.getByText('You began an automation that is not saved.').count(), 0);
    await goBySettings(page, 'Home and zones');
    await headlineIs('Home and zones');
  });

  it('I tell the station where it is, by a city nearby', async () => {
    const card = page.getByRole('region', { name: 'Where the station is' });
    const latitude = card.getByLabel('Latitude');
    await latitude.fill('north');
    await latitude.press('Enter');
    await latitude.and(page.locator(':focus[aria-invalid]')).waitFor();
    const city = card.getByRole('combobox', { name: 'City nearby' });
    await city.fill('kyiv');
    await card.getByRole('option', { name: 'Kyiv' }).click();
    assert.equal(await latitude.inputValue(), '50.43');
    assert.equal(await latitude.getAttribute('aria-invalid'), null, 'the fault goes with its cause');
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Saved.').waitFor();
    await latitude.fill('50,4512');
    assert.equal(await card.getByText('Saved.').count(), 0, 'what is typed now is not saved');
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Saved.').waitFor();
    await card.locator('input[name=latitude][value="50.45"]').waitFor();
    assert.equal(await latitude.inputValue(), '50.45', 'about a kilometre is kept');
    await look(page, '43b-place');
  });

  it('sunset, a zone, a wait and what is done otherwise: I test it, and nothing is switched', async () => {
    await makeZone(station.url, 'Study', ['Desk lamp', 'Ceiling lamp']);
    await page.reload();
    await go('Home');
    await turn('Ceiling lamp', true);
    await turn('Desk lamp', false);
    await go('Automations');
    await page.getByRole('link', { name: 'New automation' }).click();
    await choose('Trigger 1', 'Sunrise or sunset');
    await part('Trigger 1').getByRole('combobox', { name: 'Sunrise or sunset' }).last().selectOption('before sunset');
    await press('Add condition');
    await choose('Condition 1', 'Desk lamp', 'is on');
    await choose('Step 1', 'Study', 'turn off');
    await press('Add step to “Otherwise”');
    await choose('Otherwise, step 1', 'Desk lamp', 'turn on');
    await press('Add step to “Otherwise”');
    await choose('Otherwise, step 2', 'Wait until …');
    const until = part('Otherwise, step 2').getByRole('group', { name: 'Until' });
    await until.getByRole('combobox', { name: 'Device, zone or other' }).fill('Ceiling');
    await until.getByRole('option').first().click();
    await until.getByLabel('What', { exact: true }).selectOption({ label: 'is off' });
    await press('Add step to “Otherwise”');
    await choose('Otherwise, step 3', 'Study', 'turn off');
    await reads(
      'When it is 30 min before sunset, every day: if Desk lamp is on → turn off everything in Study; otherwise → turn on Desk lamp, wait until Ceiling lamp is off (stop after 10 min), turn off everything in Study',
    );
    await look(page, '43c-otherwise');
    await press('Test');
    const trace = page.getByRole('dialog', { name: 'If it ran now' });
    await trace.getByText(/not met \(it was off\)/).waitFor();
    await trace.getByText(/not met yet: it would wait \(it was on\)/).waitFor();
    assert.equal(await trace.getByRole('listitem').count(), 4);
    await look(page, '43d-test');
    await trace.getByRole('switch', { name: 'Ignore conditions' }).click();
    await trace.getByText(/not met, and ignored \(it was off\)/).waitFor();
    assert.equal(await trace.getByRole('listitem').count(), 2, 'the way of a condition that is met');
    await trace.getByRole('button', { name: 'Close' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Dusk');
    await press('Save and turn on');
    await headlineIs('Dusk');
    await go('Home');
    assert.equal(await theSwitch('Desk lamp').getAttribute('aria-checked'), 'false', 'a test switches nothing');
  });

  it('it runs, waits until I turn off the lamp, and the record shows what each step saw', async () => {
    await go('Automations');
    await page.getByRole('link', { name: 'Dusk' }).click();
    await press('Run now');
    await runs()
      .first()
      .getByText(/waiting, until .+ at the latest \(it was on\)/)
      .waitFor();
    await go('Home');
    await is('Desk lamp', true);
    await turn('Ceiling lamp', false);
    await is('Desk lamp', false);
    await go('Automations');
    await page.getByRole('link', { name: 'Dusk' }).click();
    await runs().first().getByText('Done', { exact: true }).waitFor();
    await runs().first().getByText('Steps').click();
    for (const step of ['Condition not met (it was off)', 'Condition met (it was off)', 'done (2 of 2 devices)'])
      await reads(step);
    await look(page, '43e-record');
  });

  it('I run it without its conditions, and the record says so', async () => {
    const before = await runs().count();
    await page.getByRole('switch', { name: 'Ignore conditions' }).click();
    await press('Run now');
    await runs().nth(before).waitFor({ state: 'attached' });
    await runs().first().getByText('Done', { exact: true }).waitFor();
    await runs().first().getByText('Steps').click();
    await runs().first().getByText('Condition not met, and ignored (it was off)').waitFor();
  });

  it('an address of an automation that cannot exist says that it is not there', async () => {
    const shown = new URL(page.url()).pathname;
    await page.goto('/automations/no-such-one');
    await headlineIs('It is no longer here');
    await page.goto(shown);
  });

  it('I duplicate it, and change the copy', async () => {
    await press('Duplicate');
    await headlineIs('Edit Dusk (copy)');
    assert.equal(await picker('Otherwise, step 3').inputValue(), 'Study');
    await press('Remove: Otherwise, step 3');
    await press('Save without turning on');
    await headlineIs('Dusk (copy)');
    await see(/^Off$/);
  });

  it('a zone is deleted: list, home and editor say so, and the editor takes another', async () => {
    await go('Home');
    await goBySettings(page, 'Home and zones');
    await press('Change zone Study');
    await press('Remove zone');
    const asked = page.getByRole('dialog', { name: 'Remove the zone Study?' });
    await asked.getByText('These automations will stop working:').waitFor();
    await asked.getByText('Dusk', { exact: true }).waitFor();
    await asked.getByRole('button', { name: 'Remove zone' }).click();
    await asked.waitFor({ state: 'detached' });
    await go('Home');
    await turn('Ceiling lamp', true);
    await page.getByText('An automation no longer works').first().waitFor();
    await look(page, '43f-broken-home');
    await go('Automations');
    await see('It no longer works, for example because a device was removed. Edit it.');
    await page.getByRole('link', { name: 'Dusk', exact: true }).click();
    await see('A zone in it was removed.');
    await page.getByRole('link', { name: 'Edit' }).click();
    await headlineIs('Edit Dusk');
    await part('Step 1').getByText('This zone is gone. Choose another one.').waitFor();
    assert.equal(await picker('Step 1').inputValue(), 'a removed zone');
    await look(page, '43g-broken-editor');
    await choose('Step 1', 'Desk lamp');
    assert.equal(
      await part('Step 1').getByLabel('What', { exact: true }).inputValue(),
      'command turn_off ',
      'another device does the same',
    );
    await press('Remove: Otherwise, step 3');
    await press('Save and turn on');
    await headlineIs('Dusk');
    await go('Home');
    await page.getByText('An automation no longer works').first().waitFor({ state: 'detached' });
  });

  it('one that was drawn elsewhere is shown path by path, and cannot be edited', async () => {
    await makeFork(station.url);
    await go('Automations');
    await page.getByRole('link', { name: 'Drawn elsewhere' }).click();
    await headlineIs('Drawn elsewhere');
    await see(/^Created elsewhere, with several branches/);
    await reads(
      'When it is 21:30, every day → if Ceiling lamp is on → add “Still bright” to the activity → turn on Ceiling lamp',
    );
    await reads('When it is 21:30, every day → if not: Ceiling lamp is on → turn on Ceiling lamp');
    assert.equal(await page.getByRole('link', { name: 'Edit' }).count(), 0);
    await press('Turn on');
    await see(/^On$/);
    await look(page, '44-made-elsewhere');
  });

  it('its messages are in the activity, with a link to it', async () => {
    await press('Run now');
    await runs().first().getByText('Done', { exact: true }).waitFor();
    await go('Activity');
    await see('Still bright');
    await page.getByRole('link', { name: 'Drawn elsewhere' }).click();
    await headlineIs('Drawn elsewhere');
  });

  it('I turn it off and delete it, after having been asked each time', async () => {
    await press('Turn off');
    const back = page.getByRole('dialog', { name: 'Turn off Drawn elsewhere?' });
    await back.getByRole('button', { name: 'Turn off' }).click();
    await see(/^Off$/);
    await press('Delete');
    await page.getByRole('dialog', { name: 'Delete Drawn elsewhere?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await headlineIs('Automations');
    await page.getByRole('link', { name: 'Both lamps' }).waitFor();
    const deleted = page.getByRole('link', { name: 'Drawn elsewhere' });
    assert.equal(await deleted.count(), 0);
    await press('Undo');
    await deleted.click();
    await headlineIs('Drawn elsewhere');
    await see(/^Off$/);
    await press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await headlineIs('Automations');
    await deleted.waitFor({ state: 'detached' });
  });

  it('I read it all in Ukrainian', async () => {
    await goBySettings(page, 'Account');
    await page.getByText('Українська').click();
    await page.getByRole('heading', { level: 2, name: 'Мова' }).waitFor();
    await go('Автоматизації');
    await headlineIs('Автоматизації');
    await reads('Коли «Ceiling lamp» вмикається, лише якщо зараз між');
    await reads('→ увімкнути «Desk lamp», зачекати 2 с, вимкнути «Desk lamp»');
    await look(page, '45-automations-uk');
  });

  it('the browser reported no fault', () => {
    assert.deepEqual(olena.complaints, []);
  });
});

type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** Requests of the owner, beside the browser. */
async function callerAt(url: string): Promise<Call> {
  const call = async <T>(token: string | null, method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
  const { email, password } = owner;
  const { accessToken } = await call<{ accessToken: string }>(null, 'POST', '/api/auth/login', { email, password });
  return (method, path, body) => call(accessToken, method, path, body);
}

type Named = { id: string; name: string };

async function makeZone(url: string, name: string, deviceNames: readonly string[]): Promise<void> {
  const call = await callerAt(url);
  const { id: zoneId } = await call<Named>('POST', '/api/zones', { name });
  for (const device of await call<Named[]>('GET', '/api/devices')) {
    if (deviceNames.includes(device.name)) await call('PATCH', `/api/devices/${device.id}`, { zoneId });
  }
}

/** An automation with a fork, as another program might make it. */
async function makeFork(url: string): Promise<void> {
  const call = await callerAt(url);
  const devices = await call<Named[]>('GET', '/api/devices');
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
  // The second action follows from both: this cannot be said as one sentence.
  const edges = [
    { id: '1', source: 't', target: 'c' },
    { id: '2', source: 'c', target: 'a' },
    { id: '3', source: 'c', target: 'b', sourceHandle: 'false' },
    { id: '4', source: 'a', target: 'b' },
  ];
  await call('POST', '/api/automations', { name: 'Drawn elsewhere', flow: { nodes, edges } });
}
