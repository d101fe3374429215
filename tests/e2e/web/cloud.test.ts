import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { findFreePort } from '@station/kit/free-port';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { createReconnect } from '../../../apps/backend/src/cloud/link-decide.ts';
import { owner, runBackend, type RunningBackend } from '../../../apps/backend/testing/running-backend.ts';
import { addDevice, connectDevice, type TestDevice } from '../../../apps/backend/testing/test-device.ts';
import { startReferenceCloud, type ReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';
import { needPackages } from '../../rig/debian.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import { goBySettings, logIn, look, openBrowser, openPerson, type Person, textOn, timeoutMs } from './browser.ts';
import { readQrCode } from './qr-reader.ts';

const root = join(import.meta.dirname, '../../..');

/** From the first code to the end of remote access; each journey continues from the previous one. */
describe('remote access in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let cloud: ReferenceCloud;
  let station: RunningBackend;
  let lamp: TestDevice;
  let lampId = '';
  let token = '';
  let browser: Browser;
  let olena: Person;
  let page: Page;

  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
  const go = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const see = (text: string | RegExp, on: Page = page) => textOn(on, text);
  const card = (name: string) => page.getByRole('region', { name, exact: true });
  const seeIn = (name: string, text: string | RegExp) => textOn(card(name), text);
  const shownCode = async (): Promise<{ chipId: string; claimSecret: string }> => {
    const uri = await page.getByRole('link', { name: /^Open / }).getAttribute('href');
    assert.ok(uri !== null);
    const given = new URLSearchParams(new URL(uri).hash.slice(1));
    return { chipId: given.get('chipId') ?? '', claimSecret: given.get('claimSecret') ?? '' };
  };
  const nameOfCloud = (): string => `127.0.0.1:${cloud.port}`;

  before(async () => {
    await needPackages(['chromium']);
    if (await isWebStale(root)) {
      const path = process.env['PATH'] ?? '';
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    }
    // It comes back on the same one.
    cloud = await startReferenceCloud({ port: await findFreePort() });
    day.defer(() => cloud[Symbol.asyncDispose]());
    const env = { CLOUD_HOST: cloud.host, WEB_DIR: join(root, 'dist/web') };
    // The real waits, with the luck that makes them shortest.
    station = day.use(await runBackend({ env, cloudTuning: { reconnect: createReconnect(() => 0) } }));
    await station.setUp();
    const login = await addDevice(station.backend.db, 'Hall lamp', 'light');
    lampId = login.id;
    lamp = day.use(await connectDevice(station.backend.mqttAddress ?? '', login));
    await lamp.publish('heartbeat', { status: 'online' });
    browser = day.use(await openBrowser());
    olena = day.use(await openPerson(browser, station.backend.url, 'en-GB'));
    page = olena.page;
    await logIn(page, owner);
  });
  after(() => day.disposeAsync());

  it('I see how to get remote access, and a camera reads the code', async () => {
    await goBySettings(page, 'Remote access');
    await see('Ready to be connected');
    await see(`Waiting for you to confirm at ${nameOfCloud()}`);
    const { chipId, claimSecret } = await shownCode();
    const shown = JSON.stringify({ chipId, claimSecret });
    const code = page.getByRole('img', { name: /^QR code/ });
    assert.equal(await readQrCode(page, code), shown);
    const byHand = (await card('Connect this station').innerText()).replaceAll(/\s/g, '');
    assert.ok(byHand.includes(chipId) && byHand.includes(claimSecret), byHand);
    await look(page, '80-cloud-unclaimed');
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await readQrCode(page, code), shown, 'in the dark as well');
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it('somebody has seen the code: I make a new one, and the old one is invalid', async () => {
    const old = await shownCode();
    await press('Create a new code');
    await page.getByRole('dialog').getByRole('button', { name: 'Create a new code' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await waitFor('another code', async () => (await shownCode()).claimSecret !== old.claimSecret, timeoutMs);
    const { claimSecret } = await shownCode();
    const waitsWithNew = () => cloud.waiting().every((one) => one.claimSecret === claimSecret) && cloud.waiting()[0];
    await waitFor('the station to wait with it alone', waitsWithNew, timeoutMs);
    assert.equal(cloud.claim(old.chipId, old.claimSecret), null);
  });

  it('I confirm at the cloud, and the page is connected without my doing anything', async () => {
    const { chipId, claimSecret } = await shownCode();
    const given = await waitFor('the cloud to take it', () => cloud.claim(chipId, claimSecret), timeoutMs);
    token = given;
    await see(`Connected to ${nameOfCloud()}`);
    await seeIn('Waiting for the cloud', 'Nothing is waiting. The cloud has received everything.');
    await seeIn('Cloud requests', 'No requests since the station started.');
  });

  it('I see what the cloud asked, whom it knows, and what it wants to hear', async () => {
    const link = await cloud.connection();
    await link.call('device.command', { deviceId: lampId, command: { action: 'turn_on' } });
    await assert.rejects(link.call('device.command', { deviceId: 'gone', command: { action: 'reboot' } }));
    await link.call('devices.snapshot');
    await link.call('devices.snapshot');
    const member = { cloudUserId: 'maria', email: 'maria@example.org', name: 'Maria', role: 'member' };
    link.send({ type: 'member_added', member });
    await link.call('station.setActiveChannels', { channels: ['status', 'events', 'system'] });
    await seeIn('Cloud requests', '“turn_on” to Hall lamp');
    await seeIn('Cloud requests', /2 times/);
    await seeIn('Cloud requests', 'Added a member');
    const person = card('People').getByRole('listitem').filter({ hasText: 'Maria' });
    await person.getByText('Known to the cloud').waitFor({ timeout: timeoutMs });
    await card('Shared with the cloud').getByText('not shared').nth(4).waitFor({ timeout: timeoutMs });
    await look(page, '81-cloud-connected');
  });

  it('the cloud is away: the page says so, and I see what waits for it', async () => {
    await cloud[Symbol.asyncDispose]();
    await see(`${nameOfCloud()} cannot be reached right now`);
    for (let n = 0; n < 3; n += 1)
      await lamp.publish('event', { event: 'device_event', data: { action: 'pressed', n } });
    await seeIn('Link', 'Not connected');
    await seeIn('Waiting for the cloud', '3 messages');
    await look(page, '82-cloud-away');
  });

  it('the cloud is back: everything arrives, and what it would not take I send again', async () => {
    const content = JSON.stringify({ id: 'kept', method: 'station.event', event: 'x', data: {}, at: '2026-11-21' });
    const reason = 'The cloud closed the link with code 1008 each time it got it.';
    const row = { seq: 1_000_000, channel: 'system', content, reason, at: Date.now() };
    await station.backend.db.insertInto('cloud_dead_letters').values(row).execute();
    cloud = await startReferenceCloud({ port: cloud.port });
    cloud.restore(token);
    await see(`Connected to ${nameOfCloud()}, 1 thing needs attention`);
    const events = () => cloud.received.filter(({ method }) => method === 'device.event');
    await waitFor('the events', () => events().length === 3, timeoutMs);
    await seeIn('Waiting for the cloud', '1 rejected message');
    await press('Show them');
    await seeIn('Waiting for the cloud', reason);
    await look(page, '83-cloud-dead-letters');
    await press('Send again');
    await seeIn('Waiting for the cloud', '1 message will be sent again.');
    await waitFor('it to arrive', () => cloud.received.some(({ params }) => params['id'] === 'kept'), timeoutMs);
    // Nothing else is shown.
    await page.getByText(`Connected to ${nameOfCloud()}`, { exact: true }).waitFor({ timeout: timeoutMs });
  });

  it('the cloud refuses the station: home says so, and I disconnect with the keyboard alone', async () => {
    cloud.revoke(token);
    (await cloud.connection()).close(1012, 'restarting');
    await go('Home');
    // The other one: this station has no agent.
    await page.getByText('2 things need attention').click();
    await page.getByRole('link', { name: /The cloud does not accept this station/ }).click();
    await seeIn('Link', 'Rejected');
    await look(page, '84-cloud-rejected');
    await page.getByRole('button', { name: 'Disconnect from the cloud' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `Disconnect from ${nameOfCloud()}?` });
    await dialog.waitFor();
    await look(page, '85-cloud-leave');
    await dialog.getByRole('button', { name: 'Disconnect', exact: true }).focus();
    await page.keyboard.press('Enter');
    await see('Ready to be connected');
    const waitsWithShown = async (): Promise<boolean> => {
      const { claimSecret } = await shownCode();
      return cloud.waiting().some((one) => one.claimSecret === claimSecret);
    };
    await waitFor('the station to wait again, with the code that is shown', waitsWithShown, timeoutMs);
    assert.deepEqual(olena.complaints, []);
  });

  it('Тарас бачить хмару українською, але під’єднати станцію не може', async () => {
    const taras = { email: 'taras@example.org', password: 'a password of his own', name: 'Taras', role: 'member' };
    const { email, password } = owner;
    const login = await station.http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
    const headers = { authorization: `Bearer ${login.json<{ accessToken: string }>().accessToken}` };
    await station.http.inject({ method: 'POST', url: '/api/station/members', headers, payload: taras });
    await using person = await openPerson(browser, station.backend.url, 'uk-UA');
    await person.page.goto('/settings/remote');
    await person.page.locator('input[name=email]').fill(taras.email);
    await person.page.locator('input[name=password]').fill(taras.password);
    await person.page.keyboard.press('Enter');
    await see('Під’єднати станцію може лише власник.', person.page);
    assert.equal(await person.page.getByRole('img', { name: /QR/ }).count(), 0);
    assert.equal(await person.page.getByText(/claimSecret/).count(), 0);
    await look(person.page, '86-cloud-member-uk');
    assert.deepEqual(person.complaints, []);
  });
});
