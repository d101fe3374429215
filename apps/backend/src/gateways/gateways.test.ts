import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Device } from '@station/protocol/devices';
import type { Gateway, GatewayLoginSheet } from '@station/protocol/gateways';
import { startZigbee2Mqtt } from '../../testing/simulated-zigbee2mqtt.ts';
import { bearer, post, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';
import { announcement, colourLamp, wallButton } from '../../testing/gateways/announcements.ts';

const lamp = (name = 'lamp', address = '0x00158d0001dc126a') => ({
  entry: { ...announcement({ definition: colourLamp }), ieee_address: address, friendly_name: name },
  state: { state: 'OFF', brightness: 0 },
});
const button = () => ({
  entry: { ...announcement({ definition: wallButton }), ieee_address: '0x00158d0001dc126b', friendly_name: 'button' },
  state: {},
});

const soon = (condition: () => Promise<boolean>): Promise<void> => until('the station shows it', condition);

type House = {
  running: RunningBackend;
  token: string;
  sheet: GatewayLoginSheet;
  address: string;
  devices(): Promise<Device[]>;
  find(name: string): Promise<Device | undefined>;
  gateways(): Promise<Gateway[]>;
};

async function houseOf(running: RunningBackend, known?: Pick<House, 'token' | 'sheet'>): Promise<House> {
  const token = known?.token ?? (await running.setUp()).accessToken;
  const read = async <T>(url: string): Promise<T> =>
    (await running.http.inject({ url, headers: bearer(token) })).json<T>();
  const body = { name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' };
  const sheet = known?.sheet ?? (await post(running, '/api/gateways', body, bearer(token))).json<GatewayLoginSheet>();
  const devices = () => read<Device[]>('/api/devices');
  return {
    running,
    token,
    sheet,
    address: running.backend.mqttAddress ?? '',
    devices,
    find: async (name) => (await devices()).find((device) => device.name === name),
    gateways: () => read<Gateway[]>('/api/gateways'),
  };
}

const loginOf = ({ sheet }: House) => ({ username: sheet.login, password: sheet.password });
const command = ({ running, token }: House, { id }: Device, body: object) =>
  post(running, `/api/devices/${id}/command`, body, bearer(token));

test('devices of a Zigbee2MQTT are added, switched and confirmed, and follow their names', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  assert.equal(house.sheet.isLoginMade, true);
  await using bridge = await startZigbee2Mqtt(house.address, loginOf(house), [lamp(), button()]);
  await soon(async () => (await house.devices()).length === 2);
  await bridge.report('lamp', { brightness: 127 });
  await soon(async () => (await house.find('lamp'))?.state['brightness'] === 50);
  const before = await house.find('lamp');
  assert.ok(before);
  assert.equal(before.status, 'online');
  assert.equal(before.type, 'zigbee2mqtt.9290012573a');
  assert.deepEqual(before.origin, { gatewayId: house.sheet.gateway.id, dialect: 'zigbee2mqtt', isGone: false });

  const sent = await command(house, before, { action: 'turn_on' });
  assert.equal(sent.statusCode, 202, sent.body);
  await soon(async () => (await house.find('lamp'))?.state['on'] === true);
  assert.deepEqual(bridge.commands, [{ name: 'lamp', payload: { state: 'ON' } }]);
  const activity = async () => (await running.http.inject({ url: '/api/activity', headers: bearer(house.token) })).body;
  await soon(async () => (await activity()).includes('"confirmed"'));

  await bridge.report('button', { action: 'double' });
  const pressed = await house.find('button');
  assert.ok(pressed);
  await soon(async () =>
    (
      await running.http.inject({ url: `/api/devices/${pressed.id}/events`, headers: bearer(house.token) })
    ).body.includes('"double"'),
  );

  await bridge.rename('lamp', 'hall/lamp');
  await soon(async () => (await house.find('hall/lamp'))?.id === before.id);
  await bridge.report('hall/lamp', { brightness: 254 });
  await soon(async () => (await house.find('hall/lamp'))?.state['brightness'] === 100);
});

test('what is only set is confirmed when the gateway has it, and no command of the station reaches a device', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  await using bridge = await startZigbee2Mqtt(house.address, loginOf(house), [lamp()]);
  await soon(async () => (await house.find('lamp')) !== undefined);
  const device = await house.find('lamp');
  assert.ok(device);
  const effect = await command(house, device, { action: 'set_effect', params: { effect: 'blink' } });
  assert.equal(effect.json<{ status: string }>().status, 'confirmed', effect.body);
  for (const action of ['factory_reset', 'reboot']) {
    assert.equal((await command(house, device, { action })).statusCode, 400);
  }
  const removed = await running.http.inject({
    method: 'DELETE',
    url: `/api/devices/${device.id}`,
    headers: bearer(house.token),
  });
  assert.equal(removed.json<{ told: boolean }>().told, false);
  // It stays away while its gateway has it, and is told nothing.
  await bridge.report('lamp', { brightness: 5 });
  await bridge.announce();
  await soon(async () => (await house.gateways())[0]?.removedDevices === 1);
  assert.deepEqual(await house.devices(), []);
  assert.deepEqual(
    bridge.commands.map(({ payload }) => payload),
    [{ effect: 'blink' }],
  );
  const unknown = await running.http.inject({ url: '/api/unknown-devices', headers: bearer(house.token) });
  assert.ok(!unknown.body.includes('zigbee2mqtt:'), unknown.body);
  assert.deepEqual(bridge.foreign, []);
});

