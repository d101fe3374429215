import assert from 'node:assert/strict';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import type { Browser, Page } from 'playwright-core';
import { systemEnv } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { superviseBackend, type Supervised } from '../cloud/supervised.ts';
import { look, openBrowser, openPerson, textOn, timeoutMs } from './browser.ts';

const root = join(import.meta.dirname, '../../..');
const owner = { name: 'Olena', email: 'olena@example.org', password: 'correct horse battery' };
const passphrase = 'four plain words here';

/** The card of a station dies; each journey continues from the previous one. */
describe('backup and restore in the web app, in a real Chromium', { timeout: 600_000 }, () => {
  const day = new AsyncDisposableStack();
  let browser: Browser;
  let old: Supervised;
  /** The downloaded backup: its name and its content. */
  let file = { name: '', mimeType: 'application/octet-stream', buffer: Buffer.alloc(0) };

  const start = async (): Promise<Supervised> => {
    const workspace = day.use(await createWorkspace());
    return day.use(await superviseBackend(workspace, { devices: [], WEB_DIR: join(root, 'dist/web') }));
  };
  const codeOf = async ({ dataDir }: Supervised): Promise<string> =>
    (await readFile(join(dataDir, 'setup-code'), 'utf8')).trim();
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const logIn = async (page: Page): Promise<void> => {
    await page.getByLabel('E-mail').fill(owner.email);
    await page.getByLabel('Password', { exact: true }).fill(owner.password);
    await press(page, 'Log in');
    await page.getByRole('navigation').first().waitFor({ timeout: timeoutMs });
  };

  before(async () => {
    const path = process.env['PATH'] ?? '';
    if (await isWebStale(root))
      await buildWeb({ root, path, home: systemEnv['HOME'] ?? '/root', signal: AbortSignal.timeout(300_000) });
    browser = day.use(await openBrowser());
    old = await start();
    await old.post('/api/auth/setup', { code: await codeOf(old), ...owner, stationName: 'Carpathian cabin' });
  });
  after(() => day.disposeAsync());

  it('I make a backup with a passphrase that I typed twice, and download it', async () => {
    await using olena = await openPerson(browser, old.url, 'en-GB');
    const { page } = olena;
    await page.goto('/settings/backup');
    await logIn(page);
    await page.getByRole('heading', { level: 1, name: 'Backup' }).waitFor({ timeout: timeoutMs });
    await textOn(page, 'There is no backup yet.');
    const make = page.getByRole('region', { name: 'Create a backup' });
    await make.getByLabel('Passphrase', { exact: true }).fill(passphrase);
    await make.getByLabel('Passphrase again').fill('something else');
    await press(page, 'Create a backup now');
    await textOn(page, 'The two are not the same.');
    await press(page, 'Suggest one');
    const suggested = await make.getByLabel('Passphrase again').inputValue();
    assert.ok(suggested.length > 20, suggested);
    assert.equal(await make.getByLabel('Passphrase', { exact: true }).inputValue(), suggested);
    assert.equal(await page.getByText('The two are not the same.').count(), 0, 'the fault goes with its cause');
    await make.getByLabel('Passphrase', { exact: true }).fill(passphrase);
    await make.getByLabel('Passphrase again').fill(passphrase);
    await press(page, 'Create a backup now');
    await textOn(page, /Checked by restoring it/);
    assert.equal(await make.getByLabel('Passphrase', { exact: true }).inputValue(), '');
    await look(page, 'backup-made');
    const coming = page.waitForEvent('download');
    await press(page, 'Download');
    const download = await coming;
    assert.match(download.suggestedFilename(), /^station-carpathian-cabin-\d{8}T\d{6}Z\.age$/);
    file = { ...file, name: download.suggestedFilename(), buffer: await readFile(await download.path()) };
    assert.equal(file.buffer.subarray(0, 21).toString(), 'age-encryption.org/v1');
  });

  it('I enter a server that keeps no backup, am told why, and correct the address', async () => {
    await using olena = await openPerson(browser, old.url, 'en-GB');
    const { page } = olena;
    await page.goto('/settings/backup');
    await logIn(page);
    const card = page.getByRole('region', { name: 'Each night' });
    await card.getByRole('switch', { name: /WebDAV/ }).click();
    const address = card.getByLabel('Address of the folder');
    await address.fill('nas.example/dav');
    await card.getByRole('button', { name: 'Save' }).click();
    await textOn(card, 'It begins with https:// or http://.');
    await address.and(page.locator(':focus')).waitFor();
    await card.getByLabel('Daily').fill('0');
    await card.getByRole('button', { name: 'Save' }).click();
    await textOn(card, 'A whole number from 1 to 365.');
    await card.getByLabel('Daily').and(page.locator(':focus')).fill('7');
    await address.fill('http://127.0.0.1:9/Резервні копії');
    await card.getByRole('button', { name: 'Save' }).click();
    await textOn(card, /Saved. But no backup can be kept there now: the server does not answer/);
    await look(page, 'backup-no-webdav');
    await page.reload();
    assert.match(await address.inputValue(), /\/Резервні копії\/$/);
  });

  it('I have the station check itself, see what is wrong and how to mend it, and keep a file for support', async () => {
    await using olena = await openPerson(browser, old.url, 'en-GB');
    const { page } = olena;
    await page.goto('/settings/diagnostics');
    await logIn(page);
    const card = page.getByRole('region', { name: 'Diagnostics' });
    const secret = join(old.dataDir, 'jwt-secret');
    await chmod(secret, 0o644);
    await card.getByRole('button', { name: 'Check the station' }).click();
    await textOn(page, 'jwt-secret can be read by other users (mode 644).');
    await textOn(page, 'Allow only its owner: chmod go= and the file.');
    await look(page, 'diagnostics-warning');
    await chmod(secret, 0o600);
    await card.getByRole('button', { name: 'Check again' }).click();
    await textOn(page, 'Everything is fine.');
    const coming = page.waitForEvent('download');
    await card.getByRole('button', { name: 'Download a file for support' }).click();
    const content = await readFile(await (await coming).path(), 'utf8');
    for (const hidden of [owner.password, owner.email, owner.name, passphrase])
      assert.ok(!content.includes(hidden), `the file has ${hidden}`);
    assert.ok(content.includes('"checks"'));
  });

  it('on a new station I restore it on the first page, and log in with my old account', async () => {
    const fresh = await start();
    await using olena = await openPerson(browser, fresh.url, 'en-GB');
    const { page } = olena;
    await page.goto('/');
    await press(page, 'Restore a backup');
    await page.getByRole('heading', { level: 1, name: 'Restore a backup' }).waitFor({ timeout: timeoutMs });
    await look(page, 'restore-first-page');
    await page.goBack();
    await page.getByRole('button', { name: 'Restore a backup' }).waitFor({ timeout: timeoutMs });
    await page.goForward();
    await press(page, 'Restore');
    await textOn(page, 'Choose a file.');
    await page.getByLabel('Backup file').setInputFiles(file);
    await page.getByLabel('Passphrase', { exact: true }).fill(passphrase);
    const code = page.getByLabel('Set-up code');
    await code.fill('WRONG-12345-67890');
    await press(page, 'Restore');
    await textOn(page, /^Wrong set-up code/);
    assert.equal(await code.getAttribute('aria-invalid'), 'true');
    assert.equal(await page.evaluate('document.activeElement.name'), 'code', 'the cursor is where the fault is');
    await code.fill(await codeOf(fresh));
    const cut = { ...file, buffer: file.buffer.subarray(0, -100) };
    await page.getByLabel('Backup file').setInputFiles(cut);
    await page.getByLabel('Passphrase', { exact: true }).fill('not the passphrase');
    await press(page, 'Restore');
    await textOn(page, /This is not the passphrase of this backup/);
    await page.getByLabel('Passphrase', { exact: true }).fill(passphrase);
    await press(page, 'Restore');
    await textOn(page, /The end of the file is missing/);
    await look(page, 'restore-refused');
    await page.getByLabel('Backup file').setInputFiles(file);
    await press(page, 'Restore');
    await textOn(page, /“Carpathian cabin”, made/);
    await press(page, 'Restore this backup');
    await textOn(page, 'The station is back');
    await textOn(page, /“Carpathian cabin” as it was/);
    assert.equal(await page.getByRole('button', { name: 'Set up a new station instead' }).count(), 0);
    await look(page, 'restore-done');
    await press(page, 'Log in');
    await logIn(page);
    await textOn(page, 'Carpathian cabin');
    assert.equal(fresh.starts(), 2);
  });
});
