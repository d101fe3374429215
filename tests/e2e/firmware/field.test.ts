import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { buildImage, checksumOfFile } from '@station/simulators/firmware/image-builder';
import { startVirtualDevice, type DeviceLogin, type VirtualDevice } from '@station/simulators/devices/virtual-device';
import type { OtaCheck } from '@station/protocol/firmware';
import { waitFor } from '../../rig/program.ts';
import { stationId } from '../backend/installation.ts';
import { startFirmwareStation } from './station.ts';

const imageBytes = 100_000;
const chips = ['esp32', 'esp32c3'] as const;
/** Of twelve devices of four types, three are lights. */
const devices = 12;

/** Files and manifest as the field publishes them: a map, with keys in both forms. */
const published = (version: string) =>
  ['esp32-light', 'esp32c3/light'].map((key, index) => {
    const image = buildImage({ project: 'light', version, bytes: imageBytes, chip: chips[index] as string });
    const file = `${key.replace('/', '-')}-${version}.bin`;
    return { key, file, image, entry: { version, file, checksum: checksumOfFile(image) } };
  });

const relay = {
  capabilities: [{ key: 'on', kind: 'boolean' }],
  commands: [{ action: 'turn_on', sets: { on: true }, confirmedBy: ['on'], repeatable: true }],
  names: { en: 'Relay' },
};

it('devices of the field get the firmware of their chip, ask over HTTP, and are left alone after two failures', async (test) => {
  await using station = await startFirmwareStation({
    devices,
    sleepers: 0,
    otaBytesPerSecond: 1_000_000,
    env: { FIRMWARE_SOAK_SECONDS: '1' },
  });
  const { server, agent, installation, publicUrl } = station;
  const lights = installation.logins.filter(({ type }) => type === 'light');
  assert.equal(lights.length, 3);
  const offer = async (version: string, more: object = {}): Promise<void> => {
    const all = published(version);
    for (const { file, image } of all) server.put(file, image);
    server.setManifest({ ...Object.fromEntries(all.map(({ key, entry }) => [key, entry])), ...more });
    await agent.call('POST', '/check');
  };
  await using running = new AsyncDisposableStack();
  const start = (
    login: DeviceLogin,
    chip: string,
    more: { httpUrl?: string; otaBytesPerSecond?: number } = {},
  ): VirtualDevice =>
    running.use(
      startVirtualDevice({
        url: installation.mqttUrl,
        stationId,
        chip,
        seed: 'field',
        heartbeatMs: 5_000,
        login: { ...login, profile: 'field' },
        ...more,
      }),
    );
  const [silent, asking, other] = lights as [DeviceLogin, DeviceLogin, DeviceLogin];
  await installation.startBackend();
  await agent.start();

  await test.test('two chips of one type, told over MQTT or asking at their start', async () => {
    const esp32c3 = start(silent, 'esp32c3');
    await waitFor('the handshake', async () => (await station.versions()).get(silent.externalId) === '1.0.0');
    await offer('1.1.0');
    await waitFor('the image for its chip', () => Promise.resolve(esp32c3.firmwareVersion() === '1.1.0'), 60_000);
    const esp32 = start(asking, 'esp32', { httpUrl: publicUrl });
    await waitFor('the other image', () => Promise.resolve(esp32.firmwareVersion() === '1.1.0'), 60_000);
    await waitFor('both handshakes', async () => {
      const versions = await station.versions();
      return [silent, asking].every(({ externalId }) => versions.get(externalId) === '1.1.0');
    });
    const { firmware } = await agent.status();
    assert.deepEqual(firmware.items.map(({ name }) => name).sort(), ['esp32-light', 'esp32c3-light']);
    await waitFor('the end of both rollouts', async () => {
      const rows = await station.targets();
      return rows.length === 2 && rows.every(({ rollout, failures }) => rollout === 'done' && failures === 0);
    });
  });

  await test.test('a device that reports two failures gets that version no more, and the next one does', async () => {
    const ask = async (): Promise<OtaCheck> => {
      const query = { device_id: other.externalId, device_type: 'light', chip: 'esp32', current_version: '1.0.0' };
      const url = `${publicUrl}/api/ota/check?${new URLSearchParams(query).toString()}`;
      const response = await fetch(url, { headers: { 'x-device-token': other.token } });
      assert.equal(response.status, 200);
      return (await response.json()) as OtaCheck;
    };
    const report = async (firmwareId: string, status: string): Promise<void> => {
      const response = await fetch(`${publicUrl}/api/ota/report`, {
        method: 'POST',
        headers: { 'x-device-token': other.token, 'content-type': 'application/json' },
        body: JSON.stringify({ deviceId: other.externalId, firmwareId, status }),
      });
      assert.equal(response.status, 204);
    };
    assert.deepEqual(await ask(), { updateAvailable: false }, 'its chip is not recorded');
    // Too slow to install what it is told over MQTT.
    const device = start(other, 'esp32', { otaBytesPerSecond: 100 });
    await waitFor('its handshake', async () => (await station.versions()).get(other.externalId) === '1.0.0');
    await device[Symbol.asyncDispose]();
    for (const _ of [1, 2]) {
      const offered = await waitFor('an offer', async () => {
        const answer = await ask();
        return answer.updateAvailable && answer;
      });
      assert.equal(offered.firmwareId, 'esp32-light@1.1.0');
      const file = new Uint8Array(await (await fetch(offered.downloadUrl)).arrayBuffer());
      assert.equal(`sha256:${createHash('sha256').update(file).digest('hex')}`, offered.checksum);
      await report(offered.firmwareId, 'failed');
    }
    const untilLeftAlone = async (): Promise<boolean> =>
      (await station.targets()).some(({ name, state }) => name === other.externalId && state === 'failed');
    await waitFor('it to be left alone', untilLeftAlone);
    assert.deepEqual(await ask(), { updateAvailable: false });
    await offer('1.2.0');
    const next = await waitFor('the next version', async () => {
      const answer = await ask();
      return answer.updateAvailable && answer;
    });
    assert.equal(next.version, '1.2.0');
  });

  await test.test('a manifest describes a new device type', async () => {
    const { image } = published('1.0.0')[0] as ReturnType<typeof published>[0];
    server.put('relay.bin', image);
    const entry = { version: '1.0.0', file: 'relay.bin', checksum: checksumOfFile(image) };
    server.setManifest({ types: [{ type: 'esp32-relay', ...entry, ...relay }] });
    await agent.call('POST', '/check');
    const headers = { authorization: `Bearer ${await installation.logIn()}` };
    const types = await waitFor('the type', async () => {
      const response = await fetch(`${installation.url}/api/device-types`, { headers });
      const all = (await response.json()) as { type: string; commands: { action: string }[] }[];
      return all.find(({ type }) => type === 'relay');
    });
    assert.deepEqual(
      types.commands.map(({ action }) => action),
      ['turn_on'],
    );
  });
});
