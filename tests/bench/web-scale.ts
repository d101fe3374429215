/**
 * `npm run bench -- web-scale [--devices 500] [--per-second 100] [--seconds 8] [--peer]`
 *
 * Home with many devices on a slow phone: Chromium with a phone's screen and a processor slowed down four times, and the built backend with
 * the built web app, whose simulated devices report states. Beside it the same is measured on a plain page with as many rows that are
 * updated as often, and with `--peer` on the dashboard of Zigbee2MQTT's frontend, which comes from npm. Then home with eight devices at
 * 1.6 Mbit/s. See docs/benchmarks.md.
 */
import { existsSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { findFreePort } from '@station/kit/free-port';
import { describeError } from '@station/kit/station-error';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { type Fleet, startFleet } from '@station/simulators/devices/fleet';
import type { Browser, CDPSession, Page, Response } from 'playwright-core';
import { openBrowser } from '../e2e/web/browser.ts';
import { run, waitFor } from '../rig/program.ts';
import { createCaddy, startFrontend } from '../rig/caddy.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';
import { buildBackend, startStationBackend, stationId, stationOwner } from './load/station-backend.ts';
import { percentile, round } from './load/statistics.ts';
import { startZigbee2Mqtt } from './load/zigbee2mqtt.ts';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '500' },
    'per-second': { type: 'string', default: '100' },
    seconds: { type: 'string', default: '8' },
    peer: { type: 'boolean', default: false },
  },
});
const [deviceCount, perSecond, seconds] = [values.devices, values['per-second'], values.seconds].map(Number) as [
  number,
  number,
  number,
];
const slowdown = 4;
const goals = {
  tilesMs: 2_500,
  busy: 0.2,
  scrollMs: 33,
  tapMs: 100,
  shift: 0.05,
  nodes: 1_500,
  smallKb: 120,
  smallTilesMs: 1_000,
};
const root = join(import.meta.dirname, '../../dist/web');

/** A page to measure; `item` selects the elements that show a device. */
type Subject = {
  url: string;
  path: string;
  item: string;
  /** Null: it asks for no login. */
  login: { email: string; password: string } | null;
};

/** Runs in the page before anything else: notes when the first tile is painted, and what moves. */
const watch = (item: string): string => `
  window.seen = { tilesMs: null, shift: 0 };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.seen.shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
  const look = () => {
    if (document.querySelector(${JSON.stringify(item)})) window.seen.tilesMs ??= performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  try { localStorage.setItem('station.signed-in-before', 'yes'); } catch {}
`;

/** Scrolls down in steps, one each frame; the times between frames, ms. */
const scrolling = `new Promise((resolve) => {
  const frames = [];
  let last = performance.now();
  const step = (now) => {
    frames.push(now - last);
    last = now;
    scrollBy(0, 40);
    if (frames.length < 150) requestAnimationFrame(step);
    else resolve(frames.slice(1));
  };
  requestAnimationFrame(step);
})`;

/** Taps the first switches in turn; ms from the tap until the frame with the new state was painted. */
const tapping = `(async () => {
  scrollTo(0, 0);
  const times = [];
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  await pause(500);
  for (let turn = 0; turn < 10; turn += 1) {
    const switches = document.querySelectorAll('[role=switch]');
    const one = switches[turn % Math.min(3, switches.length)];
    const before = one.getAttribute('aria-checked');
    const started = performance.now();
    one.click();
    while (one.getAttribute('aria-checked') === before) await pause(0);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    times.push(performance.now() - started);
    await pause(400);
  }
  return times;
})()`;

/** As many rows as the app has tiles, and the least code that keeps them up to date. `token` is set before. */
const plainScript = `
  (async () => {
    const rows = new Map();
    for (let path = '/api/devices'; path; ) {
      const answer = await fetch(path, { headers: { authorization: 'Bearer ' + token } });
      path = (answer.headers.get('link') ?? '').split(/[<>]/)[1];
      for (const { id, name, state } of await answer.json()) {
        const row = document.createElement('li');
        row.innerHTML = '<button role="switch" aria-checked="false"></button> <span></span>';
        row.firstChild.textContent = name;
        row.firstChild.onclick = ({ target }) => target.setAttribute('aria-checked', target.getAttribute('aria-checked') !== 'true');
        row.lastChild.textContent = JSON.stringify(state);
        rows.set(id, row.lastChild);
        document.querySelector('ul').append(row);
      }
    }
    const socket = new WebSocket('ws://' + location.host + '/ws');
    socket.onopen = () => socket.send(JSON.stringify({ type: 'auth', token }));
    socket.onmessage = ({ data }) => {
      const { type, deviceId, state } = JSON.parse(data);
      if (type === 'device_state') rows.get(deviceId).textContent = JSON.stringify(state);
    };
  })();
`;
const plainPage =
  '<!doctype html><meta name="viewport" content="width=device-width"><main><ul></ul></main><script src="/plain.js"></script>';

