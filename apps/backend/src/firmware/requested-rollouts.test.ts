import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentOf, firmwareStation, carryOut, quick } from '../../testing/firmware-station.ts';

type Station = Awaited<ReturnType<typeof firmwareStation>>;

/** Requests a version whose image may be older than the newest. */
async function request(all: Station, version: string): Promise<void> {
  const image = (await all.images.find('climate', version)) ?? (await all.images.put(contentOf(version)));
  assert.ok(image);
  assert.ok(await all.rollouts().request(image, 'somebody'), `a rollout of ${version}`);
  await all.rollouts().settled();
}

/** The version of the last command to each device. */
const lastSent = ({ sent, ids }: Station): unknown[] =>
  ids.map((id) => sent.findLast(({ deviceId }) => deviceId === id)?.params['version']);

describe('an older version on request', () => {
  for (const needs_approval of [null, 1]) {
    it(`is not replaced by the newest during its rollout (needs approval: ${needs_approval})`, async () => {
      await using all = await firmwareStation(0);
      // They have the newest from the start, so there is no rollout of it.
      for (const _ of [1, 2, 3]) await all.add('2.0.0');
      await all.rollouts().offer((await all.images.put({ ...contentOf('2.0.0'), needs_approval })) ?? assert.fail());
      await request(all, '1.0.0');
      await carryOut(all, '1.0.0');
      assert.deepEqual(lastSent(all), ['1.0.0', '1.0.0', '1.0.0']);
      assert.equal((await all.rollout('1.0.0')).state, 'done');
      for (const id of all.ids) await all.handshake(id, '1.0.0');
      await all.restart();
      await all.pass(60_000);
      assert.equal(all.sent.length, 3, 'no device gets a further command');
      await assert.rejects(all.rollout('2.0.0'));
    });
  }

  it('stays also on a device that was not part of the rollout of the newest', async () => {
    await using all = await firmwareStation(1);
    await all.ready('2.0.0');
    await carryOut(all);
    await all.add('2.0.0');
    await request(all, '1.0.0');
    await carryOut(all, '1.0.0');
    for (const id of all.ids) await all.handshake(id, '1.0.0');
    await all.pass(60_000);
    assert.equal((await all.rollout('2.0.0')).state, 'done');
    assert.deepEqual(lastSent(all), ['1.0.0', '1.0.0']);
  });

  it('goes to devices that come later with an even older version', async () => {
    await using all = await firmwareStation(1);
    await all.ready('2.0.0');
    await carryOut(all);
    await request(all, '1.0.0');
    await carryOut(all, '1.0.0');
    const late = await all.add('0.9.0');
    await all.handshake(late, '0.9.0');
    await carryOut(all, '1.0.0');
    assert.deepEqual(lastSent(all), ['1.0.0', '1.0.0']);
  });

  it('stays on the devices that have it when the rollout is aborted', async () => {
    await using all = await firmwareStation(3);
    await all.ready('2.0.0');
    await carryOut(all);
    await request(all, '1.0.0');
    const { deviceId: first } = all.sent.at(-1) ?? assert.fail();
    await all.handshake(first, '1.0.0');
    assert.equal((await all.states('1.0.0'))[first], 'updated');
    await all.rollouts().act((await all.rollout('1.0.0')).id, 'abort');
    const before = all.sent.length;
    await all.handshake(first, '1.0.0');
    await all.restart();
    await all.pass(60_000);
    assert.equal(all.sent.length, before);
  });

  it('is replaced by the newest on request', async () => {
    await using all = await firmwareStation(1);
    await all.ready('2.0.0');
    await carryOut(all);
    await request(all, '1.0.0');
    await carryOut(all, '1.0.0');
    await all.pass(1_000);
    await request(all, '2.0.0');
    await carryOut(all, '2.0.0');
    assert.deepEqual(lastSent(all), ['2.0.0']);
    assert.equal((await all.rollout('2.0.0')).state, 'done');
  });

  it('is replaced by an image that arrives during its rollout, once the rollout has ended', async () => {
    await using all = await firmwareStation(2);
    await all.ready('2.0.0');
    await carryOut(all);
    await request(all, '1.0.0');
    await all.pass(1_000);
    await all.ready('2.1.0');
    assert.equal((await all.rollout('1.0.0')).state, 'running', 'an automatic rollout does not supersede it');
    await assert.rejects(all.rollout('2.1.0'));
    for (const count of [1, 2]) {
      const { deviceId } = all.sent.at(-1) ?? assert.fail();
      await all.handshake(deviceId, '1.0.0');
      assert.equal(Object.values(await all.states('1.0.0')).filter((state) => state === 'updated').length, count);
      if (count === 1) await all.pass(quick.soakMs);
    }
    await all.pass(1_000);
    all.carriedOut.count = all.sent.length - 1;
    assert.equal((await all.rollout('1.0.0')).state, 'done');
    await carryOut(all, '2.1.0');
    assert.deepEqual(lastSent(all), ['2.1.0', '2.1.0']);
    assert.equal((await all.rollout('2.1.0')).state, 'done');
  });
});
