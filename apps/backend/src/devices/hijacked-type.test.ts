import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StationDeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

const command = (action: string, locked: boolean, name: string) => ({
  action,
  sets: { locked },
  confirmedBy: ['locked'],
  repeatable: true,
  names: { en: name },
});
const lock = (type: string, [lockName, unlockName]: [string, string]) => ({
  type,
  firmwareVersion: '1.0.0',
  chip: 'esp32',
  category: 'actuator',
  capabilities: [{ key: 'locked', kind: 'boolean' }],
  commands: [command('lock', true, lockName), command('unlock', false, unlockName)],
  events: [],
});

async function withStation() {
  await using starting = new AsyncDisposableStack();
  const running = starting.use(await runBackend());
  const headers = bearer((await running.setUp()).accessToken);
  const call = async (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) => {
    const answer = await running.http.inject({ method, url, headers, ...(payload && { payload }) });
    assert.ok(answer.statusCode < 300, `${method} ${url}: ${answer.body}`);
    return answer.body === '' ? null : answer.json<unknown>();
  };
  const address = running.backend.mqttAddress ?? '';
  const held = starting.move();
  return {
    call,
    /** A device of the type that has logged in. */
    add: async (externalId: string, type: string) => {
      const login = await addDevice(running.backend.db, externalId, type);
      const device = held.use(await connectDevice(address, login));
      /** Resolves once the station has answered. */
      const handshake = async (body: object): Promise<void> => {
        const answers = device.received.length;
        await device.publish('handshake', body);
        await until('the answer', () => device.received.length > answers);
      };
      return { ...device, id: login.id, handshake };
    },
    types: async (): Promise<StationDeviceType[]> => (await call('GET', '/api/device-types')) as StationDeviceType[],
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

const commandNames = (types: StationDeviceType[], deviceId: string): (string | undefined)[] =>
  types.find(({ deviceIds }) => deviceIds?.includes(deviceId))?.commands.map(({ names }) => names?.['en']) ?? [];

test('a hijacked device cannot rename the commands of another device, or confirm them', async () => {
  await using station = await withStation();
  const honest = await station.add('honest', 'door-lock');
  const hijacked = await station.add('hijacked', 'door-lock');
  await honest.handshake(lock('door-lock', ['Lock', 'Unlock']));
  await until('it is known', async () => (await station.types()).some(({ type }) => type === 'door-lock'));
  const evil = lock('door-lock', ['Unlock', 'Lock']);
  evil.commands = [command('open', false, 'Lock')];
  await hijacked.handshake(evil);
  await until('it is known', async () => commandNames(await station.types(), hijacked.id).length > 0);
  assert.deepEqual(commandNames(await station.types(), honest.id), ['Lock', 'Unlock']);
  assert.deepEqual(commandNames(await station.types(), hijacked.id), ['Lock']);
  const scene = { name: 'Night', commands: [{ deviceId: honest.id, action: 'lock' }] };
  await station.call('POST', '/api/scenes', scene);
  await station.call('POST', `/api/devices/${honest.id}/command`, { action: 'lock' });
  await until('the command', () => honest.received.some(({ body }) => body['action'] === 'lock'));
});

test('a device with 230 type names takes no place of an honest one, and its description goes with it', async () => {
  await using station = await withStation();
  const hijacked = await station.add('hijacked', 'door-lock');
  for (let count = 0; count < 230; count++) await hijacked.publish('handshake', lock(`junk-${count}`, ['a', 'b']));
  await hijacked.handshake(lock('door-lock', ['a', 'b']));
  await until('it is known', async () => commandNames(await station.types(), hijacked.id).length > 0);
  assert.equal((await station.types()).filter(({ type }) => type.startsWith('junk-')).length, 0);
  const honest = await station.add('honest', 'soil-probe');
  await honest.handshake(lock('soil-probe', ['Lock', 'Unlock']));
  await until('it is known', async () => commandNames(await station.types(), honest.id).length === 2);
  await station.call('DELETE', `/api/devices/${hijacked.id}`);
  const left = (await station.types()).filter(({ deviceIds }) => deviceIds !== undefined);
  assert.deepEqual(
    left.map(({ type, deviceIds }) => [type, deviceIds]),
    [['soil-probe', [honest.id]]],
  );
  assert.deepEqual(
    ((await station.call('GET', '/api/devices')) as Device[]).map(({ id }) => id),
    [honest.id],
  );
});
