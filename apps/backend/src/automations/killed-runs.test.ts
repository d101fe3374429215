import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Automation, AutomationRun } from '@station/protocol/automations';
import type { Device } from '@station/protocol/devices';
import type { Session } from '@station/protocol/rest';
import { newToken } from '../core/secrets.ts';
import { chain, delay, node } from '../../testing/automation-world.ts';
import { bearer, owner } from '../../testing/running-backend.ts';
import { runProgram, type RunningProgram } from '../../testing/running-program.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { connectDevice, type TestDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const logins = ['motion-1', 'lamp-1'].map((externalId) => ({ stationId, id: '', externalId, token: newToken() }));

async function started(program: RunningProgram): Promise<{ url: string; broker: string }> {
  const line = (event: string): Record<string, unknown> | undefined => program.lines.find((one) => one.event === event);
  await until('the backend runs', () => line('backend_started') !== undefined);
  return { url: String(line('backend_started')?.['address']), broker: String(line('mqtt_listening')?.['address']) };
}

async function call<T>(url: string, path: string, token: string | null, body?: unknown, method = 'POST'): Promise<T> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : method,
    headers: { ...(token === null ? {} : bearer(token)), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as T;
  assert.ok(response.ok, JSON.stringify(answer));
  return answer;
}

/** A lamp that reconnects, sends its handshake, and confirms commands. */
async function lampAt(broker: string, received: unknown[]): Promise<TestDevice> {
  const lamp = await connectDevice(broker, logins[1]!);
  lamp.client.on('message', (topic, payload) => {
    if (!topic.endsWith('/command')) return;
    const { action, commandId } = JSON.parse(payload.toString()) as Record<string, unknown>;
    received.push(action);
    void lamp.publish('event', { event: 'device_event', data: { action: 'command_ack', commandId } });
    void lamp.publish('state', { state: { on: action === 'turn_on' } });
  });
  await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' });
  return lamp;
}

const command = (id: string, deviceId: string, action: string) =>
  node(id, 'action', 'device_command', { deviceId, action });

test('motion, lamp on, wait until there is none, lamp off: also when the backend is killed at each wait', async () => {
  await using folder = await temporaryFolder();
  const devicesFile = join(folder.path, 'devices.json');
  const devices = logins.map(({ externalId, token }, index) => ({
    externalId,
    type: index === 0 ? 'pir' : 'light',
    name: externalId,
    token,
  }));
  await writeFile(devicesFile, JSON.stringify({ devices }), { mode: 0o600 });
  const dataDir = join(folder.path, 'data');
  const env = { PORT: '0', DATA_DIR: dataDir, STATION_ID: stationId, DEVICES_FILE: devicesFile };
  const received: unknown[] = [];
  let id: string;
  {
    await using program = runProgram(env);
    const { url, broker } = await started(program);
    const code = (await readFile(join(dataDir, 'setup-code'), 'utf8')).trim();
    const { accessToken } = await call<Session>(url, '/api/auth/setup', null, { code, ...owner });
    const known = await call<Device[]>(url, '/api/devices', accessToken);
    const idOf = (externalId: string): string => known.find((one) => one.externalId === externalId)!.id;
    const lampId = idOf('lamp-1');
    const sensorId = idOf('motion-1');
    const motion = node('motion', 'trigger', 'device_state_changed', {
      deviceId: sensorId,
      capability: 'motion',
      operator: 'eq',
      value: true,
    });
    const flow = chain([
      motion,
      command('on', lampId, 'turn_on'),
      node('still', 'condition', 'wait_until', {
        until: { kind: 'state_equals', config: { deviceId: sensorId, capability: 'motion', value: false } },
        seconds: 600,
      }),
      delay('wait', 3),
      command('off', lampId, 'turn_off'),
    ]);
    id = (await call<Automation>(url, '/api/automations', accessToken, { name: 'Hall', flow })).id;
    await call(url, `/api/automations/${id}/publish`, accessToken, {});

    await using _lamp = await lampAt(broker, received);
    await using sensor = await connectDevice(broker, logins[0]!);
    await sensor.publish('state', { state: { motion: true } });
    await until('the run waits', async () => {
      const [run] = await call<AutomationRun[]>(url, `/api/automations/${id}/runs`, accessToken);
      return run?.status === 'waiting';
    });
    assert.deepEqual(received, ['turn_on']);
    program.child.kill('SIGKILL');
    await program.exit;
  }
  const { email, password } = owner;
  const logIn = async (url: string): Promise<string> =>
    (await call<Session>(url, '/api/auth/login', null, { email, password })).accessToken;
  const lastRun = async (url: string, token: string): Promise<AutomationRun | undefined> =>
    (await call<AutomationRun[]>(url, `/api/automations/${id}/runs`, token))[0];
  {
    await using program = runProgram(env);
    const { url, broker } = await started(program);
    const token = await logIn(url);
    await using sensor = await connectDevice(broker, logins[0]!);
    await sensor.publish('state', { state: { motion: false } });
    await until('there was no more motion', async () =>
      ((await lastRun(url, token))?.steps ?? []).some(({ nodeId }) => nodeId === 'wait'),
    );
    assert.deepEqual(received, ['turn_on']);
    program.child.kill('SIGKILL');
    await program.exit;
  }
  await using program = runProgram(env);
  const { url, broker } = await started(program);
  await using _lamp = await lampAt(broker, received);
  const token = await logIn(url);
  await until('the run is over', async () => (await lastRun(url, token))?.endedAt != null);
  const last = await lastRun(url, token);
  assert.deepEqual(received, ['turn_on', 'turn_off']);
  assert.equal(last?.status, 'completed');
  assert.deepEqual(
    last.steps.map((step) => `${step.nodeId} ${step.status}`),
    ['on done', 'still met', 'wait done', 'off done'],
  );
});
