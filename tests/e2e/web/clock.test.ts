import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ClockRequest, ClockStatus } from '@station/protocol/agent-api';
import { buildWeb, isWebStale } from '@station/simulators/station/web-build';
import { sampleStatus } from '../../../apps/web/src/features/station/sample-status.ts';
import { systemEnv } from '../../rig/program.ts';
import { install, owner } from '../backend/installation.ts';
import { logIn, look, openBrowser, openPerson, textOn } from './browser.ts';

/** The clock of the person's device is right, that of the station is behind. */
const aheadMs = 2 * 3_600_000;
const root = join(import.meta.dirname, '../../..');

/** The agent of a machine without NTP: its clock is right once a person set it. Here it only notes the time. */
async function startAgent(path: string) {
  const set: string[] = [];
  let refuses = 0;
  const clock = (): ClockStatus => ({
    trusted: set.length > 0,
    source: set.length > 0 ? 'person' : 'none',
    now: new Date().toISOString(),
  });
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const answer = (status: number, content: object): void =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
      if (request.url === '/status') return answer(200, sampleStatus({ conditions: [] }));
      if (request.url !== '/clock') return answer(404, { code: 'not_found', message: 'Nothing is here.' });
      if (request.method === 'POST') {
        if (refuses-- > 0) return answer(503, { code: 'clock_not_set', message: 'systemd refused the time.' });
        set.push((JSON.parse(body) as ClockRequest).now);
      }
      answer(200, clock());
    });
  });
  server.listen(path);
  await once(server, 'listening');
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { set, refuse: (times: number) => void (refuses = times), [Symbol.dispose]: close };
}

test('an owner sets the clock of a station without internet, in a real Chromium', { timeout: 600_000 }, async () => {
  if (await isWebStale(root)) {
    const path = process.env['PATH'] ?? '';
    const home = systemEnv['HOME'] ?? '/root';
    await buildWeb({ root, path, home, signal: AbortSignal.timeout(300_000) });
  }
  await using station = await install('the embedded broker and SQLite', { devices: 0 });
  const socket = join(station.folder, 'agent.sock');
  using agent = await startAgent(socket);
  Object.assign(station.env, { AGENT_SOCKET: socket, AGENT_TOKEN: 'of-the-agent', WEB_DIR: join(root, 'dist/web') });
  await station.startBackend();
  await station.logIn();
  await using browser = await openBrowser();
  await using person = await openPerson(browser, station.url, 'en-GB');
  const { page } = person;
  // The station's own clock would be confirmed, not set.
  await page.clock.install({ time: Date.now() + aheadMs });
  await page.goto('/settings/diagnostics');
  await logIn(page, owner);
  await page.getByRole('navigation').first().waitFor();
  await page.goto('/settings/diagnostics');
  const card = page.getByRole('region', { name: 'Clock of the station' });
  await card.waitFor();
  await textOn(page, 'The clock may be wrong');
  await look(page, '29-clock');

  agent.refuse(1);
  const use = card.getByRole('button', { name: 'Use this device’s time' });
  await use.click();
  await textOn(card, /The system of the station did not accept the time/);
  assert.deepEqual(agent.set, []);

  await use.click();
  await card.waitFor({ state: 'detached' });
  const sentMs = Date.parse(agent.set[0] ?? '');
  assert.ok(Math.abs(sentMs - aheadMs - Date.now()) < 60_000, `the time of this browser, not ${agent.set.join()}`);
  assert.equal(await page.getByText('The clock may be wrong').count(), 0);
  assert.deepEqual(person.complaints, []);
});
