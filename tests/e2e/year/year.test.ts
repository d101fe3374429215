import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isoTime } from '@station/kit/clock';
import type { Status } from '@station/protocol/agent-api';
import type { DeviceEvent } from '@station/protocol/devices';
import type { AutomationSummary } from '@station/protocol/automations';
import type { BackupView } from '@station/protocol/backup-api';
import { dayMs, type Entry, makeCalendar } from './calendar.ts';
import { createYearHouse, passphrase, timeZone, type YearHouse } from './year-house.ts';

/** All of it with `npm run sweep -- year`; otherwise a fortnight, with what happens in four months. */
const days = Number(process.env['STATION_DAYS'] ?? (process.env['STATION_SWEEP'] === 'yes' ? 365 : 14));
const eventDays = Math.max(120, days);
const seed = process.env['STATION_SEED'] ?? 'a year';
const minute = 60_000;
const hour = 60 * minute;
const startMs = Date.parse('2027-01-10T07:00:00Z');
const deviceCount = 60;
/** After a power cut, an outage or a full card everything is as before within this time. */
const recoveryMs = 30 * minute;

type Story = {
  house: YearHouse;
  say: (text: string) => void;
  releases: { wanted: string; bad: number; rolledBack: number };
  firmware: string;
  ids: Map<string, string>;
  automationId: string;
  /** Conditions that stand now, with the time since. */
  standing: Map<string, number>;
  raised: Map<string, number>;
  /** Of each look. */
  memory: { at: number; agent: number; backend: number }[];
  lostMornings: number;
  checked: number;
  /** The time from which on a look may find everything right. */
  disturbedUntil: number;
  faults: string[];
};

test(`a station on its own for ${days} days`, { timeout: 4 * 3_600_000 }, async () => {
  await using house = await createYearHouse({ startMs, devices: deviceCount });
  const began = performance.now();
  const say = (text: string): void => {
    const minutes = ((performance.now() - began) / 60_000).toFixed(1);
    process.stderr.write(`${minutes} min, ${isoTime(house.time.now()).slice(0, 16)} ${text}\n`);
  };
  const story = await begin(house, say);
  try {
    for (const entry of makeCalendar(days, eventDays, seed)) {
      const left = startMs + entry.at - house.time.now();
      if (left > 0) await house.live(left);
      await happen(story, entry);
    }
    await house.live(2 * dayMs);
    await look(story);
    await assertEnd(story, performance.now() - began);
  } catch (error) {
    process.stderr.write(`${await house.logTail()}\n`);
    throw error;
  }
});

async function begin(house: YearHouse, say: (text: string) => void): Promise<Story> {
  await house.work('all devices', async () => (await house.away()).length === 0, { mostMs: recoveryMs });
  const all = await house.call<{ id: string; name: string; type: string }[]>('/api/devices');
  const ids = new Map(all.map(({ id, name }) => [name, id]));
  const lamp = all.find(({ type }) => type === 'light');
  const flow = {
    nodes: [
      { id: 't', type: 'trigger', data: { kind: 'schedule', config: { time: '07:00' } } },
      { id: 'a', type: 'action', data: { kind: 'device_command', config: { deviceId: lamp?.id, action: 'turn_on' } } },
    ],
    edges: [{ id: 'e', source: 't', target: 'a' }],
  };
  const { id: automationId } = await house.call<{ id: string }>('/api/automations', { name: 'Morning', flow });
  await house.call(`/api/automations/${automationId}/publish`, undefined, 'POST');
  const keep = { daily: 7, weekly: 4 };
  const backup = { nightly: true, at: '02:00', keep, folder: true, webdav: null, passphrase };
  await house.call('/api/backup/settings', backup, 'PUT');
  return {
    house,
    say,
    releases: { wanted: '1.0.0', bad: 0, rolledBack: 0 },
    firmware: '1.0.0',
    ids,
    automationId,
    standing: new Map(),
    raised: new Map(),
    memory: [],
    lostMornings: 0,
    checked: 0,
    disturbedUntil: 0,
    faults: [],
  };
}

