import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendHealth } from '@station/protocol/rest';
import { waitFor } from '../../rig/program.ts';
import { createSmallDisk, type SmallDisk } from '../../rig/small-disk.ts';
import { install, owner, stationId, type Installation } from './installation.ts';
import { startNumberedDevice } from './numbered-device.ts';

/** Large enough that the station is not warned from the start; the image is sparse. */
const diskMegabytes = 128;
const isRoot = process.getuid?.() === 0;

/** Puts DATA_DIR on a disk of its own. */
async function mountDisk({ folder, dataDir }: Installation): Promise<SmallDisk> {
  const disk = await createSmallDisk({
    image: join(folder, 'data.ext4'),
    folder: dataDir,
    megabytes: diskMegabytes,
  });
  await chmod(dataDir, 0o700);
  return disk;
}

const health = async ({ url }: Installation): Promise<[status: number, reason: string | undefined]> => {
  const response = await fetch(`${url}/api/health`);
  return [response.status, ((await response.json()) as BackendHealth).reasons?.database];
};
const isFull = async (station: Installation): Promise<boolean> => {
  const [status, reason] = await health(station);
  return status === 503 && reason === 'disk full';
};

async function countEvents(station: Installation): Promise<number> {
  const [row] = await station.query<{ n: number }>('select count(*) as n from device_events');
  return row?.n ?? -1;
}

test(
  'a full disk: health names it, reads work, nothing is acknowledged, and all is on disk when there is space',
  { skip: isRoot ? false : 'only root may mount a disk', timeout: 600_000 },
  async (context) => {
    await using station = await install('the embedded broker and SQLite', { devices: 2 });
    const disk = await mountDisk(station);
    await station.startBackend();
    const headers = { authorization: `Bearer ${await station.logIn()}` };
    const logIn = (): Promise<Response> =>
      fetch(`${station.url}/api/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: owner.email, password: owner.password }),
      });
    const cookie = (await logIn()).headers.getSetCookie()[0]?.split(';')[0] ?? '';
    await using device = startNumberedDevice(station.mqttUrl, stationId, station.logins[0]!);
    device.allow(50);
    await waitFor('the first events', () => device.acknowledged.size === 50);
    await disk.fill();
    // The write-ahead log may have room for some more.
    device.allow(1_000_000);
    await waitFor('health to name the full disk', () => isFull(station));
    assert.equal((await fetch(`${station.url}/api/devices`, { headers })).status, 200);
    // Longer than a fault must have ended before it counts as over.
    await sleep(4_500);
    assert.ok(await isFull(station));
    // What still found room after the first fault was written by now.
    const known = device.acknowledged.size;
    const login = await logIn();
    assert.deepEqual([login.status, ((await login.json()) as { code: string }).code], [503, 'storage_full']);
    // Who is logged in stays so, and reads: twice, because the token of the session cannot be changed.
    const refresh = (): Promise<Response> =>
      fetch(`${station.url}/api/auth/refresh`, { method: 'POST', headers: { cookie } });
    for (let time = 1; time <= 2; time++) {
      const { accessToken } = (await (await refresh()).json()) as { accessToken: string };
      const renewed = { authorization: `Bearer ${accessToken}` };
      assert.equal((await fetch(`${station.url}/api/devices`, { headers: renewed })).status, 200);
    }
    assert.equal(device.acknowledged.size, known, 'nothing is acknowledged that is not on disk');
    await disk.empty();
    await device.finish();
    await waitFor('health to be good', async () => (await health(station))[0] === 200);
    assert.notEqual((await refresh()).headers.getSetCookie()[0]?.split(';')[0], cookie, 'the token changes again');
    assert.ok(device.acknowledged.size > known);
    assert.equal(await countEvents(station), device.acknowledged.size);
    const changes = async (event: string): Promise<number> =>
      (await station.logged(event)).filter(({ condition }) => condition === 'storage_full').length;
    await waitFor('the condition to end', async () => (await changes('condition_cleared')) === 1);
    assert.equal(await changes('condition_raised'), 1);
    context.diagnostic(`${device.acknowledged.size} events, ${known} of them before the disk was full`);
  },
);

test(
  'a station that lost power with a full disk starts, shows its devices, and continues when there is space',
  { skip: isRoot ? false : 'only root may mount a disk', timeout: 600_000 },
  async () => {
    await using station = await install('the embedded broker and SQLite', { devices: 2 });
    const disk = await mountDisk(station);
    await station.startBackend();
    const headers = { authorization: `Bearer ${await station.logIn()}` };
    await using device = startNumberedDevice(station.mqttUrl, stationId, station.logins[0]!);
    device.allow(1_000_000);
    await waitFor('some events', () => device.acknowledged.size > 50);
    await disk.fill();
    await waitFor('health to name the full disk', () => isFull(station));
    await station.stopBackend('SIGKILL');
    await disk.fill();
    await station.startBackend('anyway');
    assert.equal((await fetch(`${station.url}/api/devices`, { headers })).status, 200);
    await waitFor('health to name the full disk again', () => isFull(station));
    await disk.empty();
    await device.finish();
    await waitFor('health to be good', async () => (await health(station))[0] === 200);
    assert.ok((await countEvents(station)) >= device.acknowledged.size);
  },
);
