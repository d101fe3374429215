import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { OtaCheck, OtaDeviceTypes } from '@station/protocol/firmware';
import type { Firmware, Rollout } from '@station/protocol/firmware-rollouts';
import { createDeviceStore } from '../store/device-store.ts';
import { contentOf } from '../../testing/firmware-station.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';

const agentToken = 'the-token-of-the-agent';

/** A backend with devices that call it over HTTP. */
async function backendWithDevices() {
  const running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
  const { http, backend } = running;
  const devices = createDeviceStore({ db: backend.db, clock: systemClock });
  const headers = bearer((await running.setUp()).accessToken);
  const add = async (externalId: string, type: string, chip: string | null) => {
    const { id, token } = await devices.provision({ externalId, type, name: externalId, zoneId: null });
    const set = { chip, firmware_version: '1.0.0' };
    await backend.db.updateTable('devices').set(set).where('id', '=', id).execute();
    const own = { 'x-device-token': token };
    const get = (query: string) =>
      http.inject({ url: `/api/ota/check?device_id=${externalId}&${query}`, headers: own });
    return {
      id,
      get,
      check: async (query: string) => (await get(query)).json<OtaCheck>(),
      report: async (firmwareId: string, status: string, deviceId = externalId): Promise<number> => {
        const payload = { deviceId, firmwareId, status };
        return (await http.inject({ method: 'POST', url: '/api/ota/report', headers: own, payload })).statusCode;
      },
    };
  };
  const post = (url: string, payload: object) =>
    http.inject({ method: 'POST', url, headers: bearer(agentToken), payload });
  return {
    add,
    post,
    handOver: async (name: string, version: string, more: object = {}): Promise<void> => {
      const { file, checksum, size } = contentOf(version, name);
      const ready = await post('/api/ota/firmware-ready', { name, version, file, checksum, size, ...more });
      assert.equal(ready.statusCode, 204, ready.body);
    },
    typesForAgent: async (): Promise<OtaDeviceTypes> =>
      (await http.inject({ url: '/api/ota/device-types', headers: bearer(agentToken) })).json(),
    get: async <T>(url: string): Promise<T> => (await http.inject({ url, headers })).json<T>(),
    begin: (payload: object) => http.inject({ method: 'POST', url: '/api/firmware/rollouts', headers, payload }),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

describe('GET /api/ota/check', () => {
  it('answers both forms with the firmware for the chip', async () => {
    await using all = await backendWithDevices();
    const device = await all.add('d1', 'light', 'esp32c3');
    for (const name of ['light', 'esp32-light', 'esp32c3-light']) await all.handOver(name, '1.1.0');
    const { checksum, size } = contentOf('1.1.0');
    const offered = {
      updateAvailable: true,
      version: '1.1.0',
      downloadUrl: 'http://localhost:80/firmware/esp32c3-light@1.1.0.bin',
      firmwareId: 'esp32c3-light@1.1.0',
      checksum,
      size,
    };
    assert.deepEqual(await device.check('device_type=light&chip=esp32c3&current_version=1.0.0'), offered);
    const { downloadUrl: url } = offered;
    assert.deepEqual(await device.check('version=1.0.0&chip=ESP32-C3'), { ...offered, update: true, url });
    assert.equal((await device.check('current_version=1.0.0')).updateAvailable, true);
  });

  it('has nothing for another chip, another type, the same or a newer version', async () => {
    await using all = await backendWithDevices();
    const device = await all.add('d1', 'light', 'esp32');
    await all.handOver('light', '1.1.0');
    for (const query of [
      'chip=esp32c3&current_version=1.0.0',
      'chip=esp32&current_version=1.0.0&device_type=climate',
      'current_version=1.1.0',
      'current_version=2.0.0',
    ])
      assert.deepEqual(await device.check(query), { updateAvailable: false }, query);
    assert.deepEqual(await device.check('version=1.1.0'), { updateAvailable: false, update: false });
    assert.equal((await device.check('version=1.0.0')).updateAvailable, true);
    assert.deepEqual(
      await device.check('current_version=1.1.0'),
      { updateAvailable: false },
      'it has what it was given',
    );
  });

  it('gives a device without a recorded chip only firmware for every chip', async () => {
    await using all = await backendWithDevices();
    const device = await all.add('d1', 'light', null);
    await all.handOver('esp32-light', '1.2.0');
    assert.deepEqual(await device.check('chip=esp32&current_version=1.0.0'), { updateAvailable: false });
    await all.handOver('light', '1.1.0');
    const offered = await device.check('chip=esp32&current_version=1.0.0');
    assert.equal(offered.updateAvailable && offered.firmwareId, 'light@1.1.0');
  });

  it('gives a type whose devices call themselves otherwise only firmware of its own name', async () => {
    await using all = await backendWithDevices();
    const capabilities = [{ key: 'on', kind: 'boolean' }];
    const own = { type: 'own-light', category: 'actuator', capabilities, handshakeTypes: ['light'] };
    assert.equal(
      (await all.post('/api/ota/device-types', { types: [{ ...own, commands: [], events: [] }] })).statusCode,
      204,
    );
    const device = await all.add('d1', 'own-light', 'esp32');
    for (const name of ['light', 'esp32-light']) await all.handOver(name, '1.1.0');
    for (const query of ['version=1.0.0', 'device_type=light&current_version=1.0.0'])
      assert.equal((await device.check(query)).updateAvailable, false, query);
    await all.handOver('esp32-own-light', '1.1.0');
    const offered = await device.check('device_type=light&current_version=1.0.0');
    assert.equal(offered.updateAvailable && offered.firmwareId, 'esp32-own-light@1.1.0');
  });

  it('waits for approval and for the canary like a command', async () => {
    await using all = await backendWithDevices();
    const one = await all.add('d1', 'light', 'esp32');
    const other = await all.add('d2', 'light', 'esp32');
    await all.handOver('esp32-light', '1.1.0');
    const check = 'current_version=1.0.0&chip=esp32';
    assert.equal((await one.check(check)).updateAvailable, true);
    assert.equal((await other.check(check)).updateAvailable, false);
    assert.equal((await one.check(check)).updateAvailable, true, 'it may ask again');
  });

  it('needs a version, and the token of the device', async () => {
    await using all = await backendWithDevices();
    const one = await all.add('d1', 'light', null);
    const other = await all.add('d2', 'light', null);
    assert.equal((await one.get('chip=esp32')).statusCode, 400);
    assert.equal((await other.report('light@1.1.0', 'failed', 'd1')).toString(), '403');
  });
});

describe('POST /api/ota/report', () => {
  const check = 'current_version=1.0.0&chip=esp32&device_type=light';

  it('counts "failed" as a failed attempt: after two the device gets that version no more', async () => {
    await using all = await backendWithDevices();
    const device = await all.add('d1', 'light', 'esp32');
    await all.handOver('esp32-light', '1.1.0');
    for (const _ of [1, 2]) {
      const offered = await device.check(check);
      assert.ok(offered.updateAvailable);
      assert.equal(await device.report(offered.firmwareId, 'failed'), 204);
    }
    assert.equal((await device.check(check)).updateAvailable, false);
    const [rollout] = await all.get<Rollout[]>('/api/firmware/rollouts');
    assert.deepEqual([rollout?.type, rollout?.chip, rollout?.devices.failed], ['light', 'esp32', 1]);
    await all.handOver('esp32-light', '1.2.0');
    const next = await device.check(check);
    assert.equal(next.updateAvailable && next.version, '1.2.0', 'a newer version is another matter');
  });

  it('does not take "success" for one', async () => {
    await using all = await backendWithDevices();
    const device = await all.add('d1', 'light', 'esp32');
    await all.handOver('light', '1.1.0');
    const offered = await device.check(check);
    assert.ok(offered.updateAvailable);
    assert.equal(await device.report(offered.firmwareId, 'success'), 204);
    const [rollout] = await all.get<Rollout[]>('/api/firmware/rollouts');
    assert.deepEqual([rollout?.devices.updated, rollout?.devices.updating], [0, 1]);
  });

  it('ignores firmware that no rollout brings, and refuses other values', async () => {
    await using all = await backendWithDevices();
    const device = await all.add('d1', 'light', 'esp32');
    for (const id of ['light@9.9.9', 'light', '@', 'x'.repeat(256)])
      assert.equal(await device.report(id, 'failed'), 204, id);
    assert.equal(await device.report('light@1.1.0', 'perhaps'), 400);
  });
});

describe('the agent', () => {
  it('learns the versions of each type, and of each chip that has firmware, and what needs approval', async () => {
    await using all = await backendWithDevices();
    await all.add('d1', 'light', 'esp32');
    await all.add('d2', 'light', 'esp32c3');
    await all.handOver('esp32-light', '1.1.0');
    await all.handOver('climate', '1.0.0', { needsApproval: true });
    assert.deepEqual(await all.typesForAgent(), [
      { type: 'climate', installed: [], cached: '1.0.0', needsApproval: true },
      { type: 'esp32-light', installed: ['1.0.0'], cached: '1.1.0', needsApproval: false },
      { type: 'light', installed: ['1.0.0'], cached: null, needsApproval: false },
    ]);
  });

  it('announces device types of the manifest; an invalid one hinders none', async () => {
    await using all = await backendWithDevices();
    const relay = { type: 'relay', capabilities: [{ key: 'on', kind: 'boolean' }] };
    const types = [{ type: 'Bad name', capabilities: [] }, 'text', relay];
    assert.equal((await all.post('/api/ota/device-types', { types })).statusCode, 204);
    const known = await all.get<{ type: string }[]>('/api/device-types');
    assert.ok(known.some(({ type }) => type === 'relay'));
    assert.equal((await all.post('/api/ota/device-types', { types: 'relay' })).statusCode, 400);
  });
});

describe('the firmware of a type', () => {
  it('is one entry with all its versions, and a request reaches every chip or one', async () => {
    await using all = await backendWithDevices();
    await all.add('d1', 'light', 'esp32');
    await all.add('d2', 'light', 'esp32c3');
    for (const name of ['esp32-light', 'esp32c3-light']) await all.handOver(name, '1.1.0');
    await all.handOver('esp32-light', '0.9.0');
    const [light, ...others] = await all.get<Firmware[]>('/api/firmware');
    assert.deepEqual([light?.type, others], ['light', []]);
    assert.deepEqual(light?.installed, [{ version: '1.0.0', devices: 2 }]);
    assert.deepEqual(
      light?.images.map(({ version, chips }) => [version, chips]),
      [
        ['1.1.0', ['esp32', 'esp32c3']],
        ['0.9.0', ['esp32']],
      ],
    );
    const begun = await all.begin({ type: 'light', version: '1.1.0' });
    assert.deepEqual([begun.statusCode, begun.json<Rollout>().chip], [201, 'esp32']);
    const running = await all.get<Rollout[]>('/api/firmware/rollouts');
    const requested = running.filter(({ requestedBy }) => requestedBy !== null).map(({ chip }) => chip);
    assert.deepEqual(requested.sort(), ['esp32', 'esp32c3']);
    assert.equal((await all.begin({ type: 'light', version: '0.9.0', chip: 'esp32c3' })).statusCode, 404);
    assert.equal((await all.begin({ type: 'light', version: '0.9.0', chip: 'esp32' })).statusCode, 201);
  });
});