async function happen(story: Story, entry: Entry): Promise<void> {
  const { house, say } = story;
  if (entry.kind === 'look') return look(story);
  say(JSON.stringify(entry));
  switch (entry.kind) {
    case 'release':
      return release(story, entry);
    case 'firmware':
      return firmware(story, entry.cut);
    case 'power_cut':
      return cutPower(story, entry.offMs);
    case 'router_off':
      return house.setRouter(false);
    case 'router_on':
      await house.setRouter(true);
      return recover(story, 'an outage');
    case 'card_full':
      return house.card.fill();
    case 'card_emptied':
      await house.card.empty();
      return recover(story, 'a full card');
    case 'stick_out':
      return house.stick.detach();
    case 'stick_in':
      return house.stick.mount();
  }
}

async function release(story: Story, { behaviour, newKey, cutIn }: Entry & { kind: 'release' }): Promise<void> {
  const { house, releases } = story;
  if (newKey) house.publisher.rotateKey();
  const version = await house.publisher.release(behaviour);
  // The error itself is gone with the next check that finds nothing wrong.
  const outcome = (status: Status | null) =>
    status?.history.find(({ kind, to }) => kind === 'update' && to === version);
  const isOver = async (): Promise<boolean> => {
    const status = await house.status();
    if (status?.operation !== null) return false;
    return behaviour === 'good' ? status.currentVersion === version : outcome(status)?.result === 'rolled_back';
  };
  if (cutIn !== null) {
    const isThere = async (): Promise<boolean> => (await house.status())?.operation?.phase === cutIn;
    for (let waited = 0; waited < dayMs && (await house.status())?.operation === null; waited += 2 * minute)
      await house.live(2 * minute);
    await house.work(`phase ${cutIn}`, async () => (await isThere()) || (await isOver()), { mostMs: 2 * hour });
    await cutPower(story, minute);
  }
  for (let waited = 0; waited < 2 * dayMs && !(await isOver()); waited += 10 * minute) await house.live(10 * minute);
  const status = await house.status();
  const { result = 'not tried', code = null } = outcome(status) ?? {};
  story.say(`release ${version} (${behaviour}): ${result} ${code ?? ''}`);
  if (behaviour === 'good') releases.wanted = version;
  else {
    releases.bad += 1;
    if (result === 'rolled_back') releases.rolledBack += 1;
  }
  if (status?.currentVersion !== releases.wanted)
    fault(story, `release ${version}: the station runs ${status?.currentVersion}`);
  await recover(story, `release ${version}`);
}

async function firmware(story: Story, cut: boolean): Promise<void> {
  const { house } = story;
  const version = house.publisher.firmware();
  const lamps = house.devices.filter(({ device }) => device.login.type === 'light');
  const done = (): number => lamps.filter(({ device }) => device.firmwareVersion() === version).length;
  const slowly = { mostMs: 2 * dayMs, eachMs: 10_000 };
  if (cut) {
    await house.work('half of the lamps', async () => done() > lamps.length / 4, slowly);
    await cutPower(story, 5 * minute);
  }
  await house.work(`firmware ${version}`, async () => done() === lamps.length, slowly);
  story.firmware = version;
  await recover(story, `firmware ${version}`);
}

async function cutPower(story: Story, offMs: number): Promise<void> {
  await story.house.cutPower(offMs);
  await recover(story, 'a power cut');
}

/** Everybody is back in time, without a hand. */
async function recover(story: Story, what: string): Promise<void> {
  const { house } = story;
  await house
    .work(`all devices after ${what}`, async () => (await house.away()).length === 0, { mostMs: recoveryMs })
    .catch(async (error: Error) => fault(story, `${error.message}: ${(await house.away()).join(', ')}`));
  await findNumbers(story, house.devices);
}

