import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentOf, firmwareStation as station, carryOut, quick } from '../../testing/firmware-station.ts';
import type { CommandRequest } from '../core/commands.ts';

describe('a new image', () => {
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
    await carryOut(all);
    assert.equal((await all.rollout()).state, 'done');
    assert.deepEqual(new Set(Object.values(await all.states())), new Set(['updated']));
    assert.equal(all.sent.length, 12, 'each device got one command');
    assert.equal(all.changes.at(-1)?.state, 'done');
  });

  it('keeps a report of a device that comes while a person pauses the rollout', async () => {
    await using all = await station(2);
    await all.ready('2.0.0');
    const { deviceId: canary } = all.sent[0] ?? assert.fail();
    const { rolloutStore } = all;
    const { id } = await all.rollout();
    const { save } = rolloutStore;
    let refused = 0;
    rolloutStore.save = async (...saved) => {
      rolloutStore.save = save;
      await rolloutStore.transition(id, ['running'], 'paused', null);
      const isSaved = await save(...saved);
      if (!isSaved) refused += 1;
      return isSaved;
    };
    const data = { action: 'ota_failed', reason: 'no space' };
    await all.report({ kind: 'event', deviceId: canary, at: 1, eventKind: 'device_event', data });
    await all.pass(0);
    assert.equal(refused, 1);
    const [target] = (await rolloutStore.targets(id)).filter(({ deviceId }) => deviceId === canary);
    assert.deepEqual([target?.failures, target?.reason], [1, 'no space']);
  });

  it('that is announced again starts no further rollout', async () => {
    await using all = await station(2);
    await all.ready('2.0.0');
    const { id } = await all.rollout();
    await all.ready('2.0.0');
    assert.equal((await all.rollout()).id, id);
  });

  it('goes to the next wave although the canary repeats its handshake more often than once in a soak time', async () => {
    await using all = await station(2);
    await all.ready('2.0.0');
    const { deviceId: canary } = all.sent[0] ?? assert.fail();
    await all.handshake(canary, '2.0.0');
    const changes = all.changes.length;
    for (let handshake = 1; handshake <= 3; handshake += 1) {
      await all.pass(quick.soakMs / 4);
      await all.handshake(canary, '2.0.0');
    }
    assert.equal(all.changes.length, changes, 'a handshake does not change the rollout');
    await all.pass(quick.soakMs / 4);
    assert.equal(all.sent.length, 2);
  });

  it('does not go on from a canary that keeps restarting, also when the station restarts too', async () => {
    await using all = await station(2, { ...quick, soakMs: 60_000 });
    await all.ready('2.0.0');
    const { deviceId: canary } = all.sent[0] ?? assert.fail();
    for (let start = 0; start < 20; start += 1) {
      await all.handshake(canary, '2.0.0');
      await all.pass(7_000);
      await all.restart();
    }
    assert.equal((await all.rollout()).state, 'stopped');
    assert.equal(all.sent.length, 1);
  });

  it('goes on from a canary whose handshakes waited at the broker', async () => {
    await using all = await station(2);
    await all.ready('2.0.0');
    const { deviceId: canary } = all.sent[0] ?? assert.fail();
    await all.report(...Array.from({ length: 20 }, () => all.handshakeOf(canary, '2.0.0')));
    await all.pass(quick.soakMs);
    assert.equal(all.sent.length, 2);
  });

  it('that is older than the running version starts no rollout', async () => {
    await using all = await station(2);
    await all.ready('0.9.0');
    await assert.rejects(all.rollout('0.9.0'));
  });

  const handOver = async (all: Awaited<ReturnType<typeof station>>, needs_approval: 1 | null): Promise<void> => {
    const content = { ...contentOf('2.0.0'), needs_approval };
    await all.rollouts().offer((await all.images.put(content)) ?? assert.fail());
    await all.rollouts().settled();
  };

  it('waits for approval if it needs one, and for nothing else after that', async () => {
    await using all = await station(2);
    await handOver(all, 1);
    assert.deepEqual([(await all.rollout()).state, all.sent], ['waiting_approval', []]);
    await all.restart();
    await all.pass(60_000);
    assert.deepEqual([(await all.rollout()).state, all.sent], ['waiting_approval', []]);
    await all.rollouts().act((await all.rollout()).id, 'approve');
    await all.rollouts().settled();
    assert.equal(all.sent.length, 1);
  });

  it('begins at once when it is handed over again and needs no approval any more; not if it was rejected', async () => {
    for (const [isRejected, sent] of [
      [false, 1],
      [true, 0],
    ] as const) {
      await using all = await station(2);
      await handOver(all, 1);
      if (isRejected) await all.rollouts().act((await all.rollout()).id, 'abort');
      await handOver(all, null);
      assert.equal((await all.rollout()).state, isRejected ? 'aborted' : 'running');
      assert.equal(all.sent.length, sent);
    }
  });

  it('goes on when a person wants to be asked from now on, and asks about the next one', async () => {
    await using all = await station(2);
    await handOver(all, null);
    await handOver(all, 1);
    assert.deepEqual([(await all.rollout()).state, all.sent.length], ['running', 1]);
    await all.rollouts().offer((await all.images.put({ ...contentOf('3.0.0'), needs_approval: 1 })) ?? assert.fail());
    assert.equal((await all.rollout('3.0.0')).state, 'waiting_approval');
  });

  it('supersedes an active rollout, whose started devices finish', async () => {
    await using all = await station(3);
    await all.ready('2.0.0');
    const first = all.sent[0]?.deviceId as string;
    await all.ready('3.0.0');
    assert.equal((await all.rollout()).state, 'superseded');
    assert.deepEqual(Object.values(await all.states()).sort(), ['skipped', 'skipped', 'updating']);
    assert.equal(all.sent.length, 2);
    assert.notEqual(all.sent[1]?.deviceId, first, 'no device gets two at a time');
    await all.handshake(first, '2.0.0');
    assert.equal((await all.states())[first], 'updated');
    assert.equal((await all.states('3.0.0'))[first], 'waiting');
  });

  it('that no device keeps stops at the canary, and is not retried automatically', async () => {
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

  it('is installed on request also where it failed, and also as a downgrade', async () => {
    await using all = await station(1);
    await all.ready('2.0.0');
    await carryOut(all);
    const old = await all.images.put(contentOf('1.0.0'));
    assert.ok(old);
    const rollout = await all.rollouts().request(old, 'somebody');
    assert.equal(rollout?.requestedBy, 'somebody');
    await all.rollouts().settled();
    assert.equal(all.sent.at(-1)?.params['version'], '1.0.0');
    assert.equal(await all.rollouts().request({ ...old, version: '2.0.0' }, 'somebody'), null, 'all have it');
    await all.handshake(all.ids[0] ?? '', '1.0.0');
    await all.pass(60_000);
    assert.equal(all.sent.at(-1)?.params['version'], '1.0.0', 'it keeps the requested version');
  });
});

