import { isDeepStrictEqual } from 'node:util';
import { connectAsync, type MqttClient } from 'mqtt';
import type { Device, DeviceEvent } from '@station/protocol/devices';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { createRandom } from '../../faults/choice.ts';
import type { Findings } from './findings.ts';
import { createDeviceModel, type DeviceModel, modelMessage, uselessMessage } from './state-model.ts';

/** A device with its model. One that sends only what cannot be used must be shown as connected and faulty. */
export type ModelledDevice = { login: DeviceLogin; id: string; model: DeviceModel; isUseless: boolean };

export const modelDevices = (logins: readonly (DeviceLogin & { id: string })[]): ModelledDevice[] =>
  logins.map((login, index) => ({ login, id: login.id, model: createDeviceModel(), isUseless: index === 0 }));

/** Messages between two looks at what is shown. */
const betweenLooks = 20;
/** Events in one answer of the backend. */
const mostEvents = 50;

/** Odd states, events and nonsense, one after another of each device; what REST shows is compared with the models. */
export async function fuzzStates(options: {
  url: string;
  mqttUrl: string;
  stationId: string;
  devices: readonly ModelledDevice[];
  token: () => Promise<string>;
  count: number;
  seed: number;
  findings: Findings;
}): Promise<void> {
  const { mqttUrl, stationId, devices, count, seed, findings } = options;
  const each = Math.ceil(count / devices.length);
  const fuzzDevice = async (device: ModelledDevice, index: number): Promise<void> => {
    const { login, model, isUseless } = device;
    const random = createRandom(seed + index * each);
    await using client = await openClient(mqttUrl, login);
    const recent: string[] = [];
    for (let sent = 1; sent <= each; sent++) {
      const message = isUseless ? uselessMessage(random) : modelMessage(login.type, random);
      const from = Date.now();
      await client.publishAsync(deviceTopic(stationId, login.externalId, message.end), message.payload, { qos: 1 });
      model.took(message, { from, to: Date.now() });
      findings.done();
      recent.push(`${message.end} ${message.payload.toString().slice(0, 200)}`);
      if (sent % betweenLooks !== 0 && sent !== each) continue;
      const difference = await look(options, device);
      if (difference !== null)
        findings.fault(
          `REST shows a wrong ${difference.what}`,
          `${difference.detail} after\n${recent.slice(-5).join('\n')}`,
        );
      recent.length = 0;
    }
  };
  await Promise.all(
    devices.map((device, index) =>
      fuzzDevice(device, index).catch((error: unknown) =>
        findings.fault(`states: ${String(error)}`, device.login.externalId),
      ),
    ),
  );
}

async function openClient(url: string, { externalId, token }: DeviceLogin): Promise<MqttClient & AsyncDisposable> {
  const client = await connectAsync(url, { username: externalId, password: token, reconnectPeriod: 0 });
  client.on('error', () => undefined);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.endAsync() });
}

type Difference = { what: string; detail: string };

async function look(
  { url, token }: { url: string; token: () => Promise<string> },
  { id, model }: ModelledDevice,
): Promise<Difference | null> {
  const headers = { authorization: `Bearer ${await token()}` };
  const read = async (path: string): Promise<unknown> => {
    const response = await fetch(`${url}/api/devices/${id}${path}`, { headers });
    if (!response.ok) throw new Error(`GET /api/devices/:id${path} answers ${response.status}`);
    return response.json();
  };
  const difference = model.differenceTo((await read('')) as Device);
  if (difference !== null) return { what: difference.split(':')[0] ?? '', detail: difference };
  const events = (await read(`/events?limit=${mostEvents}`)) as DeviceEvent[];
  const shown = events.filter(({ kind }) => kind !== 'station_event').map(({ data }) => data);
  const expected = model.events().slice(-mostEvents).reverse().slice(0, shown.length);
  const isMissing = shown.length < Math.min(mostEvents, model.events().length);
  if (!isMissing && isDeepStrictEqual(shown, expected)) return null;
  return { what: 'event', detail: `${JSON.stringify(shown[0])} instead of ${JSON.stringify(expected[0])}` };
}
