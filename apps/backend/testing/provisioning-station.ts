import assert from 'node:assert/strict';
import type { Device } from '@station/protocol/devices';
import type { Provisioning, ProvisioningStarted, ProvisioningView } from '@station/protocol/provisioning';
import type { UnknownDevice } from '@station/protocol/unknown-devices';
import { bearer, type BackendOptions, runBackend } from './running-backend.ts';
import { simulateRadio, type SimulatedRadio, type SimulatedWrite } from './simulated-radio.ts';
import { connectDevice } from './test-device.ts';
import { until } from './until.ts';

export const wifi = { ssid: 'Хата', password: 'very secret network key' };
export const handshake = { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' };

/** The whole backend with its broker, and a radio in whose range lamp-1 to lamp-3 are. @param options.headers of an owner that exists. */
export async function provisioningStation(
  options: BackendOptions & { radio?: SimulatedRadio; headers?: Record<string, string> } = {},
) {
  const radio = options.radio ?? simulateRadio(...[1, 2, 3].map((n) => ({ externalId: `lamp-${n}` })));
  const running = await runBackend({ ...options, radio });
  const headers = options.headers ?? bearer((await running.setUp()).accessToken);
  const broker = running.backend.mqttAddress ?? `mqtt://${new URL(options.env?.['MQTT_URL'] ?? '').host}`;
  const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) =>
    running.http.inject({ method, url, headers, ...(payload ? { payload } : {}) });
  const view = async () => (await call('GET', '/api/provisioning')).json<ProvisioningView>();
  const find = async (id: string) => (await view()).provisionings.find((one) => one.id === id);
  return {
    running,
    radio,
    headers,
    broker,
    call,
    view,
    db: running.backend.db,
    devices: async () => (await call('GET', '/api/devices')).json<Device[]>(),
    unknown: async () => (await call('GET', '/api/unknown-devices')).json<UnknownDevice[]>(),
    add: async (externalId = 'lamp-1', more: object = { wifi }): Promise<string> => {
      const started = await call('POST', '/provisioning/add', { externalId, ...more });
      assert.equal(started.statusCode, 202, started.body);
      return started.json<ProvisioningStarted>().provisioningId;
    },
    /** The write with this number, the first is 1. */
    write: async (number = 1): Promise<SimulatedWrite> => {
      await until('the write', () => radio.writes.length >= number);
      return radio.writes[number - 1]!;
    },
    reaches: async (id: string, status: Provisioning['status']): Promise<Provisioning> => {
      await until(`it is ${status}`, async () => (await find(id))?.status === status);
      return (await find(id))!;
    },
    /** As a device that got these values. */
    connect: (values: { readonly [key: string]: unknown }, token = String(values['device_token'])) => {
      const { device_id: externalId, station_id: stationId } = values;
      const login = { id: '', token, externalId: String(externalId), stationId: String(stationId) };
      return connectDevice(broker, login);
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}
