import { ssidFromText } from '@station/agent/core/wifi-network';
import { change, advance, type Profile } from '@station/simulators/wifi/air';
import { createRandom } from './choice.ts';
import { pass } from './virtual-clock.ts';
import { runWifi, type WifiRunResult, type WorldEvent } from './wifi-run.ts';
import {
  activate,
  createWifiWorld,
  cutWifiPower,
  endProcess,
  loseManager,
  passwordOf,
  profile,
  readJson,
  router,
  takeRadio,
  type WifiWorld,
} from './wifi-world.ts';

const minute = 60_000;
/** Duration of random changes; then the world rests for longer than any delay after a failure. */
const busyMs = 15 * minute;
const restMs = 32 * minute;

export type Schedule = { seed: number; processes: number; points: number; end: string; faults: string[] };

/**
 * Runs one random history of a home from its seed: changes, faults and ends of the agent's process.
 * @returns the faults at the end.
 */
export async function runSchedule(seed: number, trace: (line: string) => void = () => undefined): Promise<Schedule> {
  const random = createRandom(seed);
  const world = randomWorld(random);
  const people = world.air.profiles.map(({ id }) => id);
  const startMs = world.time.monotonicMs;
  const events = randomEvents(random, startMs);
  const faultRate = random() < 0.4 ? 0 : random() * 0.15;
  const fault = (): boolean => world.time.monotonicMs < startMs + busyMs && random() < faultRate;
  const found: string[] = [];
  const lines: string[] = [];
  let points = 0;
  let result: WifiRunResult;
  do {
    const isBusy = world.time.monotonicMs < startMs + busyMs;
    const endAt = isBusy && random() < 0.6 ? 1 + Math.floor(random() ** 2 * 300) : null;
    const stopsAtMs = isBusy && endAt === null && random() < 0.3 ? world.time.monotonicMs + random() * busyMs : null;
    // The process is not ended while the world rests.
    const untilMs = endAt === null ? Math.min(stopsAtMs ?? Infinity, startMs + busyMs + restMs) : startMs + busyMs - 1;
    result = await runWifi(world, { untilMs, end: stopsAtMs === null ? 'cut' : 'stop', events, endAt, fault });
    points += result.points;
    trace(`process ${world.process}: ${result.outcome}\n${result.lines.join('')}`);
    lines.push(...result.lines);
    if (result.outcome === 'endless' || result.surprise) found.push(`${result.outcome}: ${String(result.surprise)}`);
    if (result.outcome === 'stopped') {
      if (world.air.hotspot && faultRate === 0) found.push('a hotspot after a clean stop');
    }
    if (result.outcome === 'endless' || (result.outcome === 'time' && endAt === null)) break;
    endProcess(world);
    if (random() < 0.3) cutWifiPower(world, Math.floor(random() * 1000));
    else pass(world.time, 5000);
    while (events[0] && events[0].atMs <= world.time.monotonicMs) events.shift()?.apply(world);
  } while (found.length === 0);
  found.push(...judgeEnd(world, result), ...judgeHistory(world, people, lines));
  return { seed, processes: world.process, points, end: result.status.watchdog.state, faults: found };
}

const names = ['home', 'upstairs', 'office'];

function randomWorld(random: () => number): WifiWorld {
  const routers = names.map((name, index) =>
    router(name, {
      isOn: random() < 0.6,
      isHidden: random() < 0.2,
      signal: 40 + index * 10,
      ...(random() < 0.2 ? { password: null } : {}),
    }),
  );
  const profiles = names
    .filter(() => random() < 0.35)
    .map((name) =>
      profile(
        name,
        random() < 0.2
          ? 'secret-of-old-times'
          : (routers.find(({ ssid }) => ssid === ssidFromText(name))?.password ?? null),
      ),
    );
  const world = createWifiWorld(routers, profiles);
  if (random() < 0.2) change(world.air, { cable: { ip: '10.9.0.2', gateway: '10.9.0.1' } });
  if (random() < 0.1) loseManager(world);
  return world;
}

