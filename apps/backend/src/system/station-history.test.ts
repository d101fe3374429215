import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Automation } from '@station/protocol/automations';
import type { DeviceEvent } from '@station/protocol/devices';
import type { AddedMember, Member, Session } from '@station/protocol/rest';
import type { Scene } from '@station/protocol/scenes';
import { chain, node } from '../../testing/automation-world.ts';
import { bearer, runBackend, type BackendOptions } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

async function withOwner(options: BackendOptions = {}, session?: Session) {
  const running = await runBackend(options);
  const { accessToken, user } = session ?? (await running.setUp());
  const callerOf =
    (token: string) => async (method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE', url: string, payload?: object) => {
      const request = { method, url, headers: bearer(token), ...(payload ? { payload } : {}) };
      const { statusCode, body } = await running.http.inject(request);
      assert.ok(statusCode < 300, `${method} ${url}: ${body}`);
      return body === '' ? null : JSON.parse(body);
    };
  const ask = callerOf(accessToken);
  const activity = (query = '', as = ask): Promise<DeviceEvent[]> => as('GET', `/api/activity?limit=200${query}`);
  return { ...running, ask, callerOf, activity, user, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

const kinds = (entries: readonly DeviceEvent[]): string[] => entries.map(({ kind }) => kind);
const said = ({ kind, data, by }: DeviceEvent) => ({ kind, data, by });

test('a command shows what it set and who or what gave it', async () => {
  await using all = await withOwner();
  const { id: deviceId, ...login } = await addDevice(all.backend.db, 'lamp-1', 'light');
  await using lamp = await connectDevice(all.backend.mqttAddress ?? '', { id: deviceId, ...login });
  await lamp.publish('state', { state: { on: false } });
  await until('it is online', async () => (await all.ask('GET', `/api/devices/${deviceId}`)).status === 'online');
  const dim = { action: 'set_brightness', params: { brightness: 30 } };
  await all.ask('POST', `/api/devices/${deviceId}/command`, dim);
  const commands = [{ deviceId, ...dim }];
  const scene = (await all.ask('POST', '/api/scenes', { name: 'Evening', commands })) as Scene;
  await all.ask('POST', `/api/scenes/${scene.id}/run`);
  const flow = chain([
    node('daily', 'trigger', 'schedule', { time: '07:00' }),
    node('on', 'action', 'device_command', { deviceId, ...dim }),
  ]);
  const { id } = (await all.ask('POST', '/api/automations', { name: 'Dusk', flow })) as Automation;
  await all.ask('POST', `/api/automations/${id}/run`);
  const given = async (query: string): Promise<DeviceEvent[]> =>
    (await all.activity(query)).filter(({ kind }) => kind === 'command');
  await until('the automation gave its command', async () => (await given('')).length === 3);
  assert.deepEqual(
    (await given('')).map(({ by }) => by),
    [
      { kind: 'automation', id, name: 'Dusk', person: null },
      { kind: 'scene', id: scene.id, name: 'Evening', person: 'Olena' },
      { kind: 'person', id: all.user.id, name: 'Olena', person: 'Olena' },
    ],
  );
  const [newest] = await given('&about=automations');
  assert.deepEqual(
    [newest?.deviceId, newest?.data['action'], newest?.data['params']],
    [deviceId, 'set_brightness', { brightness: 30 }],
  );
  assert.equal((await given(`&about=people&deviceId=${deviceId}`)).length, 2);
  assert.equal((await given('&about=station')).length, 0);
  await all.ask('DELETE', `/api/scenes/${scene.id}`);
  await all.ask('DELETE', `/api/automations/${id}`);
  assert.deepEqual(
    (await given('')).map(({ by }) => by?.name),
    [null, null, 'Olena'],
  );
});

test('only what the state of a device shows anyway is kept of a command', async () => {
  await using all = await withOwner();
  const { id } = await addDevice(all.backend.db, 'lamp-1', 'light');
  const wifi = { action: 'wifi_update', params: { ssid: 'home', password: 'hidden-word' } };
  await all.backend.db.updateTable('devices').set({ status: 'online' }).execute();
  await all.ask('POST', `/api/devices/${id}/command`, wifi);
  assert.doesNotMatch(JSON.stringify(await all.activity()), /hidden-word/);
  const rows = await all.backend.db.selectFrom('device_commands').select('params').execute();
  assert.deepEqual(
    rows.map(({ params }) => params),
    ['{}'],
  );
});

test('people come and go in the activity; a member sees only what concerns them', async () => {
  await using all = await withOwner();
  const body = { email: 'maria@example.org', name: 'Maria', role: 'member' };
  const added = (await all.ask('POST', '/api/station/members', body)) as AddedMember;
  const login = (userAgent: string) =>
    all.http.inject({
      method: 'POST',
      url: '/api/auth/login',
      payload: { email: body.email, password: added.firstPassword },
      headers: { 'user-agent': userAgent },
    });
  const maria = all.callerOf((await login('Firefox/1.0')).json<Session>().accessToken);
  await login('Firefox/1.1');
  const ben = { email: 'ben@example.org', name: 'Ben', role: 'member' };
  const other = (await all.ask('POST', '/api/station/members', ben)) as Member;
  await all.ask('PATCH', `/api/station/members/${other.userId}`, { role: 'admin' });
  await all.ask('DELETE', `/api/station/members/${other.userId}`);
  const people = async (): Promise<DeviceEvent[]> => all.activity('&about=people');
  await until('the last one is kept', async () => kinds(await people()).includes('member_removed'));
  assert.deepEqual(kinds(await people()), [
    'member_removed',
    'role_changed',
    'member_added',
    'new_login',
    'member_added',
    'new_login',
  ]);
  assert.deepEqual(said((await people())[0]!), {
    kind: 'member_removed',
    data: { userId: other.userId, name: 'Ben' },
    by: { kind: 'person', id: all.user.id, name: 'Olena', person: 'Olena' },
  });
  assert.deepEqual(kinds(await all.activity('&about=people', maria)), ['new_login', 'member_added']);
  assert.deepEqual(kinds(await all.activity(`&userId=${added.userId}`)), ['new_login', 'member_added']);
  // Of the owner she sees what the owner did to her.
  const ofOwner = await all.activity(`&about=people&userId=${all.user.id}`, maria);
  assert.deepEqual(kinds(ofOwner), ['member_added']);
});

test('a device that was removed is in the activity: by whom, under its own name, with the devices', async () => {
  await using all = await withOwner();
  const { id: lamp } = await addDevice(all.backend.db, 'lamp-1');
  const { id: fan } = await addDevice(all.backend.db, 'fan-1');
  await all.ask('DELETE', `/api/devices/${lamp}`);
  await until('it is kept', async () => kinds(await all.activity('')).includes('device_removed'));
  const ofDevices = await all.activity('&about=devices');
  assert.deepEqual(ofDevices.map(said), [
    {
      kind: 'device_removed',
      data: { deviceId: lamp, name: 'lamp-1' },
      by: { kind: 'person', id: all.user.id, name: 'Olena', person: 'Olena' },
    },
  ]);
  assert.deepEqual(kinds(await all.activity(`&deviceId=${lamp}`)), ['device_removed']);
  assert.deepEqual(kinds(await all.activity(`&deviceId=${fan}`)), []);
  for (const about of ['station', 'people'])
    assert.ok(!kinds(await all.activity(`&about=${about}`)).includes('device_removed'), about);
});

const operation = (id: string, more: object) => ({
  id,
  kind: 'update',
  trigger: 'automatic',
  result: 'updated',
  from: '1.0.0',
  to: '1.1.0',
  reason: null,
  durationMs: 1,
  downtimeMs: 1,
  startedAt: new Date().toISOString(),
  endedAt: new Date().toISOString(),
  ...more,
});

test('what the agent did is in the activity once, also after a restart of the backend', async () => {
  await using agent = await simulateAgent();
  await using folder = await temporaryFolder();
  const options = { env: { AGENT_URL: agent.url }, dataDir: `${folder.path}/data` };
  const history = [
    operation('2', { result: 'rolled_back', to: '1.2.0', from: '1.1.0' }),
    operation('1', {}),
    operation('0', { endedAt: '2020-01-01T00:00:00.000Z' }),
  ];
  agent.answer('/status', 200, { history, conditions: [] });
  const station = async (all: Awaited<ReturnType<typeof withOwner>>) =>
    (await all.activity('&about=station')).map(({ kind, data }) => ({ kind, data }));
  let session: Session;
  {
    await using all = await withOwner(options);
    session = await all.http
      .inject({
        method: 'POST',
        url: '/api/auth/login',
        payload: { email: 'olena@example.org', password: 'correct horse battery' },
      })
      .then((answer) => answer.json<Session>());
    await until('both updates are kept', async () => (await station(all)).length === 3);
    assert.deepEqual((await station(all)).slice(0, 2), [
      { kind: 'rolled_back', data: { from: '1.2.0', to: '1.1.0', isManual: false } },
      { kind: 'updated', data: { from: '1.0.0', to: '1.1.0', isManual: false } },
    ]);
    await until('the agent is heard', () => agent.streams() > 0);
    const emit = (event: string, more: object = {}): void =>
      agent.emit({ time: new Date().toISOString(), level: 'warn', event, ...more });
    emit('wifi_state', { from: 'CONNECTED', to: 'RETRYING', reason: 'x' });
    emit('hotspot_started', { ssid: 'Station', address: '10.0.0.1' });
    emit('wifi_state', { from: 'JOINING', to: 'CONNECTED', reason: 'x' });
    emit('condition_raised', { condition: 'disk_full', severity: 'fault', message: 'x' });
    emit('condition_raised', { condition: 'disk_full', severity: 'fault', message: 'x' });
    await until('the condition is kept', async () => (await station(all))[0]?.kind === 'condition_raised');
    assert.deepEqual(
      (await station(all)).slice(0, 4).map(({ kind }) => kind),
      ['condition_raised', 'network_back', 'hotspot_started', 'network_lost'],
    );
  }
  await using again = await withOwner(options, session);
  await until('the agent is heard again', () => agent.streams() > 0);
  agent.emit({ time: new Date().toISOString(), level: 'info', event: 'condition_cleared', condition: 'disk_full' });
  await until('the condition is over', async () => (await station(again))[0]?.kind === 'condition_cleared');
  const all = (await station(again)).map(({ kind }) => kind);
  assert.deepEqual(
    ['updated', 'rolled_back', 'condition_raised', 'backend_started'].map(
      (kind) => all.filter((one) => one === kind).length,
    ),
    [1, 1, 1, 2],
  );
});