test('a device that its gateway removes leaves; one that is only missing is gone, and comes back', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  await using bridge = await startZigbee2Mqtt(house.address, loginOf(house), [lamp(), button()]);
  await soon(async () => (await house.devices()).length === 2);
  await bridge.remove('button');
  await soon(async () => (await house.devices()).length === 1);
  const [kept] = bridge.devices.splice(0);
  await bridge.announce();
  await soon(async () => (await house.find('lamp'))?.origin?.isGone === true);
  await soon(async () => (await house.find('lamp'))?.status === 'offline');
  bridge.devices.push(kept!);
  await bridge.announce();
  await soon(async () => (await house.find('lamp'))?.status === 'online');
  assert.equal((await house.find('lamp'))?.origin?.isGone, false);
});

test('a device that was removed here comes back when its gateway lost it and has it again', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  await using bridge = await startZigbee2Mqtt(house.address, loginOf(house), [lamp(), button()]);
  const [plugged] = bridge.devices;
  const remove = async (name: string): Promise<void> => {
    const url = `/api/devices/${(await house.find(name))?.id}`;
    assert.equal((await running.http.inject({ method: 'DELETE', url, headers: bearer(house.token) })).statusCode, 200);
  };
  const leaveAndJoin = async (): Promise<void> => {
    bridge.devices.splice(0, 1);
    await bridge.announce();
    bridge.devices.unshift(plugged!);
    await bridge.announce();
  };
  await soon(async () => (await house.devices()).length === 2);
  await remove('lamp');
  // It was reset at its own button, and paired again later.
  await leaveAndJoin();
  await soon(async () => (await house.find('lamp'))?.status === 'online');
  await leaveAndJoin();
  await remove('lamp');
  await bridge.rename('lamp', 'ceiling');
  await bridge.rename('button', 'wall');
  await soon(async () => (await house.find('wall')) !== undefined);
  assert.equal((await house.devices()).length, 1);
});

test('a group is one device, beside its members, and stays when these are announced again', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  const members = [{ ieee_address: '0x00158d0001dc126a' }];
  const scenes = [{ id: 5, name: 'Evening' }];
  const group = (name: string) => ({ id: 3, friendly_name: name, members, scenes });
  await using bridge = await startZigbee2Mqtt(house.address, loginOf(house), [lamp(), button()], [group('all')]);
  await soon(async () => (await house.devices()).length === 3);
  const all = await house.find('all');
  assert.ok(all);
  assert.deepEqual([all.externalId, all.status], ['zigbee2mqtt:group-3', 'online']);
  assert.equal((await command(house, all, { action: 'turn_on' })).statusCode, 202);
  await soon(async () => (await house.find('all'))?.state['on'] === true);
  await soon(async () => (await house.find('lamp'))?.state['on'] === true);
  const recalling = await command(house, all, { action: 'set_scene_recall', params: { scene_recall: 'Evening' } });
  assert.equal(recalling.json<{ status: string }>().status, 'confirmed', recalling.body);
  assert.deepEqual(bridge.commands.at(-1), { name: 'all', payload: { scene_recall: 5 } });
  await bridge.rename('lamp', 'ceiling');
  await soon(async () => (await house.find('ceiling')) !== undefined);
  assert.equal((await house.find('all'))?.origin?.isGone, false);
  bridge.groups.splice(0, 1, group('both'));
  await bridge.announce();
  await soon(async () => (await house.find('both'))?.id === all.id);
  bridge.groups.push({ id: 4, friendly_name: 'odd', members: [{ ieee_address: '0x00158d0001dc126b' }] });
  await bridge.announce();
  await soon(async () => (await house.gateways())[0]?.notSupported.length === 1);
  assert.deepEqual((await house.gateways())[0]?.notSupported, [{ name: 'odd', reason: 'group', detail: null }]);
  await bridge.removeGroup('both');
  await soon(async () => (await house.devices()).length === 2);
});