describe('an offline device', () => {
  it('is updated when it wakes', async () => {
    await using all = await station(1);
    const sleeper = await all.add('1.0.0', 'offline');
    await all.ready('2.0.0');
    await carryOut(all);
    assert.equal((await all.rollout()).state, 'running');
    await all.handshake(sleeper, '1.0.0');
    await all.pass(1_000);
    assert.equal(all.sent.at(-1)?.deviceId, sleeper);
    await all.handshake(sleeper, '2.0.0');
    assert.equal((await all.rollout()).state, 'done');
  });

  it('that falls back after its update is retried within its attempts', async () => {
    await using all = await station(2);
    await all.ready('2.0.0');
    await carryOut(all);
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

  it('that joins after the rollout gets the version too', async () => {
    await using all = await station(1);
    await all.ready('2.0.0');
    await carryOut(all);
    const late = await all.add('1.0.0');
    await all.handshake(late, '1.0.0');
    await carryOut(all);
    assert.equal((await all.states())[late], 'updated');
    assert.equal((await all.rollout()).state, 'done');
  });

  it('that asks over HTTP gets the image when its turn has come', async () => {
    await using all = await station(0);
    const one = await all.add('1.0.0', 'offline');
    const other = await all.add('1.0.0', 'offline');
    await all.ready('2.0.0');
    const ask = (deviceId: string, version: string) =>
      all.rollouts().ask({ deviceId, type: 'climate', version, chip: null });
    assert.equal((await ask(one, '1.0.0'))?.version, '2.0.0');
    assert.equal((await ask(one, '1.0.0'))?.version, '2.0.0', 'it may ask again');
    assert.equal(await ask(other, '1.0.0'), null, 'there is one canary');
    assert.deepEqual(all.sent, [], 'a device that asks needs no command');
    await all.handshake(one, '2.0.0');
    assert.equal(await ask(one, '2.0.0'), null);
    await all.pass(2_000);
    assert.equal((await ask(other, '1.0.0'))?.version, '2.0.0');
  });
});

describe('a crash', () => {
  it('at any point leaves no device updating for longer than a minute, and none without the update', async () => {
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

  it('between writing and sending is repaired by the next check', async () => {
    await using all = await station(1);
    all.setFailing(true);
    await all.ready('2.0.0');
    await all.restart();
    all.setFailing(false);
    for (let second = 0; second < 60 && all.sent.length === 0; second += 1) await all.pass(1_000);
    assert.equal(all.sent.length, 1);
  });

  it('does not restart a download that continues', async () => {
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
