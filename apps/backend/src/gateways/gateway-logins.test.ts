import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { StationError } from '@station/kit/station-error';
import type { GatewayBroker } from '../core/foreign-devices-port.ts';
import { hashToken } from '../core/secrets.ts';
import { openedGateways } from '../../testing/gateways/opened-gateways.ts';
import { announcement, colourLamp } from '../../testing/gateways/announcements.ts';

const zigbee = { name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' } as const;

test('the password of before is over when its connection ends, so that nobody connects with it again', async () => {
  const seen: string[] = [];
  let all: Awaited<ReturnType<typeof openedGateways>> | null = null;
  const addLogin: GatewayBroker['addLogin'] = async ({ login }) => {
    seen.push(all?.foreign.findLogin(login)?.tokenHash ?? '');
    return true;
  };
  await using opened = await openedGateways({ addLogin });
  all = opened;
  const first = await opened.gateways.add(zigbee);
  const second = await opened.gateways.renewLogin(first.gateway.id);
  assert.deepEqual(seen, [hashToken(first.password), hashToken(second.password)]);
  // It is on disk, too.
  const { foreign } = await opened.opening();
  assert.equal(foreign.findLogin(first.login)?.tokenHash, hashToken(second.password));
});

test('of two gateways that come at once, the second finds the topics taken', async () => {
  await using all = await openedGateways();
  const [one, other] = await Promise.allSettled([
    all.gateways.add(zigbee),
    all.gateways.add({ ...zigbee, baseTopic: 'zigbee2mqtt/attic' }),
  ]);
  assert.equal(one.status, 'fulfilled');
  assert.equal(other.status === 'rejected' && (other.reason as StationError).code, 'conflict');
});

test('a gateway that cannot be removed from disk stays, and the person is told', async () => {
  await using all = await openedGateways();
  const { gateway } = await all.gateways.add(zigbee);
  await sql`alter table gateways rename to away`.execute(all.db);
  await assert.rejects(all.gateways.remove(gateway.id), /gateways/);
  assert.deepEqual(
    (await all.gateways.list()).map(({ id }) => id),
    [gateway.id],
  );
  await sql`alter table away rename to gateways`.execute(all.db);
  await all.gateways.remove(gateway.id);
  assert.deepEqual(await all.gateways.list(), []);
});

test('a list that could not be stored is stored when it comes again', async () => {
  await using all = await openedGateways();
  await all.gateways.add(zigbee);
  const list = [{ type: 'Coordinator' }, announcement({ definition: colourLamp })];
  const announce = () =>
    all.foreign.read({
      topic: 'zigbee2mqtt/bridge/devices',
      payload: Buffer.from(JSON.stringify(list)),
      isRetained: false,
    });
  await sql`alter table gateway_devices rename to away`.execute(all.db);
  await announce().stored;
  await sql`alter table away rename to gateway_devices`.execute(all.db);
  await announce().stored;
  const kept = await all.db.selectFrom('gateway_devices').select('name').execute();
  assert.equal(kept.length, 1);
  assert.equal(announce().stored, null, 'what is known costs nothing');
});

test('a kept plan that nothing can be read with is left out', async () => {
  await using all = await openedGateways();
  const { gateway } = await all.gateways.add(zigbee);
  const row = { external_id: 'zigbee2mqtt:1', gateway_id: gateway.id, name: 'lamp', was_added: 1, gone_at: null };
  for (const plan of ['{', '{}', '{"properties":[{"key":"on"}],"actions":{},"eventKey":null}'])
    await all.db
      .insertInto('gateway_devices')
      .values({ ...row, plan })
      .onConflict((conflict) => conflict.column('external_id').doUpdateSet({ plan }))
      .execute();
  const { foreign } = await all.opening();
  assert.equal(foreign.isForeign('zigbee2mqtt:1'), false);
});

test('a kept plan publishes in the trees of its gateway alone', async () => {
  await using all = await openedGateways();
  const { gateway } = await all.gateways.add(zigbee);
  const property = { path: ['state'], key: 'on', kind: 'boolean', on: 'ON', off: 'OFF', isSettable: true };
  const written = async (command: string) => {
    const topics = { heard: [], command };
    const actions = { turn_on: [{ path: ['state'], value: 'ON' }] };
    const plan = JSON.stringify({ properties: [property], actions, eventKey: null, topics });
    const row = { external_id: 'zigbee2mqtt:1', gateway_id: gateway.id, name: 'lamp', was_added: 1, gone_at: null };
    const values = all.db.insertInto('gateway_devices').values({ ...row, plan });
    await values.onConflict((conflict) => conflict.column('external_id').doUpdateSet({ plan })).execute();
    const { foreign } = await all.opening();
    return foreign.write('zigbee2mqtt:1', { action: 'turn_on' });
  };
  assert.deepEqual(await written('zigbee2mqtt/lamp/set'), [
    { topic: 'zigbee2mqtt/lamp/set', payload: '{"state":"ON"}' },
  ]);
  for (const topic of [
    'station/s/device/lamp/command',
    'zigbee2mqtt',
    'zigbee2mqtt/+/set',
    '$CONTROL/dynamic-security/v1',
  ])
    assert.equal(await written(topic), null, topic);
});

test('what two gateways announce is of the first, and what is too large is of none', async () => {
  await using all = await openedGateways();
  await all.gateways.add(zigbee);
  await all.gateways.add({ ...zigbee, name: 'Other', baseTopic: 'other' });
  const read = (topic: string, text: string) =>
    all.foreign.read({ topic, payload: Buffer.from(text), isRetained: false }).stored;
  const list = JSON.stringify([{ type: 'Coordinator' }, announcement({ definition: colourLamp })]);
  await read('zigbee2mqtt/bridge/devices', list);
  await read('other/bridge/devices', list);
  await read('other/lamp', 'x'.repeat(300_000));
  const listed = async () => (await all.gateways.list()).map(({ notSupported }) => notSupported);
  assert.deepEqual(await listed(), [
    [],
    [
      { name: 'living room/lamp', reason: 'elsewhere', detail: null },
      { name: 'other/lamp', reason: 'too_large', detail: null },
    ],
  ]);
  await read('other/lamp', '{}');
  assert.equal((await listed())[1]?.length, 1);
});

test('two gateways share no tree, also those that a system uses besides its base topic', async () => {
  await using all = await openedGateways();
  await all.gateways.add({ name: 'Tasmota', dialect: 'tasmota', baseTopic: 'tasmota' });
  for (const baseTopic of ['tele', 'stat/x', 'cmnd/lamp', 'tasmota/discovery'])
    await assert.rejects(all.gateways.add({ ...zigbee, baseTopic }), { code: 'conflict' });
  await assert.rejects(all.gateways.add({ name: 'Other', dialect: 'tasmota', baseTopic: 'other' }), {
    code: 'conflict',
  });
  await all.gateways.add(zigbee);
});
