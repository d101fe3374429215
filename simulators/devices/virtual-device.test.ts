import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBackend, bearer } from '@station/backend/testing/running-backend';
import { temporaryFolder } from '@station/backend/testing/temporary-folder';
import { until } from '@station/backend/testing/until';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startFirmwareServer } from '../firmware/firmware-server.ts';
import { buildImage } from '../firmware/image-builder.ts';
import { memoryStore } from './flash.ts';
import { startVirtualDevice, type VirtualDevice, type VirtualDeviceOptions } from './virtual-device.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const login = {
  externalId: 'light-1',
  type: 'light',
  profile: 'station',
  name: 'Lamp',
  token: 't'.repeat(40),
} as const;

/** A backend with one lamp and an image server. Commands come from a person. */
async function createScene(options: Partial<VirtualDeviceOptions> = {}) {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const devicesFile = join(folder.path, 'devices.json');
  await writeFile(devicesFile, JSON.stringify({ devices: [login] }));
  const env = { STATION_ID: stationId, DEVICES_FILE: devicesFile };
  const running = starting.use(await runBackend({ dataDir: join(folder.path, 'data'), env }));
  const server = starting.use(await startFirmwareServer());
  const { accessToken } = await running.setUp();
  const url = running.backend.mqttAddress ?? '';
  const device = starting.use(startVirtualDevice({ url, stationId, login, seed: 'a', ...options }));
  const row = () =>
    running.backend.db
      .selectFrom('devices')
      .select(['id', 'firmware_version as version'])
      .where('external_id', '=', login.externalId)
      .executeTakeFirstOrThrow();
  await until('the handshake is accepted', () => device.isAccepted());
  const { id } = await row();
  const all = starting.move();
  return {
    device,
    server,
    reported: async (): Promise<string | null> => (await row()).version,
    /** Sends the update command through the station. */
    update: async (version: string, bytes = 40_000): Promise<void> => {
      const {
        file,
        checksum,
        size = 0,
      } = server.offer('light', version, buildImage({ project: 'light', version, bytes }));
      const params = { url: `${server.origin}/firmware/${file}`, version, checksum, size };
      const payload = { action: 'ota_update', params };
      const headers = bearer(accessToken);
      const answer = await running.http.inject({ method: 'POST', url: `/api/devices/${id}/command`, headers, payload });
      assert.equal(answer.statusCode, 202, answer.body);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const settled = (device: VirtualDevice, boots: number): Promise<void> =>
  until('the device is online again', () => device.counts.boots >= boots && device.isAccepted());

test('starts the commanded image, reports it, and keeps it', async () => {
  await using scene = await createScene();
  const { device } = scene;
  assert.equal(await scene.reported(), '1.0.0');
  await scene.update('1.1.0');
  await settled(device, 2);
  await until('the station has the new version', async () => (await scene.reported()) === '1.1.0');
  device.powerLoss(0);
  await settled(device, 3);
  assert.equal(device.firmwareVersion(), '1.1.0');
});

test('the latest of two power cuts says when it comes back', async () => {
  await using scene = await createScene();
  const { device } = scene;
  device.powerLoss(1_000_000_000);
  device.powerLoss(0);
  await settled(device, 2);
});

test('boots the previous image after a power cut before the handshake is answered', async () => {
  await using scene = await createScene();
  const { device } = scene;
  await scene.update('1.1.0');
  await until('the new image starts', () => device.counts.boots === 2);
  assert.equal(device.firmwareVersion(), '1.1.0');
  device.powerLoss(0);
  await settled(device, 3);
  assert.equal(device.firmwareVersion(), '1.0.0');
  await until('the station has the new version', async () => (await scene.reported()) === '1.0.0');
});

test('falls back from a crashing image without a message to the station', async () => {
  await using scene = await createScene();
  await scene.update('1.2.0-crash');
  await settled(scene.device, 3);
  assert.equal(scene.device.firmwareVersion(), '1.0.0');
  assert.equal(await scene.reported(), '1.0.0');
});

test('continues the download after a power cut', async () => {
  const flash = memoryStore();
  await using scene = await createScene({ otaBytesPerSecond: 100_000, flash });
  const { device, server } = scene;
  await scene.update('1.1.0', 200_000);
  await until('a part is received', () => (flash.read('slot1')?.length ?? 0) > 50_000);
  device.powerLoss(100);
  await settled(device, 2);
  await scene.update('1.1.0', 200_000);
  await settled(device, 3);
  assert.equal(device.firmwareVersion(), '1.1.0');
  assert.match(server.requests[1]?.range ?? '', /^bytes=[1-9]/);
});

test('a sleeping device stays awake for the download and sends a handshake at each wake', async () => {
  await using scene = await createScene({ otaBytesPerSecond: 50_000, sleep: { awakeMs: 3_000, everyMs: 3_600 } });
  const { device } = scene;
  await settled(device, 2);
  await scene.update('1.1.0', 200_000);
  await until('the station has the new version', async () => (await scene.reported()) === '1.1.0');
  const { boots } = device.counts;
  await settled(device, boots + 1);
  assert.equal(device.firmwareVersion(), '1.1.0');
});