/** `tapMs` is NaN where no switch could be tapped. */
type Figures = { tilesMs: number; busy: number; scrollMs: number; tapMs: number; shift: number; nodes: number };

async function openPhone(browser: Browser, { url, item, login }: Subject): Promise<{ page: Page; cdp: CDPSession }> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: 360, height: 740 },
    deviceScaleFactor: 2,
    hasTouch: true,
    isMobile: true,
    locale: 'en-GB',
  });
  const page = await context.newPage();
  await page.addInitScript(watch(item));
  if (login !== null) {
    // The cookie of the session is in the browser then.
    const answer = await context.request.post('/api/auth/login', { data: login });
    const { accessToken } = (await answer.json()) as { accessToken: string };
    await page.addInitScript(`window.token = ${JSON.stringify(accessToken)}`);
  }
  const cdp = await context.newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  await cdp.send('Performance.enable');
  return { page, cdp };
}

type Seen = { tilesMs: number; shift: number };
const seenOn = (page: Page): Promise<Seen> => page.evaluate<Seen>('window.seen');

async function metric(cdp: CDPSession, name: string): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  return metrics.find((one) => one.name === name)?.value ?? NaN;
}

async function measure(browser: Browser, subject: Subject): Promise<Figures> {
  const { page, cdp } = await openPhone(browser, subject);
  await page.goto(subject.path);
  await page.locator(subject.item).first().waitFor({ timeout: 60_000 });
  // The other pages are fetched ahead after two seconds; that is not what is measured.
  await page.waitForTimeout(6_000);
  const busyBefore = await metric(cdp, 'TaskDuration');
  const from = performance.now();
  await page.waitForTimeout(seconds * 1_000);
  const busy = (1_000 * ((await metric(cdp, 'TaskDuration')) - busyBefore)) / (performance.now() - from);
  const taps = (await page.locator('[role=switch]').count()) > 0 ? await page.evaluate<number[]>(tapping) : [];
  const frames = await page.evaluate<number[]>(scrolling);
  const { tilesMs, shift } = await seenOn(page);
  // What scrolling has taken out of the page counts until it is collected.
  await cdp.send('HeapProfiler.collectGarbage');
  const nodes = await metric(cdp, 'Nodes');
  await page.context().close();
  return {
    tilesMs: round(tilesMs, 0),
    busy: round(busy),
    scrollMs: round(percentile(frames, 95), 1),
    tapMs: round(percentile(taps, 95), 1),
    shift: round(shift, 3),
    nodes,
  };
}

/** JavaScript that is loaded until the tiles are there, compressed; and when they are there at 1.6 Mbit/s. */
async function measureSmall(browser: Browser, subject: Subject): Promise<{ kb: number; tilesMs: number }> {
  const { page, cdp } = await openPhone(browser, subject);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 20,
    downloadThroughput: 200_000,
    uploadThroughput: 100_000,
  });
  const scripts = new Map<string, Response>();
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') scripts.set(response.url(), response);
  });
  await page.goto(subject.path);
  await page.locator(subject.item).first().waitFor({ timeout: 60_000 });
  const { tilesMs } = await seenOn(page);
  const before = await page.evaluate<string[]>(`
    performance.getEntriesByType('resource').filter(({ responseEnd }) => responseEnd <= ${tilesMs}).map(({ name }) => name)
  `);
  const loaded = before.flatMap((name) => scripts.get(name) ?? []);
  const bodies = await Promise.all(loaded.map((response) => response.body()));
  await page.context().close();
  const bytes = bodies.reduce((sum, body) => sum + brotliCompressSync(body).length, 0);
  return { kb: round(bytes / 1_000, 1), tilesMs: round(tilesMs, 0) };
}

