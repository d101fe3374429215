import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it, type TestContext } from 'node:test';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { createRandom } from '../../faults/choice.ts';
import { extent } from '../../rig/extent.ts';
import { waitFor } from '../../rig/program.ts';
import { install, type Installation, type Kind } from '../backend/installation.ts';
import { startChaosDevice, type ChaosDevice, type Press } from './chaos-devices.ts';
import { createSwappedDatabases, type Swap, type SwappedDatabases } from './swapped-databases.ts';

/** How often the backend ends; its database is swapped at about half of them. */
const ends = extent(12, 100);
type Signal = 'SIGKILL' | 'SIGTERM';

const login = (externalId: string, type: string, profile: DeviceLogin['profile']): DeviceLogin => {
  return { externalId, type, profile, name: externalId, token: randomBytes(32).toString('base64url') };
};
const logins = [
  login('switch-1', 'switch-pir', 'field'),
  login('switch-2', 'switch-pir', 'field'),
  login('switch-3', 'switch-pir', 'station'),
  login('light-1', 'light', 'field'),
  login('light-2', 'light', 'station'),
  login('light-4', 'light', 'field'),
  login('light-5', 'light', 'field'),
  login('climate-1', 'climate', 'field'),
  login('fence', 'climate', 'station'),
];
/** Provisioned after the older copy of the database was taken. */
const newerLogins = [login('switch-4', 'switch-pir', 'field'), login('light-3', 'light', 'field')];

/** A life of the backend: from its start (or from the end of the one before) to its end. */
type Life = {
  knows: ReadonlySet<string>;
  startedMs: number;
  /** When it was told to end. */
  endedMs: number;
  /** When its process had ended. */
  goneMs: number;
  signal: Signal | null;
};

type Chaos = {
  station: Installation;
  databases: SwappedDatabases;
  devices: readonly ChaosDevice[];
  /** Of each device's record, by external id. */
  ids: ReadonlyMap<string, string>;
  token: string;
  random: () => number;
  lives: Life[];
  fences: Fence[];
};

/** An event of the device named so. It was stored when it is acknowledged, and so was what others sent before. */
type Fence = { sentMs: number; acknowledgedMs: number };

const kinds = ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const;

describe(`${ends} ends of the backend, some with another database`, { concurrency: true, timeout: 900_000 }, () => {
  for (const [index, kind] of kinds.entries()) {
    it(`reset no device, lose no press and confirm no command that was not executed, on ${kind}`, async (test) => {
      await using station = await install(kind, { logins });
      await using stack = new AsyncDisposableStack();
      const databases = createSwappedDatabases(station.dataDir, join(station.folder, 'saved'));
      const everyone = [...logins, ...newerLogins];
      const devices = everyone.map((one) => stack.use(startChaosDevice(station.mqttUrl, one)));
      const token = await setUp(station, databases);
      await waitFor('all devices to be accepted', () => devices.every(({ device }) => device.isAccepted()));
      const ids = new Map(
        databases
          .query<{ id: string; name: string }>('select id, external_id as name from devices')
          .map(({ id, name }) => [name, id]),
      );
      const chaos = {
        station,
        databases,
        devices,
        ids,
        token,
        random: createRandom(13 + index),
        lives: [],
        fences: [],
      };
      await live(chaos);
      await judge(chaos, kind, test);
    });
  }
});

/** Devices come from the file at the first two starts only, so that a lost database does not get them back. */
async function setUp(station: Installation, databases: SwappedDatabases): Promise<string> {
  await station.startBackend();
  const token = await station.logIn();
  await station.stopBackend('SIGTERM');
  databases.keepAsOlder();
  await writeFile(station.devicesFile, JSON.stringify({ devices: [...logins, ...newerLogins] }));
  await station.startBackend();
  return token;
}

