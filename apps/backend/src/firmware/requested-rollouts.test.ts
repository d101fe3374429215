import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentOf, firmwareStation, obey, quick } from '../testing/firmware-station.ts';

type Station = Awaited<ReturnType<typeof firmwareStation>>;

/** The images of before are there; somebody asks for an older one. */
async function askFor(all: Station, version: string): Promise<void> {
  const image = (await all.images.find('climate', version)) ?? (await all.images.put(contentOf(version)));
  assert.ok(image);
  assert.ok(await all.rollouts().request(image, 'somebody'), `a rollout of ${version}`);
  await all.rollouts().settled();
}

/** What each device was told to run, last. */
const lastSent = ({ sent, ids }: Station): unknown[] =>
  ids.map((id) => sent.findLast(({ deviceId }) => deviceId === id)?.params['version']);

describe('an older version that somebody asked for', () => {
  for (const mode of ['automatic', 'approval'] as const) {
    it(`is not undone by the newest while it goes out (${mode})`, async () => {
      await using all = await firmwareStation(0);
      await all.images.setMode('climate', mode);
      // They came with the newest, so that there was no rollout of it.
      for (const _ of [1, 2, 3]) await all.add('2.0.0');
      await all.ready('2.0.0');
      await askFor(all, '1.0.0');
      await obey(all, '1.0.0');
      assert.deepEqual(lastSent(all), ['1.0.0', '1.0.0', '1.0.0']);
      assert.equal((await all.rollout('1.0.0')).state, 'done');
      for (const id of all.ids) await all.handshake(id, '1.0.0');
      await all.restart();
      await all.pass(60_000);
      assert.equal(all.sent.length, 3, 'nobody is told anything else afterwards');
      await assert.rejects(all.rollout('2.0.0'));
    });
  }

  it('stays also on a device that was no part of the rollout of the newest', async () => {
    await using all = await firmwareStation(1);
    await all.ready('2.0.0');
    await obey(all);
    await all.add('2.0.0');
    await askFor(all, '1.0.0');
    await obey(all, '1.0.0');
    for (const id of all.ids) await all.handshake(id, '1.0.0');
    await all.pass(60_000);
    assert.equal((await all.rollout('2.0.0')).state, 'done');
    assert.deepEqual(lastSent(all), ['1.0.0', '1.0.0']);
  });

  it('is what devices get that turn up later with something older still', async () => {
    await using all = await firmwareStation(1);
    await all.ready('2.0.0');
    await obey(all);
    await askFor(all, '1.0.0');
    await obey(all, '1.0.0');
    const late = await all.add('0.9.0');
    await all.handshake(late, '0.9.0');
    await obey(all, '1.0.0');
    assert.deepEqual(lastSent(all), ['1.0.0', '1.0.0']);
  });

  it('stays where it arrived when it was stopped half-way', async () => {
    await using all = await firmwareStation(3);
    await all.ready('2.0.0');
    await obey(all);
    await askFor(all, '1.0.0');
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

  it('makes way for the newest when somebody asks for that again', async () => {
    await using all = await firmwareStation(1);
    await all.ready('2.0.0');
    await obey(all);
    await askFor(all, '1.0.0');
    await obey(all, '1.0.0');
    await all.pass(1_000);
    await askFor(all, '2.0.0');
    await obey(all, '2.0.0');
    assert.deepEqual(lastSent(all), ['2.0.0']);
    assert.equal((await all.rollout('2.0.0')).state, 'done');
  });

  it('makes way for an image that is newer than the one it took the place of, once it has ended', async () => {
    await using all = await firmwareStation(2);
    await all.ready('2.0.0');
    await obey(all);
    await askFor(all, '1.0.0');
    await all.pass(1_000);
    await all.ready('2.1.0');
    assert.equal((await all.rollout('1.0.0')).state, 'running', 'what goes out by itself does not push it aside');
    await assert.rejects(all.rollout('2.1.0'));
    for (const count of [1, 2]) {
      const { deviceId } = all.sent.at(-1) ?? assert.fail();
      await all.handshake(deviceId, '1.0.0');
      assert.equal(Object.values(await all.states('1.0.0')).filter((state) => state === 'updated').length, count);
      if (count === 1) await all.pass(quick.soakMs);
    }
    await all.pass(1_000);
    all.obeyed.count = all.sent.length - 1;
    assert.equal((await all.rollout('1.0.0')).state, 'done');
    await obey(all, '2.1.0');
    assert.deepEqual(lastSent(all), ['2.1.0', '2.1.0']);
    assert.equal((await all.rollout('2.1.0')).state, 'done');
  });
});