/** The built backend behind the proxy and the frontend of the stack, and simulated devices that report in turn. */
async function serve(
  workspace: Workspace,
  program: string,
  count: number,
): Promise<AsyncDisposable & Pick<Subject, 'url' | 'login'>> {
  await using starting = new AsyncDisposableStack();
  const webDir = join(await workspace.subfolder(`web-${count}`), 'web');
  await cp(root, webDir, { recursive: true });
  await writeFile(join(webDir, 'plain.html'), plainPage);
  await writeFile(join(webDir, 'plain.js'), plainScript);
  // The kinds of devices take turns on the page, which sorts them by name.
  const logins = makeLogins(count).map((login, index) => ({ ...login, name: `Device ${1_001 + index}` }));
  const station = await startStationBackend(workspace, {
    name: `${count}`,
    program,
    logins,
  });
  starting.defer(() => station.daemon.stop());
  const url = `mqtt://127.0.0.1:${station.mqttPort}`;
  const fleet = starting.use(startFleet({ url, stationId, logins, heartbeatMs: 60_000 }));
  await waitFor('all devices', () => fleet.acceptedCount() === count || null, 120_000);
  for (const device of fleet.devices) void device.publish('state', { state: device.state });
  starting.use(talk(fleet, count === 8 ? 2 : perSecond));
  await station.logIn();
  const { email, password } = stationOwner;
  const port = await findFreePort();
  const frontendUrl = await startFrontend(workspace, webDir);
  starting.use(await createCaddy(workspace, { port, backendUrl: station.url, frontendUrl, firmwareFolder: webDir }));
  const running = starting.move();
  return {
    url: `http://127.0.0.1:${port}`,
    login: { email, password },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Those that measure something report in turn: each time another state. */
function talk({ devices }: Fleet, everySecond: number): Disposable {
  const measuring = devices.flatMap((device) => {
    const key = Object.keys(device.state).find((name) => typeof device.state[name] === 'number');
    return key === undefined ? [] : [{ device, key }];
  });
  let turn = 0;
  const timer = setInterval(() => {
    const { device, key } = measuring[turn % measuring.length]!;
    const value = Number(device.state[key]) + (Math.floor(turn / measuring.length) % 2);
    turn += 1;
    void device.publish('state', { state: { ...device.state, [key]: value } });
  }, 1_000 / everySecond);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Zigbee2MQTT's dashboard: as many devices that report as often, and eight of them. */
async function measurePeer(browser: Browser): Promise<{ peer: Figures; peerSmall: { kb: number; tilesMs: number } }> {
  const subject = ({ url }: { url: string }): Subject => ({
    url,
    path: '/#/dashboard',
    item: '.card .card-body, .card h2',
    login: null,
  });
  const measureMany = (): Promise<Figures> =>
    withDisposal(startZigbee2Mqtt({ deviceCount, perSecond }), (server) => measure(browser, subject(server)));
  const peer = await measureMany().catch((error: unknown) => {
    // Now and then its page shows no device at all; a person would reload it.
    console.log(`Zigbee2MQTT once more: ${describeError(error).split('\n')[0]}`);
    return measureMany();
  });
  const few = startZigbee2Mqtt({ deviceCount: 8, perSecond: 2 });
  return { peer, peerSmall: await withDisposal(few, (server) => measureSmall(browser, subject(server))) };
}

async function withDisposal<T extends AsyncDisposable, R>(
  opening: Promise<T>,
  use: (one: T) => Promise<R>,
): Promise<R> {
  await using one = await opening;
  return await use(one);
}

async function main(): Promise<boolean> {
  await using workspace = await createWorkspace();
  const program = await buildBackend(workspace);
  if (!existsSync(join(root, 'index.html'))) await run('npm', ['run', '--silent', 'build', '-w', '@station/web']);
  await using browser = await openBrowser();
  const item = 'main li';
  const few = serve(workspace, program, 8);
  const small = await withDisposal(few, ({ url, login }) => measureSmall(browser, { url, login, path: '/', item }));
  const peer = values.peer ? await measurePeer(browser) : null;
  await using app = await serve(workspace, program, deviceCount);
  const { url, login } = app;
  const plain = await measure(browser, { url, login, path: '/plain.html', item });
  const ours = await measure(browser, { url, login, path: '/', item });
  for (const [name, figures] of Object.entries({ plain, ours, small, ...peer }))
    console.log(name, JSON.stringify(figures));
  const met = {
    tiles: ours.tilesMs <= goals.tilesMs,
    busy: ours.busy <= Math.max(goals.busy, 2 * plain.busy),
    scroll: ours.scrollMs <= Math.max(goals.scrollMs, 1.5 * plain.scrollMs),
    tap: ours.tapMs <= Math.max(goals.tapMs, 2 * plain.tapMs),
    shift: ours.shift <= goals.shift,
    nodes: ours.nodes <= goals.nodes,
    smallSize: small.kb <= goals.smallKb,
    smallTiles: small.tilesMs <= goals.smallTilesMs,
  };
  const ok = Object.values(met).every(Boolean);
  const ratio = round(ours.busy / plain.busy);
  const result = { bench: 'web-scale', value: ours.busy, unit: 'of the main thread', ratio, goal: goals.busy, ok };
  console.log(JSON.stringify({ ...result, deviceCount, perSecond, ours, plain, small, ...peer, met }));
  return ok;
}

process.exitCode = (await main()) ? 0 : 1;
