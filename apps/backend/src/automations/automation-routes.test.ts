import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import { WebSocket } from 'ws';
import type { Automation, AutomationRun, AutomationSummary, TestStep } from '@station/protocol/automations';
import type { Device, DeviceEvent } from '@station/protocol/devices';
import type { ServerMessage } from '@station/protocol/socket';
import type { Session } from '@station/protocol/rest';
import { act, chain, delay, node } from '../../testing/automation-world.ts';
import { bearer, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

async function withOwner() {
  const running = await runBackend();
  const { accessToken } = await running.setUp();
  const caller =
    (headers: Record<string, string>) =>
    async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object) => {
      const url = `/api/automations${path}`;
      const { statusCode, body } = await running.http.inject({ method, url, headers, ...(payload ? { payload } : {}) });
      return { statusCode, body: body === '' ? null : JSON.parse(body) };
    };
  const ask = caller(bearer(accessToken));
  const add = async (flow: object, more: object = {}): Promise<Automation> => {
    const { statusCode, body } = await ask('POST', '', { name: 'Hall', flow, ...more });
    assert.equal(statusCode, 201, JSON.stringify(body));
    return body as Automation;
  };
  return { ...running, accessToken, caller, ask, add, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

async function memberOf(running: RunningBackend, accessToken: string): Promise<Record<string, string>> {
  const account = { email: 'mia@example.org', password: 'a long enough password' };
  const payload = { ...account, name: 'Mia', role: 'member' };
  await running.http.inject({ method: 'POST', url: '/api/station/members', headers: bearer(accessToken), payload });
  const login = await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: account });
  return bearer(login.json<Session>().accessToken);
}

const daily = node('daily', 'trigger', 'schedule', { time: '07:00' });
const notify = node('message', 'action', 'notify', { message: 'Good morning' });
const sound = chain([daily, notify]);

test('a draft may have faults, which are returned; it can only be published without errors', async () => {
  await using all = await withOwner();
  const draft = await all.add({ nodes: [notify], edges: [] });
  assert.deepEqual(
    draft.faults.map(({ code, severity }) => `${severity} ${code}`),
    ['error no_trigger', 'warning unreachable'],
  );
  const refused = await all.ask('POST', `/${draft.id}/publish`);
  assert.deepEqual([refused.statusCode, refused.body.code], [422, 'automation_invalid']);
  assert.deepEqual(refused.body.details.faults, draft.faults);
  const mended = await all.ask('PATCH', `/${draft.id}`, { flow: sound, name: ' Morning ' });
  assert.deepEqual([mended.body.faults, mended.body.name, mended.body.status], [[], 'Morning', 'draft']);
  const published: Automation = (await all.ask('POST', `/${draft.id}/publish`)).body;
  assert.deepEqual(
    [published.status, published.hasUnpublishedChanges, published.publishedFlow],
    ['published', false, sound],
  );
  assert.match(published.nextRunAt ?? '', /T0[45]:00:00\.000Z$/, 'seven in Kyiv');
});

test('ids of a flow are read in any case, also those within a condition', async () => {
  await using all = await withOwner();
  const { id: deviceId } = await addDevice(all.backend.db, 'lamp');
  const flowOf = (id: string) => {
    const until = { kind: 'state_equals', config: { deviceId: id, capability: 'on', value: true } };
    const status = node('gone', 'trigger', 'device_status_changed', { deviceId: id });
    return chain([status, node('on', 'condition', 'wait_until', { until, seconds: 5 }), notify]);
  };
  const { id, faults } = await all.add(flowOf(deviceId.toUpperCase()));
  assert.deepEqual(faults, []);
  assert.equal((await all.ask('POST', '/test', { flow: flowOf(deviceId.toUpperCase()) })).statusCode, 200);
  await all.ask('PATCH', `/${id}`, { flow: flowOf(deviceId.toUpperCase()) });
  const published: Automation = (await all.ask('POST', `/${id}/publish`)).body;
  assert.deepEqual(published.publishedFlow, flowOf(deviceId));
});

