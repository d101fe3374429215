import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CommandRequest } from '../devices/commands.ts';
import { createDeviceEvents } from '../devices/device-events.ts';
import type { DeviceReport } from '../devices/device-report.ts';
import { createDeviceStore } from '../devices/device-store.ts';
import { manualClock } from '../testing/manual-clock.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { openTestStore } from '../testing/test-store.ts';
import type { Store } from '../store/database.ts';
import { createImageStore, type FirmwareImage } from './image-store.ts';
import { defaultSettings, type RolloutSettings } from './rollout.ts';
import { createRolloutStore, type RolloutRecord } from './rollout-store.ts';
import { startRollouts, type Rollouts } from './rollouts.ts';

const quick: RolloutSettings = { ...defaultSettings, soakMs: 1_000 };
const contentOf = (version: string): Omit<FirmwareImage, 'ready_at'> => ({
  type: 'climate',
  version,
  file: `climate@${version}.bin`,
  checksum: `sha256:${version.padEnd(64, '0').replaceAll('.', 'a')}`,
  size: 1_000,
  chip: null,
  min_version: null,
});

/** A station with devices that do as the test says; `restart` is what a crash leaves. */
async function station(count: number, settings = quick) {
  await using opening = new AsyncDisposableStack();
  const store: Store = opening.use(await openTestStore());
  const clock = manualClock();
  const log = recordedLog();
  const { db } = store;
  const devices = createDeviceStore({ db, clock });
  const events = createDeviceEvents(log);
  const images = createImageStore({ db, clock });
  const rolloutStore = createRolloutStore({ db, clock });
  const sent: CommandRequest[] = [];
  const told: RolloutRecord[] = [];
  let failing = false;
  const start = (): Rollouts =>
    startRollouts({
      store: rolloutStore,
      images,
      events,
      urlOf: (file) => `http://station/firmware/${file}`,
      commands: {
        send: async (request) => {
          if (!failing) sent.push(request);
          const { deviceId, action, userId } = request;
          const reason = failing ? 'The broker did not take the command.' : null;
          const status = failing ? 'failed' : 'pending';
          const command = { commandId: 'c', deviceId, action, status, reason, userId, at: clock.now() } as const;
          return { kind: 'accepted', command };
        },
      },
      tell: ({ rollout }) => told.push(rollout),
      clock,
      log,
      settings,
    });
  let rollouts = start();
  opening.defer(async () => rollouts[Symbol.asyncDispose]());
  const ids: string[] = [];
  const add = async (version: string | null = '1.0.0', status: 'online' | 'offline' = 'online'): Promise<string> => {
    const { id } = await devices.provision({ externalId: `d${ids.length}`, type: 'climate', name: 'd', zoneId: null });
    await db.updateTable('devices').set({ status, firmware_version: version }).where('id', '=', id).execute();
    ids.push(id);
    return id;
  };
  for (let index = 0; index < count; index += 1) await add();
  const hear = async (...reports: DeviceReport[]): Promise<void> => {
    for (const report of reports) {
      if (report.kind !== 'handshake') continue;
      const set = { firmware_version: report.firmwareVersion, status: 'online' as const, last_seen_at: report.at };
      await db.updateTable('devices').set(set).where('id', '=', report.deviceId).execute();
    }
    events.tell({ kind: 'reports', reports });
    await rollouts.settled();
  };
  const handshake = (deviceId: string, firmwareVersion: string) =>
    hear({ kind: 'handshake', deviceId, at: clock.now(), firmwareVersion, chip: 'esp32', kitTag: null });
  const progress = (deviceId: string, percent: number) =>
    hear({
      kind: 'event',
      deviceId,
      at: clock.now(),
      eventKind: 'device_event',
      data: { action: 'ota_progress', percent },
    });
  const ready = async (version: string): Promise<void> => {
    const image = await images.put(contentOf(version));
    assert.ok(image);
    await rollouts.offer(image);
    await rollouts.settled();
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await rollouts.settled();
  };
  const rollout = async (version = '2.0.0'): Promise<RolloutRecord> => {
    const found = await rolloutStore.findFor('climate', version);
    assert.ok(found, `a rollout of ${version}`);
    return found;
  };
  const states = async (version = '2.0.0'): Promise<Record<string, string>> => {
    const targets = await rolloutStore.targets((await rollout(version)).id);
    return Object.fromEntries(targets.map(({ deviceId, state }) => [deviceId, state]));
  };
  const restart = async (): Promise<void> => {
    await rollouts[Symbol.asyncDispose]();
    rollouts = start();
    await rollouts.settled();
  };
  const opened = opening.move();
  return {
    ids,
    sent,
    told,
    images,
    add,
    handshake,
    progress,
    ready,
    pass,
    rollout,
    states,
    restart,
    rollouts: () => rollouts,
    setFailing: (value: boolean) => (failing = value),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Lets every device that was told to update do so, until nobody is told any more. */
async function obey(all: Awaited<ReturnType<typeof station>>, version = '2.0.0'): Promise<void> {
  for (let done = 0; done < all.sent.length;) {
    for (const { deviceId } of all.sent.slice(done)) {
      done += 1;
      await all.progress(deviceId, 50);
      await all.progress(deviceId, 100);
      await all.handshake(deviceId, version);
    }
    await all.pass(quick.soakMs);
    await all.pass(60_000);
  }
}

describe('a firmware that is ready', () => {
  it('goes to every device, a canary first', async () => {
    await using all = await station(12);
    await all.ready('2.0.0');
    assert.equal(all.sent.length, 1);
    assert.deepEqual(all.sent[0]?.params, {
      url: 'http://station/firmware/climate@2.0.0.bin',
      version: '2.0.0',
      checksum: contentOf('2.0.0').checksum,
      size: 1_000,
    });
    await obey(all);
    assert.equal((await all.rollout()).state, 'done');
    assert.deepEqual(new Set(Object.values(await all.states())), new Set(['updated']));
    assert.equal(all.sent.length, 12, 'everyone was told once');
    assert.equal(all.told.at(-1)?.state, 'done');
  });

  it('is handed over again and again without another rollout', async () => {
    await using all = await station(2);
    await all.ready('2.0.0');
    const { id } = await all.rollout();
    await all.ready('2.0.0');
    assert.equal((await all.rollout()).id, id);
  });

  it('that is older than what runs is left alone', async () => {
    await using all = await station(2);
    await all.ready('0.9.0');
    await assert.rejects(all.rollout('0.9.0'));
  });

  it('waits for approval where that is wanted', async () => {
    await using all = await station(2);
    await all.images.setMode('climate', 'approval');
    await all.ready('2.0.0');
    assert.equal((await all.rollout()).state, 'waiting_approval');
    assert.deepEqual(all.sent, []);
    await all.rollouts().act((await all.rollout()).id, 'approve');
    await all.rollouts().settled();
    assert.equal(all.sent.length, 1);
  });

  it('takes the place of one under way, which leaves those that have begun to end', async () => {
    await using all = await station(3);
    await all.ready('2.0.0');
    const first = all.sent[0]?.deviceId as string;
    await all.ready('3.0.0');
    assert.equal((await all.rollout()).state, 'superseded');
    assert.deepEqual(Object.values(await all.states()).sort(), ['skipped', 'skipped', 'updating']);
    assert.equal(all.sent.length, 2);
    assert.notEqual(all.sent[1]?.deviceId, first, 'nobody is sent two at a time');
    await all.handshake(first, '2.0.0');
    assert.equal((await all.states())[first], 'updated');
    assert.equal((await all.states('3.0.0'))[first], 'waiting');
  });

  it('that no device holds stops at the canary, and is not tried again by itself', async () => {
    await using all = await station(5);
    await all.ready('2.0.0');
    const canary = all.sent[0]?.deviceId as string;
    for (const time of [1, 2]) {
      assert.equal(all.sent.length, time);
      await all.progress(canary, 100);
      await all.handshake(canary, '1.0.0');
      await all.pass(10_000);
    }
    const { state, reason } = await all.rollout();
    assert.equal(state, 'stopped');
    assert.match(reason ?? '', /did not hold/);
    await all.handshake(canary, '1.0.0');
    await all.ready('2.0.0');
    await all.restart();
    assert.equal(all.sent.length, 2);
  });

  it('goes, on request, also where it failed, and also backwards', async () => {
    await using all = await station(1);
    await all.ready('2.0.0');
    await obey(all);
    const old = await all.images.put(contentOf('1.0.0'));
    assert.ok(old);
    const rollout = await all.rollouts().request(old, 'somebody');
    assert.equal(rollout?.requestedBy, 'somebody');
    await all.rollouts().settled();
    assert.equal(all.sent.at(-1)?.params['version'], '1.0.0');
    assert.equal(await all.rollouts().request({ ...old, version: '2.0.0' }, 'somebody'), null, 'all have it');
    await all.handshake(all.ids[0] ?? '', '1.0.0');
    await all.pass(60_000);
    assert.equal(all.sent.at(-1)?.params['version'], '1.0.0', 'it keeps what was asked for');
  });
});

describe('devices that are not there', () => {
  it('update when they wake', async () => {
    await using all = await station(1);
    const sleeper = await all.add('1.0.0', 'offline');
    await all.ready('2.0.0');
    await obey(all);
    assert.equal((await all.rollout()).state, 'running');
    await all.handshake(sleeper, '1.0.0');
    await all.pass(1_000);
    assert.equal(all.sent.at(-1)?.deviceId, sleeper);
    await all.handshake(sleeper, '2.0.0');
    assert.equal((await all.rollout()).state, 'done');
  });

  it('any more with the new version, though they were, are tried again while they may', async () => {
    await using all = await station(2);
    await all.ready('2.0.0');
    await obey(all);
    const [fallen = ''] = all.ids;
    for (const [sent, state] of [
      [3, 'running'],
      [3, 'done'],
    ] as const) {
      assert.equal((await all.rollout()).state, 'done');
      await all.handshake(fallen, '1.0.0');
      await all.pass(60_000);
      assert.deepEqual([all.sent.length, (await all.rollout()).state], [sent, state]);
      if (state === 'running') await all.handshake(fallen, '2.0.0');
    }
    assert.equal((await all.states())[fallen], 'failed');
  });

  it('and come later get it too', async () => {
    await using all = await station(1);
    await all.ready('2.0.0');
    await obey(all);
    const late = await all.add('1.0.0');
    await all.handshake(late, '1.0.0');
    await obey(all);
    assert.equal((await all.states())[late], 'updated');
    assert.equal((await all.rollout()).state, 'done');
  });

  it('and ask over HTTP are answered when it is their turn', async () => {
    await using all = await station(0);
    const [one, other] = [await all.add('1.0.0', 'offline'), await all.add('1.0.0', 'offline')];
    await all.ready('2.0.0');
    const ask = (deviceId: string, version: string) => all.rollouts().ask({ deviceId, type: 'climate', version });
    assert.equal((await ask(one, '1.0.0'))?.version, '2.0.0');
    assert.equal((await ask(one, '1.0.0'))?.version, '2.0.0', 'it may ask again');
    assert.equal(await ask(other, '1.0.0'), null, 'one canary is enough');
    assert.deepEqual(all.sent, [], 'who asks needs no command');
    await all.handshake(one, '2.0.0');
    assert.equal(await ask(one, '2.0.0'), null);
    await all.pass(2_000);
    assert.equal((await ask(other, '1.0.0'))?.version, '2.0.0');
  });
});

describe('a crash', () => {
  it('at any point leaves nobody updating for longer than a minute, and nobody out', async () => {
    await using all = await station(4);
    await all.ready('2.0.0');
    for (let round = 0; round < 60 && (await all.rollout()).state === 'running'; round += 1) {
      const { deviceId } = all.sent.at(-1) as CommandRequest;
      // The device is killed in the middle as well, every other time.
      await all.progress(deviceId, (round * 37) % 100);
      await all.restart();
      if (round % 2 === 0) await all.handshake(deviceId, '1.0.0');
      else await all.progress(deviceId, 100);
      await all.restart();
      if (round % 2 === 1) await all.handshake(deviceId, '2.0.0');
      await all.pass(60_000);
    }
    assert.equal((await all.rollout()).state, 'done');
  });

  it('between writing and sending is made good', async () => {
    await using all = await station(1);
    all.setFailing(true);
    await all.ready('2.0.0');
    await all.restart();
    all.setFailing(false);
    for (let second = 0; second < 60 && all.sent.length === 0; second += 1) await all.pass(1_000);
    assert.equal(all.sent.length, 1);
  });

  it('does not make a download start over that goes on', async () => {
    await using all = await station(1);
    await all.ready('2.0.0');
    await all.progress(all.ids[0] as string, 10);
    await all.pass(3_600_000 - 60_000);
    await all.restart();
    await all.progress(all.ids[0] as string, 20);
    await all.pass(30_000);
    assert.deepEqual(Object.values(await all.states()), ['updating']);
  });
});

describe('people', () => {
  it('pause, resume and abort', async () => {
    await using all = await station(3);
    await all.ready('2.0.0');
    const { id } = await all.rollout();
    const act = (action: 'approve' | 'pause' | 'resume' | 'abort') => all.rollouts().act(id, action);
    assert.equal(await act('approve'), null);
    assert.equal((await act('pause'))?.state, 'paused');
    assert.equal(await act('pause'), null);
    await all.handshake(all.sent[0]?.deviceId as string, '2.0.0');
    await all.pass(100_000);
    assert.equal(all.sent.length, 1);
    assert.equal((await act('resume'))?.state, 'running');
    await all.rollouts().settled();
    assert.equal(all.sent.length, 2);
    assert.equal((await act('abort'))?.state, 'aborted');
    assert.equal(await act('resume'), null);
    assert.deepEqual(Object.values(await all.states()).sort(), ['skipped', 'updated', 'updating']);
    await all.handshake(all.sent[1]?.deviceId as string, '2.0.0');
    assert.deepEqual(Object.values(await all.states()).sort(), ['skipped', 'updated', 'updated']);
    assert.equal((await all.rollout()).state, 'aborted');
  });
});
