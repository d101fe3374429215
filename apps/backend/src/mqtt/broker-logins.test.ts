import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { recordedLog } from '../../testing/recorded-log.ts';
import { until } from '../../testing/until.ts';
import { startBrokerLogins } from './broker-logins.ts';
import type { DeviceLogin, Dynsec } from './dynsec.ts';

const never = new AbortController().signal;

/** A broker's logins, and the devices that a station has on disk; it records which logins the broker must remove. */
function withLogins(held: string[], devices: string[], noted: string[] = []) {
  const logins = new Set(held);
  const present = new Set(devices);
  const toGo = new Map(noted.map((externalId, index) => [`device-${index}`, externalId]));
  const removed: string[] = [];
  const dynsec: Dynsec = {
    prepare: async () => true,
    add: async (added) => added.forEach(({ externalId }) => logins.add(externalId)),
    remove: async (externalId) => {
      removed.push(externalId);
      logins.delete(externalId);
    },
    addSystem: async ({ login }) => void logins.add(login),
    removeSystem: async ({ login }) => void logins.delete(login),
    disconnect: async () => undefined,
    list: async () => new Set(logins),
  };
  const logger = recordedLog();
  const missing: (readonly string[])[] = [];
  const start = (known: readonly DeviceLogin[] = []) =>
    startBrokerLogins({
      dynsec,
      known,
      externalIds: async () => [...present],
      removed: {
        list: async () => [...toGo].map(([deviceId, externalId]) => ({ deviceId, externalId })),
        forget: async ({ deviceId }) => void toGo.delete(deviceId),
      },
      isGone: async (externalId) => !present.has(externalId),
      onMissing: (externalIds) => missing.push(externalIds),
      clock: systemClock,
      logger,
    });
  const judged = (): unknown[] => logger.events('mqtt_logins_kept').map(({ by }) => by);
  return { dynsec, judged, logger, logins, missing, present, removed, start, toGo };
}

test('the login of a device removed while the broker was unreachable is removed at the next start, and that is noted', async () => {
  const all = withLogins(['backend', 'lamp-1', 'lamp-gone'], ['lamp-1'], ['lamp-gone']);
  await using logins = all.start([{ externalId: 'lamp-1', token: 't' }]);
  await logins.add([{ externalId: 'lamp-2', token: 't' }], never);
  assert.deepEqual(all.removed, ['lamp-gone']);
  assert.deepEqual([...all.logins], ['backend', 'lamp-1', 'lamp-2']);
  assert.equal(all.toGo.size, 0);
});

test('a database without the devices, a new one or an older copy, removes no login', async () => {
  const all = withLogins(['backend', 'lamp-1', 'lamp-2'], []);
  await using logins = all.start();
  await logins.add([{ externalId: 'lamp-3', token: 't' }], never);
  assert.deepEqual([...all.logins], ['backend', 'lamp-1', 'lamp-2', 'lamp-3']);
});

test('a device that was added again keeps its login', async () => {
  const all = withLogins(['lamp-1', 'lamp-gone'], ['lamp-1'], ['lamp-1', 'lamp-gone']);
  await using _logins = all.start();
  await until('all is done', () => all.toGo.size === 0);
  assert.deepEqual(all.removed, ['lamp-gone']);
});

test('a removal that the broker refused stays noted', async () => {
  const all = withLogins(['lamp-gone'], [], ['lamp-gone']);
  all.dynsec.remove = async () => {
    throw new Error('The broker is away');
  };
  {
    await using _logins = all.start();
    await until('it is tried', () => all.logger.events('unexpected_error').length > 0);
  }
  assert.equal(all.toGo.size, 1);
});

test('the logins of many devices removed at once are removed once each', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `lamp-${index}`);
  const all = withLogins(names, []);
  await using logins = all.start();
  await logins.add([{ externalId: 'other', token: 't' }], never);
  for (const name of names) {
    all.toGo.set(name, name);
    logins.remove(name);
  }
  await until('all is done', () => all.toGo.size === 0);
  assert.deepEqual(all.removed, names);
});

test('a missing preset login is added, but not that of a removed device', async () => {
  const all = withLogins([], ['lamp-1']);
  const known = ['lamp-1', 'lamp-2'].map((externalId) => ({ externalId, token: 't' }));
  await using _logins = all.start(known);
  await until('it is made', () => all.logins.size > 0);
  assert.deepEqual([...all.logins], ['lamp-1']);
});

test('a broker that seemed to store no logins is checked again: when the link is back, when a device is added or removed', async () => {
  for (const again of ['link', 'add', 'remove'] as const) {
    const all = withLogins(['lamp-1'], [], ['lamp-1']);
    let doesAnswer = false;
    all.dynsec.prepare = async () => doesAnswer;
    await using logins = all.start();
    await until('it is judged', () => all.judged().length === 1);
    assert.deepEqual(all.judged(), ['others']);
    doesAnswer = true;
    if (again === 'link') logins.checkAgain();
    if (again === 'remove') logins.remove('lamp-1');
    if (again === 'add') await logins.add([{ externalId: 'lamp-2', token: 't' }], never);
    await until('the login is removed', () => all.removed.length > 0);
    assert.deepEqual(all.judged(), ['others', 'station'], again);
    assert.equal(all.logins.has('lamp-2'), again === 'add');
  }
});

test('a broker that lost its logins gets those that the station knows, and the others are named until they are back', async () => {
  const all = withLogins(['lamp-1', 'lamp-2', 'lamp-3'], ['lamp-1', 'lamp-2', 'lamp-3']);
  await using logins = all.start([{ externalId: 'lamp-1', token: 't' }]);
  await until('it is checked', () => all.judged().length === 1);
  assert.deepEqual(all.missing, []);
  all.logins.clear();
  logins.checkAgain();
  await until('the others are named', () => all.missing.length === 1);
  assert.deepEqual([[...all.logins], all.missing], [['lamp-1'], [['lamp-2', 'lamp-3']]]);
  await logins.add([{ externalId: 'lamp-2', token: 'new' }], never);
  all.logins.add('lamp-3');
  logins.checkAgain();
  await until('none is named', () => all.missing.length === 3);
  assert.deepEqual(all.missing, [['lamp-2', 'lamp-3'], ['lamp-3'], []]);
});