async function live(chaos: Chaos): Promise<void> {
  const { station, databases, random, lives } = chaos;
  delete station.env['DEVICES_FILE'];
  const ending = new AbortController();
  const acting = Promise.all([act(chaos, ending.signal), sendFences(chaos, ending.signal)]);
  try {
    for (let end = 1; end <= ends; end++) {
      const life = beginLife(chaos);
      await delay(400 + 1_200 * random());
      // However slow the machine: presses before the last two of them count.
      if (life.knows.has('fence')) await waitFor('three fences', () => fencesOf(life, chaos).length >= 3);
      await endLife(chaos, random() < 0.7 ? 'SIGKILL' : 'SIGTERM');
      const swap = end === ends ? lastSwap(databases) : chooseSwap(databases, random);
      if (swap !== null) databases.swap(swap);
      // Devices go on meanwhile.
      await delay(300 * random());
      await station.startBackend('anyway');
    }
    beginLife(chaos);
    await delay(1_000);
  } finally {
    ending.abort();
    await acting;
  }
  const last = lives.at(-1);
  if (last !== undefined) last.endedMs = performance.now();
}

function beginLife({ databases, lives }: Chaos): Life {
  const known = { main: [...logins, ...newerLogins], older: logins, empty: [] }[databases.current()];
  const startedMs = performance.now();
  const knows = new Set(known.map(({ externalId }) => externalId));
  const life = { knows, startedMs, endedMs: Infinity, goneMs: Infinity, signal: null };
  lives.push(life);
  return life;
}

/** Those that the backend acknowledged within this life. */
const fencesOf = ({ startedMs, endedMs }: Life, { fences }: Chaos): Fence[] =>
  fences.filter(({ sentMs, acknowledgedMs }) => sentMs >= startedMs && acknowledgedMs <= endedMs);

async function endLife({ station, lives }: Chaos, signal: Signal): Promise<void> {
  const life = lives.at(-1);
  Object.assign(life ?? {}, { endedMs: performance.now(), signal });
  await station.stopBackend(signal);
  Object.assign(life ?? {}, { goneMs: performance.now() });
}

function chooseSwap(databases: SwappedDatabases, random: () => number): Swap | null {
  const dice = random();
  if (databases.current() === 'main') return dice < 0.6 ? null : dice < 0.8 ? 'empty' : 'older';
  return dice < 0.7 ? 'back' : dice < 0.85 ? null : databases.current() === 'empty' ? 'older' : 'empty';
}

const lastSwap = (databases: SwappedDatabases): Swap | null => (databases.current() === 'main' ? null : 'back');

/** People press buttons and send commands; power fails at single devices. */
async function act(chaos: Chaos, signal: AbortSignal): Promise<void> {
  const { devices, random } = chaos;
  const pick = (type: string): ChaosDevice | undefined => {
    const some = devices.filter((one) => one.login.type === type);
    return some[Math.floor(random() * some.length)];
  };
  while (!signal.aborted) {
    const dice = random();
    if (dice < 0.6) pick('switch-pir')?.press();
    else if (dice < 0.75) pick('light')?.reportState();
    else if (dice < 0.97) void command(chaos, pick('light'), signal);
    else pick(random() < 0.5 ? 'light' : 'switch-pir')?.cutPower();
    await delay(20 + 30 * random());
  }
}

async function sendFences({ devices, fences }: Chaos, signal: AbortSignal): Promise<void> {
  const fence = devices.find(({ login: { externalId } }) => externalId === 'fence');
  while (!signal.aborted) {
    const sentMs = performance.now();
    const isSent = await fence?.device.publish('event', { event: 'device_event', data: { action: 'fence' } });
    if (isSent === true) fences.push({ sentMs, acknowledgedMs: performance.now() });
    await delay(20);
  }
}

