import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { Device } from '@station/protocol/devices';
import { memoryStore, type FlashStore } from '@station/simulators/devices/flash';
import { startVirtualDevice, type DeviceLogin, type VirtualDevice } from '@station/simulators/devices/virtual-device';
import { waitFor } from '../../rig/program.ts';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';
import { createSwappedDatabases, type SwappedDatabases } from './swapped-databases.ts';

export const kinds = ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const;

const login = (externalId: string, type: string, profile: DeviceLogin['profile']): DeviceLogin => {
  return { externalId, type, profile, name: externalId, token: randomBytes(32).toString('base64url') };
};
export const older = [login('light-1', 'light', 'field'), login('climate-1', 'climate', 'station')];
export const newer = login('pir-1', 'pir', 'field');
export const everyone = [...older, newer];
export const names = everyone.map(({ externalId }) => externalId).sort();

export type House = AsyncDisposable & {
  station: Installation;
  databases: SwappedDatabases;
  devices: Map<string, VirtualDevice>;
  connect(login: DeviceLogin, flash?: FlashStore): VirtualDevice;
  call<T>(method: string, path: string, body?: object): Promise<T>;
  /** Makes the owner of an empty database. */
  setUp(): Promise<void>;
  /** Restarts the backend; meanwhile `change` happens. */
  restart(change: () => void | Promise<void>): Promise<void>;
  online(): Promise<string[]>;
  condition(id: BackendCondition['id']): Promise<BackendCondition | undefined>;
};

/** All devices work; the older copy of the database has all but one of them. */
export async function startHouse(kind: (typeof kinds)[number]): Promise<House> {
  await using starting = new AsyncDisposableStack();
  const station = starting.use(await install(kind, { logins: older }));
  const databases = createSwappedDatabases(station.dataDir, join(station.folder, 'saved'));
  await station.startBackend();
  let token = await station.logIn();
  const devices = new Map<string, VirtualDevice>();
  const connected = starting.use(new AsyncDisposableStack());
  const connect = (one: DeviceLogin, flash = memoryStore()): VirtualDevice => {
    const isField = one.profile === 'field';
    const device = startVirtualDevice({
      url: station.mqttUrl,
      stationId,
      login: one,
      flash,
      seed: 'never-harm',
      speed: 0.001,
      heartbeatMs: 1_000,
      profile: {
        reconnectMs: 200,
        handshakeRetryMs: 2_000,
        ...(isField ? { erasesItself: { afterRefusals: 3, refusalRetryMs: 300 } } : {}),
      },
    });
    devices.set(one.externalId, connected.use(device));
    return device;
  };
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(`${station.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const restart: House['restart'] = async (change) => {
    await station.stopBackend('SIGTERM');
    await change();
    await station.startBackend();
  };
  const online = async (): Promise<string[]> =>
    (await call<Device[]>('GET', '/api/devices'))
      .flatMap(({ externalId, status }) => (status === 'online' ? [externalId] : []))
      .sort();
  for (const one of everyone) connect(one);
  await restart(async () => {
    databases.keepAsOlder();
    await writeFile(station.devicesFile, JSON.stringify({ devices: everyone }));
  });
  await waitFor('all devices to work', async () => (await online()).length === everyone.length);
  const stack = starting.move();
  return {
    station,
    databases,
    devices,
    connect,
    call,
    restart,
    online,
    setUp: async () => {
      const code = (await readFile(join(station.dataDir, 'setup-code'), 'utf8')).trim();
      const { accessToken } = await call<{ accessToken: string }>('POST', '/api/auth/setup', { code, ...owner });
      token = accessToken;
    },
    condition: async (id) => (await call<BackendCondition[]>('GET', '/api/conditions')).find((one) => one.id === id),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export const untilOnline = (house: House, expected: readonly string[]): Promise<unknown> =>
  waitFor(`${expected.join(', ')} to be online`, async () => (await house.online()).join() === expected.join());