/** Sorted by time. After the last change everything works again, except routers that are off. */
function randomEvents(random: () => number, startMs: number): WorldEvent[] {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const events: WorldEvent[] = [];
  const add = (atMs: number, name: string, apply: WorldEvent['apply']): void => void events.push({ atMs, name, apply });
  const count = Math.floor(random() * 14);
  for (let index = 0; index < count; index += 1) {
    const atMs = startMs + random() * busyMs * 0.9;
    const laterMs = atMs + random() * 3 * minute;
    const name = pick(names);
    const ssid = ssidFromText(name);
    const set =
      (changes: Parameters<typeof router>[1]): WorldEvent['apply'] =>
      (world) => {
        for (const each of world.air.routers) if (each.ssid === ssid) Object.assign(each, changes);
        change(world.air, {});
        advance(world.air, world.time.monotonicMs);
      };
    const [what, back] = pick<[string, () => void]>([
      ['router off', () => add(atMs, 'off', set({ isOn: false }))],
      ['router on', () => add(atMs, 'on', set({ isOn: true }))],
      ['router blinks', () => (add(atMs, 'off', set({ isOn: false })), add(laterMs, 'on', set({ isOn: true })))],
      [
        'gateway dies',
        () => (add(atMs, 'dead', set({ answers: false })), add(laterMs, 'alive', set({ answers: true }))),
      ],
      ['no internet', () => add(atMs, 'no internet', set({ internet: false }))],
      [
        'no addresses',
        () => (add(atMs, 'dry', set({ givesAddresses: false })), add(laterMs, 'wet', set({ givesAddresses: true }))),
      ],
      ['cable in', () => add(atMs, 'in', ({ air }) => change(air, { cable: { ip: '10.9.0.2', gateway: '10.9.0.1' } }))],
      ['cable out', () => add(atMs, 'out', ({ air }) => change(air, { cable: null }))],
      [
        'manager restarts',
        () => (add(atMs, 'gone', loseManager), add(laterMs, 'back', ({ air }) => change(air, { manager: 'running' }))),
      ],
      [
        'somebody activates a network during the hotspot',
        () => add(atMs, 'activated', (world) => activate(world, ssid)),
      ],
      [
        'radio blocked',
        () => (
          add(atMs, 'blocked', ({ air }) => change(air, { blocked: 'soft' })),
          add(laterMs, 'free', ({ air }) => change(air, { blocked: 'no' }))
        ),
      ],
      [
        'radio taken out',
        () => (
          add(atMs, 'out', (world) => takeRadio(world, true)),
          add(laterMs, 'in', (world) => takeRadio(world, false))
        ),
      ],
      [
        'disk full',
        () => (
          add(atMs, 'full', (world) => (world.isDiskFull = true)),
          add(laterMs, 'room', (world) => (world.isDiskFull = false))
        ),
      ],
      [
        'engine offline',
        () => (
          add(atMs, 'offline', (world) => (world.hasEngine = false)),
          add(laterMs, 'back', (world) => (world.hasEngine = true))
        ),
      ],
      [
        'backend offline',
        () => (
          add(atMs, 'offline', (world) => (world.backend = pick(['offline', 'refuses']))),
          add(laterMs, 'back', (world) => (world.backend = 'accepts'))
        ),
      ],
      ['phone', () => addPhone(add, atMs, name, random)],
      ['phone', () => addPhone(add, atMs, name, random)],
      ['phone', () => addPhone(add, atMs, name, random)],
    ]);
    void what;
    back();
  }
  add(startMs + busyMs, 'all works again', (world) => {
    Object.assign(world, { isDiskFull: false, hasEngine: true, backend: 'accepts' });
    change(world.air, { manager: 'running', hasRadio: true, blocked: 'no', phones: 0 });
    for (const each of world.air.routers) Object.assign(each, { answers: true, givesAddresses: true });
  });
  return events.sort((a, b) => a.atMs - b.atMs);
}

/**
 * A person with a phone views the page every few seconds for a while, then requests a join with a right or wrong
 * password.
 */
function addPhone(
  add: (atMs: number, name: string, apply: WorldEvent['apply']) => void,
  atMs: number,
  name: string,
  random: () => number,
): void {
  const isRight = random() < 0.6;
  for (let look = 0; look < 12; look += 1) {
    add(atMs + look * 15_000, 'views the page', (world) => {
      if (!world.air.hotspot || !world.portal || world.isProxyRunning) return;
      change(world.air, { phones: 1 });
      world.portal.seen();
      if (look % 4 === 1) void world.portal.rescan();
      if (look % 4 !== 3) return;
      const target = world.air.routers.find(({ ssid }) => ssid === ssidFromText(name));
      const password = isRight ? (target?.password ?? null) : 'secret-but-wrong';
      world.portal.join({ ssid: ssidFromText(name), security: null, password, isHidden: target?.isHidden ?? false });
    });
  }
}

