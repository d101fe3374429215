import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Automation, AutomationRun } from '@station/protocol/automations';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { Device } from '@station/protocol/devices';
import type { Scene } from '@station/protocol/scenes';
import { chain, node } from '../../testing/automation-world.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

/** Two lamps, a scene of both, and a published automation that runs it. */
async function withScene() {
  const running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const ask = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) => {
    const { statusCode, body } = await running.http.inject({ method, url, headers, ...(payload ? { payload } : {}) });
    assert.ok(statusCode < 300, `${method} ${url}: ${body}`);
    return body === '' ? null : JSON.parse(body);
  };
  const hall = await addDevice(running.backend.db, 'lamp-1', 'light');
  const cellar = await addDevice(running.backend.db, 'lamp-2', 'light');
  const commands = [
    { deviceId: hall.id, action: 'turn_on' },
    { deviceId: cellar.id, action: 'turn_on' },
    { deviceId: hall.id, action: 'set_brightness', params: { brightness: 30 } },
  ];
  const scene: Scene = await ask('POST', '/api/scenes', { name: 'Evening', commands });
  const daily = node('daily', 'trigger', 'schedule', { time: '07:00' });
  const flow = chain([daily, node('run', 'action', 'scene', { sceneId: scene.id })]);
  const { id } = (await ask('POST', '/api/automations', { name: 'Dusk', flow })) as Automation;
  await ask('POST', `/api/automations/${id}/publish`);
  const newest = async (): Promise<AutomationRun | undefined> => (await ask('GET', `/api/automations/${id}/runs`))[0];
  return {
    ask,
    hall,
    cellar,
    scene,
    flow,
    id,
    mqtt: running.backend.mqttAddress ?? '',
    /** Starts it, and resolves to its record once it is over. */
    run: async (): Promise<AutomationRun> => {
      const started = await ask('POST', `/api/automations/${id}/run`);
      await until('the run is over', async () => {
        const run = await newest();
        return run?.id === started.id && run?.endedAt !== null;
      });
      return (await newest())!;
    },
    isOnline: async (deviceId: string): Promise<boolean> =>
      ((await ask('GET', `/api/devices/${deviceId}`)) as Device).status === 'online',
    isCalledBroken: async (): Promise<boolean> =>
      ((await ask('GET', '/api/conditions')) as BackendCondition[]).some((one) => one.id === 'automations_broken'),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** Confirms each command; `received` has their actions in order. */
async function answering(mqtt: string, login: Awaited<ReturnType<typeof addDevice>>, received: string[]) {
  const device = await connectDevice(mqtt, login);
  device.client.on('message', (topic, payload) => {
    if (!topic.endsWith('/command')) return;
    const { commandId, action } = JSON.parse(payload.toString()) as { commandId: string; action: string };
    received.push(action);
    void device.publish('event', { event: 'device_event', data: { action: 'command_ack', commandId } });
  });
  await device.publish('state', { state: { on: false } });
  return device;
}

test('an automation runs a scene: its commands in order, and what became of them at each device', async () => {
  await using all = await withScene();
  const { hall, cellar } = all;
  const received: string[] = [];
  await using _lit = await answering(all.mqtt, hall, received);
  {
    await using _second = await answering(all.mqtt, cellar, []);
    await until('both are online', async () => (await all.isOnline(hall.id)) && (await all.isOnline(cellar.id)));
    const run = await all.run();
    assert.deepEqual([run.status, run.steps[0]?.kind, run.steps[0]?.status], ['completed', 'scene', 'done']);
    assert.deepEqual(received, ['turn_on', 'set_brightness']);
  }
  await until('one is offline', async () => !(await all.isOnline(cellar.id)));
  const trace = await all.ask('POST', '/api/automations/test', { flow: all.flow });
  const devices = [
    { deviceId: hall.id, status: 'done' },
    { deviceId: cellar.id, status: 'offline' },
  ];
  assert.deepEqual(trace.steps, [{ nodeId: 'run', kind: 'scene', outcome: 'would_do', seen: { devices } }]);
  const partly = await all.run();
  assert.deepEqual([partly.status, partly.steps[0]?.status, partly.steps[0]?.seen], ['failed', 'failed', { devices }]);
});

test('a removed scene marks the automations that run it, as a removed device does', async () => {
  await using all = await withScene();
  const { id, scene } = all;
  const conditions = async (): Promise<string[]> =>
    ((await all.ask('GET', `/api/automations/${id}`)) as Automation).conditions.map(({ code }) => code);
  assert.deepEqual([await conditions(), await all.isCalledBroken()], [[], false]);
  await all.ask('DELETE', `/api/scenes/${scene.id}`);
  assert.deepEqual(await conditions(), ['flow_broken']);
  await until('the station says it', all.isCalledBroken);
  const { faults } = (await all.ask('GET', `/api/automations/${id}`)) as Automation;
  assert.deepEqual(
    faults.map(({ code, pointer }) => `${code} ${pointer}`),
    ['unknown_scene /nodes/1/data/config/sceneId'],
  );
});
