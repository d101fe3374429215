import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { startFleet } from '@station/simulators/devices/fleet';
import { needPackages } from '../../rig/debian.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import { look, openBrowser, openPerson, timeoutMs, recordChanges } from '../web/browser.ts';
import { install, owner, stationId, type Installation } from './installation.ts';

const root = join(import.meta.dirname, '../../..');
const devices = 20;
/** The number of tiles, and whether any text on the page is "offline". */
const tilesNow = `document.querySelectorAll('main li').length + ' ' + /offline/i.test(document.body?.innerText)`;

/** Switches a lamp over REST and waits until the page shows it, which proves that the page is connected. */
async function assertPageIsLive(page: Page, station: Installation): Promise<void> {
  const lamp = station.logins[3];
  const rows = await station.query<{ id: string; external_id: string }>('select id, external_id from devices');
  const { id } = rows.find((row) => row.external_id === lamp?.externalId) ?? {};
  const isOn = async (): Promise<string | null> =>
    page.getByRole('switch', { name: lamp?.name ?? '', exact: true }).getAttribute('aria-checked');
  const power = (await isOn()) !== 'true';
  const answer = await fetch(`${station.url}/api/devices/${id}/command`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await station.logIn()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ action: power ? 'turn_on' : 'turn_off' }),
  });
  assert.equal(answer.status, 202);
  await waitFor('the lamp to be switched in the browser', async () => (await isOn()) === String(power), timeoutMs);
}

test('a browser keeps its tiles through restarts of backend and broker, shows none as offline, and reconnects', async () => {
  await needPackages(['chromium']);
  if (await isWebStale(root)) {
    const path = process.env['PATH'] ?? '';
    await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
  }
  const env = { WEB_DIR: join(root, 'dist/web') };
  await using station = await install('Mosquitto and PostgreSQL', { devices, env });
  await station.startBackend();
  await using fleet = startFleet({ url: station.mqttUrl, stationId, logins: station.logins, heartbeatMs: 2_000 });
  await waitFor('all handshakes to be accepted', () => fleet.acceptedCount() === devices, timeoutMs);
  await station.logIn();

  await using browser = await openBrowser();
  await using person = await openPerson(browser, station.url, 'en-GB');
  const { page } = person;
  await page.goto('/');
  await page.getByLabel('E-mail').fill(owner.email);
  await page.getByLabel('Password', { exact: true }).fill(owner.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  const tiles = page.locator('main li');
  await waitFor('all tiles', async () => (await tiles.count()) === devices, timeoutMs);
  const lost = page.getByText('Connection lost', { exact: true });
  const recording = await recordChanges(page, tilesNow);
  await page.reload();
  await waitFor('all tiles', async () => (await tiles.count()) === devices, timeoutMs);
  // The backend has no agent, so the status fails, and is read once more with the first message.
  await page.waitForTimeout(2_000);

  await station.stopBackend('SIGTERM');
  await lost.waitFor();
  await look(page, '60-backend-offline');
  await station.startBackend();
  await lost.waitFor({ state: 'detached' });
  await assertPageIsLive(page, station);

  await station.stopBackend('SIGKILL');
  await lost.waitFor();
  await station.startBackend();
  await lost.waitFor({ state: 'detached' });
  await assertPageIsLive(page, station);

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await station.mosquitto?.stop(signal);
    await waitFor('all devices to be disconnected', () => fleet.acceptedCount() === 0, timeoutMs);
    await station.mosquitto?.start();
    await waitFor('all devices to be connected again', () => fleet.acceptedCount() === devices, timeoutMs);
    await assertPageIsLive(page, station);
  }
  await look(page, '61-after-restarts');
  assert.deepEqual(await recording.stop(), ['0 false', `${devices} false`]);
  assert.deepEqual(person.complaints, []);
});