async function command({ station, ids, token, random }: Chaos, to: ChaosDevice | undefined, signal: AbortSignal) {
  if (to === undefined || !to.isFree()) return;
  // Another command must not come between, also when this answer is lost.
  to.commanded('unanswered');
  try {
    const answer = await fetch(`${station.url}/api/devices/${ids.get(to.login.externalId)}/command`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(to.nextCommand(random)),
      signal: AbortSignal.any([signal, AbortSignal.timeout(3_000)]),
    });
    const { commandId, status } = (await answer.json()) as { commandId?: string; status?: string };
    if (answer.status === 202 && status === 'pending' && commandId !== undefined) to.commanded(commandId);
    else if (answer.status !== 202) to.free();
  } catch (error) {
    // Without a connection there is no command. If the backend ended before it answered, there may be one.
    if (isRefused(error)) to.free();
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof Error &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  error.cause.code === 'ECONNREFUSED';

async function judge(chaos: Chaos, kind: Kind, test: TestContext): Promise<void> {
  const { databases, devices, lives } = chaos;
  const harmed = devices.filter((one) => one.harms() > 0 || one.device.isErased()).map((one) => one.login.externalId);
  for (const one of devices) one.cutPower();
  const isWorking = ({ device }: ChaosDevice): boolean => device.isAccepted();
  await waitFor('all devices to work', () => devices.every(isWorking)).catch(() => undefined);
  const stuck = devices.filter((one) => !isWorking(one)).map((one) => one.login.externalId);

  const isCounted = kind === 'Mosquitto and SQLite' ? isKeptByBroker : isReadByBackend;
  const counted = devices.flatMap(({ presses }) => presses.filter((press) => isCounted(press, chaos)));
  const missing = (): Press[] => {
    const rows = databases.query<{ name: string; data: string }>(
      "select external_id as name, data from device_events join devices on devices.id = device_id where data like '%button_press%'",
    );
    const stored = new Set(rows.map(({ name, data }) => `${name} ${(JSON.parse(data) as { n: number }).n}`));
    return counted.filter(({ externalId, n }) => !stored.has(`${externalId} ${n}`));
  };
  await waitFor('all presses to be written', () => missing().length === 0).catch(() => undefined);
  const lost = missing().map((press) => describePress(press, lives));

  const executed = new Set(devices.flatMap((one) => [...one.executed]));
  const confirmed = databases.query<{ id: string }>("select id from device_commands where status = 'confirmed'");
  const wrong = [...new Set(confirmed.map(({ id }) => id)).difference(executed)];
  assert.deepEqual({ harmed, stuck, lost, wrong }, { harmed: [], stuck: [], lost: [], wrong: [] });

  const sent = devices.reduce((sum, { presses }) => sum + presses.length, 0);
  assert.ok(counted.length > ends, `only ${counted.length} of ${sent} presses count`);
  assert.ok(confirmed.length > ends / 3, `only ${confirmed.length} commands were confirmed`);
  test.diagnostic(
    `${ends} ends, ${counted.length} of ${sent} presses counted and none lost, ${confirmed.length} commands confirmed`,
  );
}

/**
 * A broker read it before this moment: of two fences after it, the second was sent after the first was acknowledged, and was read later.
 */
const isReadBefore = (press: Press, endMs: number, { fences }: Chaos): boolean =>
  fences.filter(({ sentMs, acknowledgedMs }) => sentMs > press.sentMs && acknowledgedMs <= endMs).length >= 2;

/**
 * The broker keeps it: it is written by the life in which it was sent, also while that ends, or when that ended at once, by the next ones.
 * A database that does not know the device cannot keep its press.
 */
function isKeptByBroker(press: Press, chaos: Chaos): boolean {
  const { externalId, sentMs, cutMs } = press;
  const first = chaos.lives.findIndex(({ goneMs }) => sentMs < goneMs);
  const written = first < 0 ? [] : chaos.lives.slice(first, first + 3);
  return isReadBefore(press, cutMs, chaos) && written.length > 0 && written.every(({ knows }) => knows.has(externalId));
}

/** The embedded broker ends with the backend. */
const isReadByBackend = (press: Press, chaos: Chaos): boolean =>
  chaos.lives.some(
    ({ knows, startedMs, endedMs }) =>
      knows.has(press.externalId) &&
      press.sentMs >= startedMs &&
      isReadBefore(press, Math.min(press.cutMs, endedMs), chaos),
  );

function describePress({ externalId, n, sentMs, cutMs }: Press, lives: readonly Life[]): string {
  const life = lives.findIndex(({ endedMs }) => sentMs < endedMs);
  const { startedMs = 0, endedMs = 0, signal } = lives[life] ?? {};
  const [after, before, cut] = [sentMs - startedMs, endedMs - sentMs, cutMs - sentMs].map((ms) => Math.round(ms));
  return `${externalId} ${n}: ${after} ms after the start and ${before} ms before the ${signal} of life ${life}, ${cut} ms before a power cut`;
}
