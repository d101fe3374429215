import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { recordedLog } from '../testing/recorded-log.ts';
import { until } from '../testing/until.ts';
import { startBrokerLogins } from './broker-logins.ts';
import type { DeviceLogin, Dynsec } from './dynsec.ts';

type Held = { isOfDevice: boolean; isOwn: boolean };
const own: Held = { isOfDevice: true, isOwn: true };

/** A broker's logins, and the devices of a station; it notes what is asked of it. */
function withLogins(held: Record<string, Held>, devices: string[]) {
  const logins = new Map(Object.entries(held));
  const present = new Set(devices);
  const removed: string[] = [];
  const dynsec: Dynsec = {
    prepare: async () => true,
    add: async (added) => added.forEach(({ externalId }) => logins.set(externalId, own)),
    remove: async (externalId) => {
      removed.push(externalId);
      logins.delete(externalId);
    },
    list: async () => [...logins].map(([username, { isOfDevice }]) => ({ username, isOfDevice })),
    isOwn: async (externalId) => logins.get(externalId)?.isOwn ?? false,
  };
  const log = recordedLog();
  const start = (known: readonly DeviceLogin[] = []) =>
    startBrokerLogins({
      dynsec,
      known,
      externalIds: async () => [...present],
      isGone: async (externalId) => !present.has(externalId),
      clock: systemClock,
      log,
    });
  const judged = (): unknown[] => log.events('mqtt_logins_kept').map(({ by }) => by);
  return { dynsec, judged, log, logins, present, removed, start };
}

test('the login of a device that was removed while nobody could tell the broker goes at the next start; others stay', async () => {
  const all = withLogins(
    {
      backend: { isOfDevice: false, isOwn: false },
      meter: { isOfDevice: false, isOwn: false },
      'lamp-of-another-station': { isOfDevice: true, isOwn: false },
      'lamp-1': own,
      'lamp-gone': own,
    },
    ['lamp-1'],
  );
  await using logins = all.start([{ externalId: 'lamp-1', token: 't' }]);
  await logins.add({ externalId: 'lamp-2', token: 't' });
  assert.deepEqual(all.removed, ['lamp-gone']);
  assert.deepEqual([...all.logins.keys()], ['backend', 'meter', 'lamp-of-another-station', 'lamp-1', 'lamp-2']);
});

test('a device that is added again while its login is about to go keeps it', async () => {
  const all = withLogins({ 'lamp-1': own, 'lamp-gone': own }, []);
  const { isOwn } = all.dynsec;
  all.dynsec.isOwn = async (externalId) => {
    if (externalId === 'lamp-1') all.present.add('lamp-1');
    return isOwn(externalId);
  };
  await using _logins = all.start();
  await until('the other one is removed', () => all.removed.length > 0);
  assert.deepEqual(all.removed, ['lamp-gone']);
});

test('a login that was given beforehand is made when it is not there, but not that of a device that is gone', async () => {
  const all = withLogins({}, ['lamp-1']);
  const known = ['lamp-1', 'lamp-2'].map((externalId) => ({ externalId, token: 't' }));
  await using _logins = all.start(known);
  await until('it is made', () => all.logins.size > 0);
  assert.deepEqual([...all.logins.keys()], ['lamp-1']);
});

test('a broker that seemed to keep no logins is asked again: when the link is back, when a device is added or removed', async () => {
  for (const again of ['link', 'add', 'remove'] as const) {
    const all = withLogins({ 'lamp-1': own }, []);
    let doesAnswer = false;
    all.dynsec.prepare = async () => doesAnswer;
    await using logins = all.start();
    await until('it is judged', () => all.judged().length === 1);
    assert.deepEqual(all.judged(), ['others']);
    doesAnswer = true;
    if (again === 'link') logins.lookAgain();
    if (again === 'remove') logins.remove('lamp-1');
    if (again === 'add') await logins.add({ externalId: 'lamp-2', token: 't' });
    await until('the login is removed', () => all.removed.length > 0);
    assert.deepEqual(all.judged(), ['others', 'station'], again);
    assert.equal(all.logins.has('lamp-2'), again === 'add');
  }
});