test('a flow that is nested too deeply to be read again is not stored', async () => {
  await using all = await withOwner();
  const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`);
  const calling = (levels: number) =>
    chain([daily, node('call', 'action', 'webhook', { body: { a: nested(levels) } })]);
  const refused = await all.ask('POST', '', { name: 'Deep', flow: calling(5_000) });
  assert.deepEqual([refused.statusCode, refused.body.code], [400, 'bad_request']);
  const { id } = await all.add(calling(50));
  assert.equal((await all.ask('PATCH', `/${id}`, { flow: calling(5_000) })).statusCode, 400);
  assert.equal((await all.ask('GET', `/${id}`)).statusCode, 200);
});

test('an edit takes effect when it is published again; a draft does not run', async () => {
  await using all = await withOwner();
  const { id, revision } = await all.add(sound);
  await all.ask('POST', `/${id}/publish`);
  const edited = await all.ask('PATCH', `/${id}`, { mode: 'single', flow: chain([daily, act('x')]) });
  assert.deepEqual([edited.body.hasUnpublishedChanges, edited.body.publishedFlow], [true, sound]);
  const late = await all.ask('PATCH', `/${id}`, { name: 'Else', revision });
  assert.deepEqual([late.statusCode, late.body.code], [409, 'conflict']);
  const [listed]: AutomationSummary[] = (await all.ask('GET', '')).body;
  assert.deepEqual([listed?.name, listed?.hasUnpublishedChanges, listed?.conditions], ['Hall', true, []]);
  const draft = await all.ask('POST', `/${id}/draft`);
  assert.deepEqual([draft.body.status, draft.body.publishedFlow, draft.body.nextRunAt], ['draft', null, null]);
  assert.equal((await all.ask('DELETE', `/${id}`)).statusCode, 204);
  assert.equal((await all.ask('GET', `/${id}`)).statusCode, 404);
});

test('members read and start published automations, see no webhook address, and change nothing', async () => {
  await using all = await withOwner();
  const hook = node('hook', 'action', 'webhook', {
    url: 'https://me:secret@example.org/hidden?key=1',
    body: { pin: 1234 },
  });
  const { id } = await all.add(chain([daily, notify, hook]));
  const member = all.caller(await memberOf(all, all.accessToken));
  const shown = JSON.stringify((await member('GET', `/${id}`)).body);
  assert.match(shown, /https:\/\/example\.org\/…/);
  assert.doesNotMatch(shown, /secret|hidden|key|1234/);
  assert.match(JSON.stringify((await all.ask('GET', `/${id}`)).body), /hidden/);
  assert.equal((await member('POST', `/${id}/run`)).statusCode, 403, 'a draft');
  assert.equal((await member('POST', `/${id}/publish`)).statusCode, 403);
  await all.ask('PATCH', `/${id}`, { flow: sound });
  await all.ask('POST', `/${id}/publish`);
  assert.equal((await member('POST', `/${id}/run`)).statusCode, 202);
});

test('a manual run is broadcast at /ws, appears in the activity, and is recorded', async () => {
  await using all = await withOwner();
  const { id } = await all.add(sound);
  await all.ask('POST', `/${id}/publish`);
  const received: ServerMessage[] = [];
  const socket = new WebSocket(`${all.backend.url.replace('http', 'ws')}/ws`);
  socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token: all.accessToken })));
  socket.on('message', (data: Buffer) => void received.push(JSON.parse(data.toString()) as ServerMessage));
  await until('it is logged in', () => received.some(({ type }) => type === 'hello'));
  const wrong = await all.ask('POST', `/${id}/run`, { nodeId: 'message' });
  assert.equal(wrong.statusCode, 400);
  const run = await all.ask('POST', `/${id}/run`, { nodeId: 'daily' });
  assert.deepEqual([run.statusCode, run.body.status, run.body.trigger.kind], [202, 'completed', 'manual']);
  await until(
    'the client is notified',
    () =>
      received.some(({ type }) => type === 'notification') && received.some(({ type }) => type === 'automation_run'),
  );
  socket.terminate();
  const [record]: AutomationRun[] = (await all.ask('GET', `/${id}/runs`)).body;
  assert.deepEqual(
    record?.steps.map(({ nodeId, status }) => [nodeId, status]),
    [['message', 'done']],
  );
  const activity = await all.http.inject({ url: '/api/activity', headers: bearer(all.accessToken) });
  const [latest] = activity.json<DeviceEvent[]>();
  assert.deepEqual([latest?.deviceId, latest?.kind, latest?.data['message']], [null, 'notification', 'Good morning']);
  const [summary]: AutomationSummary[] = (await all.ask('GET', '')).body;
  assert.equal(summary?.lastRun?.id, record?.id);
});

test('each manual start during a run is answered as skipped, and recorded once', async () => {
  await using all = await withOwner();
  const { id } = await all.add(chain([daily, delay('wait', 120), notify]), { mode: 'single' });
  await all.ask('POST', `/${id}/publish`);
  const answers: unknown[] = [];
  for (let press = 0; press < 4; press++) {
    const { statusCode, body } = await all.ask('POST', `/${id}/run`);
    answers.push([statusCode, body.status, body.reason]);
  }
  const refused = [202, 'skipped', 'already_running'];
  assert.deepEqual(answers.slice(1), [refused, refused, refused]);
  const records: AutomationRun[] = (await all.ask('GET', `/${id}/runs`)).body;
  assert.deepEqual(
    records.map(({ reason }) => reason),
    ['already_running', null],
  );
});

test('reports of a device start runs: once for a change, by event, and by online and offline', async () => {
  await using all = await withOwner();
  const login = await addDevice(all.backend.db, 'sensor-1', 'climate');
  const deviceId = login.id;
  const config = { deviceId, capability: 'temperature', operator: 'gt', value: 25 };
  const warm = await all.add(chain([node('warm', 'trigger', 'device_state_changed', config), notify]));
  const pressed = await all.add(
    chain([node('e', 'trigger', 'device_event_received', { deviceId, action: 'pressed' }), notify]),
  );
  const away = await all.add(
    chain([node('s', 'trigger', 'device_status_changed', { deviceId, status: 'offline' }), notify]),
  );
  for (const { id } of [warm, pressed, away]) await all.ask('POST', `/${id}/publish`);
  await using sensor = await connectDevice(all.backend.mqttAddress ?? '', login);
  for (const temperature of [20, 26, 27, 24, 26]) await sensor.publish('state', { state: { temperature } });
  for (const action of ['pressed', 'released'])
    await sensor.publish('event', { event: 'user_event', data: { action } });
  sensor.client.stream.destroy();
  const runs = async (id: string): Promise<AutomationRun[]> => (await all.ask('GET', `/${id}/runs`)).body;
  await until('it went offline', async () => (await runs(away.id)).length > 0);
  const changes = (await runs(warm.id)).map(({ trigger }) => [trigger.data['from'], trigger.data['to']]);
  assert.deepEqual(changes, [
    [24, 26],
    [20, 26],
  ]);
  assert.deepEqual([(await runs(pressed.id)).length, (await runs(away.id)).length], [1, 1]);
  const removed = await all.http.inject({
    method: 'DELETE',
    url: `/api/devices/${deviceId}`,
    headers: bearer(all.accessToken),
  });
  assert.equal(removed.statusCode, 200);
  const { conditions } = (await all.ask('GET', `/${warm.id}`)).body as Automation;
  assert.deepEqual(
    conditions.map(({ code }) => code),
    ['flow_broken'],
  );
  const wrong = async () => {
    const list = await all.http.inject({ url: '/api/conditions', headers: bearer(all.accessToken) });
    return list.json<BackendCondition[]>().find((one) => one.id === 'automations_broken')?.details;
  };
  await until('the station says so', async () => (await wrong())?.['count'] === 3);
  for (const { id } of [warm, pressed, away]) await all.ask('POST', `/${id}/draft`);
  await until('nothing is wrong when they are off', async () => (await wrong()) === undefined);
});

const sunset = node('sunset', 'trigger', 'schedule', { sun: { event: 'sunset' } });

async function askElse(
  all: Awaited<ReturnType<typeof withOwner>>,
  method: 'POST' | 'PATCH' | 'DELETE',
  url: string,
  payload?: object,
) {
  const headers = bearer(all.accessToken);
  const answer = await all.http.inject({ method, url, headers, ...(payload && { payload }) });
  assert.ok(answer.statusCode < 300, answer.body);
  return answer.body === '' ? null : answer.json<{ id: string }>();
}

test('the sun is followed once the station has a place; without one an automation is broken', async () => {
  await using all = await withOwner();
  const { id, faults } = await all.add(chain([sunset, notify]));
  assert.deepEqual(
    faults.map(({ code }) => code),
    ['no_place'],
  );
  assert.equal((await all.ask('POST', `/${id}/publish`)).statusCode, 422);
  await askElse(all, 'PATCH', '/api/station', { place: { latitude: 50.45, longitude: 30.52 } });
  const published: Automation = (await all.ask('POST', `/${id}/publish`)).body;
  const next = Date.parse(published.nextRunAt ?? '');
  assert.ok(next > Date.now() && next < Date.now() + 25 * 3_600_000, String(published.nextRunAt));
  await askElse(all, 'PATCH', '/api/station', { place: null });
  const { conditions, nextRunAt } = (await all.ask('GET', `/${id}`)).body as Automation;
  assert.deepEqual([conditions.map(({ code }) => code), nextRunAt], [['flow_broken'], null]);
  await until('the station says so', async () => {
    const list = await all.http.inject({ url: '/api/conditions', headers: bearer(all.accessToken) });
    return list.json<BackendCondition[]>().some((one) => one.id === 'automations_broken');
  });
});

test('any device of a zone starts it, and each device of the zone gets the command', async () => {
  await using all = await withOwner();
  const hall = (await askElse(all, 'POST', '/api/zones', { name: 'Hall' }))!.id;
  const mqtt = all.backend.mqttAddress ?? '';
  const logins = [];
  for (const [name, type] of [
    ['motion-1', 'pir'],
    ['motion-2', 'pir'],
    ['lamp-1', 'light'],
    ['lamp-2', 'light'],
  ] as const) {
    const login = await addDevice(all.backend.db, name, type);
    await askElse(all, 'PATCH', `/api/devices/${login.id}`, { zoneId: hall });
    logins.push(login);
  }
  const [sensor, other, lamp, dark] = logins as [
    (typeof logins)[0],
    (typeof logins)[0],
    (typeof logins)[0],
    (typeof logins)[0],
  ];
  const motion = { zoneId: hall, capability: 'motion', operator: 'eq', value: true };
  const light = { zoneId: hall, action: 'turn_on' };
  const flow = chain([node('t', 'trigger', 'zone_state_changed', motion), node('a', 'action', 'zone_command', light)]);
  const { id } = await all.add(flow);
  assert.equal((await all.ask('POST', `/${id}/publish`)).statusCode, 200);
  await using first = await connectDevice(mqtt, sensor);
  await using second = await connectDevice(mqtt, other);
  await using lit = await connectDevice(mqtt, lamp);
  await using gone = await connectDevice(mqtt, dark);
  await gone.publish('state', { state: { on: false } });
  gone.client.stream.destroy();
  await until('a lamp is offline', async () => {
    const answer = await all.http.inject({ url: `/api/devices/${dark.id}`, headers: bearer(all.accessToken) });
    return answer.json<Device>().status === 'offline';
  });
  lit.client.on('message', (topic, payload) => {
    if (!topic.endsWith('/command')) return;
    const { commandId, action } = JSON.parse(payload.toString()) as Record<string, unknown>;
    void lit.publish('event', { event: 'device_event', data: { action: 'command_ack', commandId } });
    void lit.publish('state', { state: { on: action === 'turn_on' } });
  });
  for (const one of [first, second, lit]) await one.publish('state', { state: { motion: false } });
  await first.publish('state', { state: { motion: true } });
  const runs = async (): Promise<AutomationRun[]> => (await all.ask('GET', `/${id}/runs`)).body;
  await until('it is over', async () => (await runs())[0]?.endedAt != null);
  const [run] = await runs();
  assert.deepEqual(
    [run?.trigger.kind, run?.trigger.deviceId, run?.status],
    ['zone_state_changed', sensor.id, 'failed'],
  );
  const seen = (run?.steps[0]?.seen?.devices ?? []).map(({ deviceId, status }) => [
    deviceId === lamp.id ? 'lit' : 'dark',
    status,
  ]);
  assert.deepEqual(seen.sort(), [
    ['dark', 'offline'],
    ['lit', 'done'],
  ]);
  // A device that leaves the zone starts nothing more.
  await askElse(all, 'PATCH', `/api/devices/${other.id}`, { zoneId: null });
  await askElse(all, 'DELETE', `/api/devices/${dark.id}`);
  await second.publish('state', { state: { motion: true } });
  await first.publish('state', { state: { motion: false } });
  await first.publish('state', { state: { motion: true } });
  await until('the second run is over', async () => (await runs()).length > 1 && (await runs())[0]?.endedAt != null);
  assert.deepEqual(
    (await runs()).map(({ status, trigger }) => [status, trigger.deviceId]),
    [
      ['completed', sensor.id],
      ['failed', sensor.id],
    ],
  );
  await askElse(all, 'DELETE', `/api/zones/${hall}`);
  const { conditions, faults } = (await all.ask('GET', `/${id}`)).body as Automation;
  assert.deepEqual(
    [conditions.map(({ code }) => code), faults.map(({ code }) => code)],
    [['flow_broken'], ['unknown_zone', 'unknown_zone']],
  );
});

test('an owner runs an automation without its conditions; nobody else does, and the record says so', async () => {
  await using all = await withOwner();
  const { id: deviceId } = await addDevice(all.backend.db, 'lamp-1', 'light');
  const isOn = { deviceId, capability: 'on', value: true };
  const lit = { until: { kind: 'state_equals', config: isOn }, seconds: 3600 };
  const flow = chain([
    daily,
    node('night', 'condition', 'state_equals', isOn),
    node('wait', 'condition', 'wait_until', lit),
    notify,
  ]);
  const { id } = await all.add(flow);
  await all.ask('POST', `/${id}/publish`);
  const usual = await all.ask('POST', `/${id}/run`);
  assert.deepEqual([usual.statusCode, usual.body.reason], [202, 'conditions_not_met']);
  const member = all.caller(await memberOf(all, all.accessToken));
  assert.equal((await member('POST', `/${id}/run`, { ignoreConditions: true })).statusCode, 403);
  const run = await all.ask('POST', `/${id}/run`, { ignoreConditions: true });
  assert.deepEqual([run.statusCode, run.body.status, run.body.trigger.ignoresConditions], [202, 'completed', true]);
  const [record]: AutomationRun[] = (await all.ask('GET', `/${id}/runs`)).body;
  assert.deepEqual(
    record?.steps.map(({ nodeId, status, seen }) => [nodeId, status, seen]),
    [
      ['night', 'ignored', { value: null }],
      ['wait', 'ignored', { value: null }],
      ['message', 'done', null],
    ],
  );
});

test('a test shows what each step would see and do now, and does nothing', async () => {
  await using all = await withOwner();
  const { id: deviceId } = await addDevice(all.backend.db, 'lamp-1', 'light');
  const is = (id: string, value: boolean) =>
    node(id, 'condition', 'state_equals', { deviceId, capability: 'on', value });
  const wait = node('wait', 'condition', 'wait_until', {
    until: { kind: 'state_equals', config: { deviceId, capability: 'on', value: true } },
    seconds: 60,
  });
  const off = node('off', 'action', 'device_command', { deviceId, action: 'turn_off' });
  const flow = {
    nodes: [daily, is('on', true), act('hook'), wait, off],
    edges: [
      { id: '1', source: 'daily', target: 'on' },
      { id: '2', source: 'on', target: 'hook' },
      { id: '3', source: 'on', target: 'wait', sourceHandle: 'false' },
      { id: '4', source: 'wait', target: 'off' },
    ],
  };
  const { statusCode, body } = await all.ask('POST', '/test', { flow });
  assert.equal(statusCode, 200);
  assert.deepEqual(body, {
    steps: [
      { nodeId: 'on', kind: 'state_equals', outcome: 'not_met', seen: { value: null } },
      { nodeId: 'wait', kind: 'wait_until', outcome: 'would_wait', seen: { value: null } },
      {
        nodeId: 'off',
        kind: 'device_command',
        outcome: 'would_fail',
        seen: { devices: [{ deviceId, status: 'offline' }] },
      },
    ],
  });
  const ignoring = await all.ask('POST', '/test', { flow, ignoreConditions: true });
  assert.deepEqual(
    ignoring.body.steps.map(({ nodeId, outcome }: TestStep) => [nodeId, outcome]),
    [
      ['on', 'would_ignore'],
      ['hook', 'would_do'],
    ],
    'on the way of a condition that is met',
  );
  assert.deepEqual((await all.ask('GET', '')).body, []);
  const bad = await all.ask('POST', '/test', { flow: { nodes: [], edges: [] } });
  assert.deepEqual([bad.statusCode, bad.body.code], [422, 'automation_invalid']);
  const member = all.caller(await memberOf(all, all.accessToken));
  assert.equal((await member('POST', '/test', { flow })).statusCode, 403);
});