function fault(story: Story, text: string): void {
  story.faults.push(`${isoTime(story.house.time.now())} ${text}`);
  story.say(`FAULT ${text}`);
}

/** What the broker has acknowledged is in the activity of the device. */
async function findNumbers(story: Story, devices: YearHouse['devices']): Promise<void> {
  const { house, ids } = story;
  for (const { name, acknowledged } of devices) {
    const events = await house.call<DeviceEvent[]>(`/api/devices/${ids.get(name)}/events?limit=60`);
    const stored = new Set(events.flatMap(({ data }) => (data['action'] === 'counted' ? [data['n']] : [])));
    const oldest = Date.parse(events.at(-1)?.at ?? '1970-01-01');
    const lost = acknowledged.filter(({ n, at }) => at > oldest && !stored.has(n));
    story.checked += acknowledged.length - lost.length;
    if (lost.length > 0) fault(story, `${name} lost ${lost.map(({ n }) => n).join(', ')}`);
  }
}

/** Each noon. */
async function look(story: Story): Promise<void> {
  const { house, standing, raised } = story;
  const now = house.time.now();
  const conditions = await house.conditions();
  for (const id of conditions) {
    if (standing.has(id)) continue;
    standing.set(id, now);
    raised.set(id, (raised.get(id) ?? 0) + 1);
    story.say(`condition ${id}`);
  }
  for (const id of standing.keys()) {
    if (conditions.includes(id)) continue;
    standing.delete(id);
    story.say(`cleared ${id}`);
  }
  story.memory.push({ at: now, ...(await house.memory()) });
  const automations = await house.call<AutomationSummary[]>('/api/automations');
  const lastRun = automations.find(({ id }) => id === story.automationId)?.lastRun;
  const ran = new Date(lastRun?.startedAt ?? 0).toLocaleString('sv', { timeZone });
  const today = new Date(now).toLocaleString('sv', { timeZone }).slice(0, 10);
  if (!ran.startsWith(`${today} 07:0`)) {
    story.lostMornings += 1;
    story.say(`no morning: the last run was ${ran}`);
  }
  await findNumbers(
    story,
    house.devices.filter((_, index) => index % 12 === story.memory.length % 12),
  );
  if (story.memory.length % 10 === 0) story.say(JSON.stringify(story.memory.at(-1)));
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

async function assertEnd(story: Story, tookMs: number): Promise<void> {
  const { house, releases, memory, faults } = story;
  const month = (index: number): Story['memory'] => memory.slice(index * 30, (index + 1) * 30);
  const last = Math.max(1, Math.floor(memory.length / 30) - 1);
  const ratioOf = (of: 'agent' | 'backend'): number =>
    median(month(last).map((one) => one[of])) / median(month(1).map((one) => one[of]));
  const { backups } = await house.call<BackupView>('/api/backup');
  const youngest = Math.max(...backups.map(({ madeAt }) => Date.parse(madeAt)));
  const result = {
    days,
    minutes: Math.round(tookMs / 60_000),
    raised: Object.fromEntries(story.raised),
    standing: [...story.standing.keys()],
    releases,
    firmware: story.firmware,
    numbersFound: story.checked,
    lostMornings: story.lostMornings,
    memoryRatio: days < 90 ? null : { agent: ratioOf('agent'), backend: ratioOf('backend') },
    ageOfBackupHours: Math.round((house.time.now() - youngest) / hour),
    away: await house.away(),
    faults,
  };
  process.stderr.write(`${JSON.stringify(result, null, 2)}\n`);
  assert.deepEqual(faults, []);
  assert.deepEqual(result.standing, [], 'conditions that nobody clears');
  assert.deepEqual(result.away, []);
  assert.equal(releases.rolledBack, releases.bad);
  assert.ok(result.ageOfBackupHours <= 48, 'no backup of the last two days');
  for (const ratio of Object.values(result.memoryRatio ?? {})) assert.ok(ratio <= 1.05, `memory ${ratio}`);
}