/** Faults that remain when the world has been at rest. */
export function judgeEnd(world: WifiWorld, { status, conditions }: WifiRunResult): string[] {
  const { air } = world;
  const faults: string[] = [];
  const expect = (what: string, seen: unknown, wanted: unknown): void => {
    if (seen !== wanted) faults.push(`${what} is ${String(seen)} instead of ${String(wanted)}`);
  };
  const isReachable =
    air.cable !== null || air.profiles.some((each) => isKnown(each) && isGood(world, each.ssid, each.password));
  const { state } = status.watchdog;
  // A known network that refuses the station is retried every 15 minutes; this may be such a moment.
  const isInReach = air.profiles.some(({ ssid }) => air.routers.some((each) => each.isOn && each.ssid === ssid));
  const isOffline = state === 'JOINING' || (state === 'HOTSPOT_ACTIVE' && !air.hotspot);
  if (isOffline && !isReachable && isInReach) return faults;
  const isHotspot = !isReachable;
  expect('the state', state, isHotspot ? 'HOTSPOT_ACTIVE' : 'CONNECTED');
  expect('the hotspot', air.hotspot !== null, isHotspot);
  expect('leftovers of a hotspot on the machine', air.hasLeftovers, isHotspot);
  expect('the portal', world.portal !== null, isHotspot);
  expect('the proxy', world.isProxyRunning, !isHotspot);
  expect('the intent', readJson(world, 'wifi.json')?.['proxyStopped'], isHotspot);
  const isWaiting = readJson(world, 'wifi-credentials.json') !== null;
  // Refused credentials are not sent again soon; a condition reports them.
  const waits = isWaiting || conditions.includes('wifi_credentials_not_forwarded');
  if (waits && !world.hasRefused) faults.push('credentials wait');
  // A verified network waits in memory until it is used again.
  const isWaitingForUse = (each: Profile): boolean => each.settledBy !== null && each.id !== air.active;
  const unsaved = air.profiles.filter((each) => !each.isSaved && !isWaitingForUse(each));
  if (unsaved.length > 0) faults.push(`left in memory: ${unsaved.map(({ id }) => id).join(', ')}`);
  const isUnkept = air.profiles.some((each) => !each.isSaved && isWaitingForUse(each));
  const tolerated = ['internet_unreachable', 'wifi_credentials_not_forwarded', ...(isUnkept ? ['wifi_not_kept'] : [])];
  const standing = conditions.filter((id) => !tolerated.includes(id));
  if (standing.length > 0) faults.push(`conditions: ${standing.join(', ')}`);
  return faults;
}

const isKnown = ({ isSaved, settledBy }: Profile): boolean => isSaved || settledBy !== null;

const isGood = (world: WifiWorld, ssid: string, password: string | null): boolean =>
  world.air.routers.some((each) => each.ssid === ssid && each.isOn && each.answers && each.password === password);

/** Faults that must not occur at any time. */
function judgeHistory(world: WifiWorld, people: readonly string[], lines: readonly string[]): string[] {
  const faults: string[] = [];
  const lost = people.filter((id) => !world.air.profiles.some((each) => each.id === id));
  if (lost.length > 0) faults.push(`lost profiles: ${lost.join(', ')}`);
  if (world.longestStrayPortalMs > 30_000)
    faults.push(`the page was open without a hotspot: ${world.longestStrayPortalMs} ms`);
  const secrets = [...names.map(passwordOf), 'secret-but-wrong', 'secret-of-old-times'];
  const leaks = lines.filter((line) => secrets.some((secret) => line.includes(secret)));
  if (leaks.length > 0) faults.push(`a secret in the log: ${leaks[0]}`);
  const surprises = lines.filter(
    (line) =>
      line.includes('"unexpected_error"') && !/the bus disconnected|the page cannot be opened|EIO|ENOSPC/.test(line),
  );
  if (surprises.length > 0) faults.push(`unexpected: ${surprises[0]}`);
  return faults;
}
