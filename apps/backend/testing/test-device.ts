import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { systemClock } from '@station/kit/clock';
import { deviceTopic, type DeviceTopicEnd } from '@station/protocol/topics';
import { createDeviceStore } from '../src/store/device-store.ts';
import { createStationStore } from '../src/store/station-store.ts';
import type { Database } from '../src/store/schema.ts';

export type DeviceLogin = { stationId: string; id: string; externalId: string; token: string };

/** Adds a device as provisioning does. */
export async function addDevice(db: Database, externalId: string, type = 'light'): Promise<DeviceLogin> {
  const devices = createDeviceStore({ db, clock: systemClock });
  const { id, token } = await devices.provision({ externalId, type, name: externalId, zoneId: null });
  const { station_id: stationId } = await createStationStore(db).read();
  return { stationId, id, externalId, token };
}

export type TestDevice = AsyncDisposable & {
  client: MqttClient;
  /** Messages it has received. */
  received: { topic: string; body: Record<string, unknown> }[];
  /** Resolves when the broker has acknowledged the message. */
  publish(end: DeviceTopicEnd, body: unknown, qos?: 0 | 1): Promise<unknown>;
};

/** A device on a real connection: logged in, with its last will, subscribed to its topics. */
export async function connectDevice(
  address: string,
  login: DeviceLogin,
  options: IClientOptions = {},
): Promise<TestDevice> {
  const { stationId, externalId, token } = login;
  const topic = (end: Parameters<typeof deviceTopic>[2]): string => deviceTopic(stationId, externalId, end);
  const client = await connectAsync(address, {
    username: externalId,
    password: token,
    reconnectPeriod: 0,
    will: { topic: topic('heartbeat'), payload: Buffer.from('{"status":"offline"}'), qos: 1, retain: false },
    ...options,
  });
  const received: TestDevice['received'] = [];
  client.on('error', () => undefined);
  client.on('message', (name, payload) => {
    received.push({ topic: name, body: JSON.parse(payload.toString()) as Record<string, unknown> });
  });
  await client.subscribeAsync([topic('handshake/ack'), topic('command')], { qos: 1 });
  return {
    client,
    received,
    publish: (end, body, qos = 1) =>
      client.publishAsync(topic(end), Buffer.isBuffer(body) ? body : JSON.stringify(body), { qos }),
    [Symbol.asyncDispose]: () => client.endAsync(true),
  };
}