test('availability and the last will of the gateway say who is online', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  const bridge = await startZigbee2Mqtt(house.address, loginOf(house), [lamp(), button()]);
  await soon(async () => (await house.find('lamp'))?.status === 'online');
  await bridge.available('lamp', 'offline');
  await soon(async () => (await house.find('lamp'))?.status === 'offline');
  assert.equal((await house.find('button'))?.status, 'online');
  await bridge.available('lamp', 'online');
  await soon(async () => (await house.find('lamp'))?.status === 'online');
  bridge.crash();
  await soon(async () => (await house.devices()).every(({ status }) => status === 'offline'));
  assert.equal((await house.gateways())[0]?.state, 'offline');
  await using _again = await startZigbee2Mqtt(house.address, loginOf(house), [lamp(), button()]);
  await soon(async () => (await house.devices()).every(({ status }) => status === 'online'));
});

test('a login of a gateway is for its tree alone, and ends with it', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  const other = { name: 'Other', dialect: 'zigbee2mqtt', baseTopic: 'second/net' };
  const second = (await post(running, '/api/gateways', other, bearer(house.token))).json<GatewayLoginSheet>();
  await using bridge = await startZigbee2Mqtt(house.address, loginOf(house), [lamp()]);
  await soon(async () => (await house.find('lamp')) !== undefined);
  const login = { username: second.login, password: second.password, reconnectPeriod: 0 };
  await using stack = new AsyncDisposableStack();
  const client = await connectAsync(house.address, login);
  stack.defer(() => client.endAsync(true));
  for (const filter of ['#', 'zigbee2mqtt/#', 'station/#', '+/bridge/state', 'second/+']) {
    const granted = await client.subscribeAsync(filter).catch(() => [{ qos: 128 }]);
    assert.ok(
      granted.every(({ qos }) => qos >= 128),
      filter,
    );
  }
  // The device of another gateway, and the station's own topics, are not for it.
  await client.publishAsync('zigbee2mqtt/lamp', '{"brightness":254}', { qos: 1 });
  const stationTopic = 'station/x/device/zigbee2mqtt:0x00158d0001dc126a/state';
  await client.publishAsync(stationTopic, '{"state":{"brightness":7}}', { qos: 1 });
  const stolen = [{ type: 'Coordinator' }, { ...lamp('mine').entry }];
  await client.publishAsync('second/net/bridge/devices', JSON.stringify(stolen), { qos: 1 });
  await bridge.report('lamp', { color_temp: 300 });
  await soon(async () => (await house.find('lamp'))?.state['color_temp'] === 300);
  assert.equal((await house.find('lamp'))?.state['brightness'], 0);
  assert.equal(await house.find('mine'), undefined);

  const same = await post(running, '/api/gateways', { ...other, baseTopic: 'second' }, bearer(house.token));
  assert.equal(same.statusCode, 409);
  const station = await post(running, '/api/gateways', { ...other, baseTopic: 'station/x' }, bearer(house.token));
  assert.equal(station.statusCode, 400);

  const renewed = (
    await post(running, `/api/gateways/${house.sheet.gateway.id}/login`, undefined, bearer(house.token))
  ).json<GatewayLoginSheet>();
  await assert.rejects(connectAsync(house.address, { ...loginOf(house), reconnectPeriod: 0 }, false));
  const again = await connectAsync(house.address, {
    username: renewed.login,
    password: renewed.password,
    reconnectPeriod: 0,
  });
  await again.endAsync(true);
  const url = `/api/gateways/${house.sheet.gateway.id}`;
  assert.equal((await running.http.inject({ method: 'DELETE', url, headers: bearer(house.token) })).statusCode, 204);
  assert.deepEqual(await house.devices(), []);
  await assert.rejects(
    connectAsync(house.address, { username: renewed.login, password: renewed.password, reconnectPeriod: 0 }, false),
  );
});

test('a device of the station does not speak for a gateway', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  await using _bridge = await startZigbee2Mqtt(house.address, loginOf(house), [lamp()]);
  await soon(async () => (await house.find('lamp')) !== undefined);
  const { addDevice, connectDevice } = await import('../../testing/test-device.ts');
  await using thief = await connectDevice(house.address, await addDevice(running.backend.db, 'thief'));
  await thief.client.publishAsync('zigbee2mqtt/lamp', '{"brightness":254}', { qos: 1 });
  await thief.publish('state', { state: { on: true } });
  await soon(async () => (await house.find('thief'))?.state['on'] === true);
  assert.notEqual((await house.find('lamp'))?.state['brightness'], 100);
});
