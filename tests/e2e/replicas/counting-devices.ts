import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type MqttClient } from 'mqtt';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { stationId } from './cluster.ts';

/** A device that counts: each event and state carries the next number. */
export type CountingDevice = AsyncDisposable & {
  externalId: string;
  client: MqttClient;
  /** Numbers that the broker has acknowledged. */
  acknowledged: Set<number>;
  /** The last number that it sent in a state. */
  lastState(): number;
  /** Sends the next number as an event and as a state; resolves when both are acknowledged. */
  count(): Promise<void>;
  /** Received commands, and whether it confirms them. */
  commands: { commandId: string; action: string }[];
  confirms: boolean;
  /** Breaks the connection; the device stays offline. */
  vanish(): Promise<void>;
  comeBack(): void;
};

const heartbeatMs = 1_000;
const reconnectMs = 500;
const quietMs = 2_000;

export async function startCounting(url: string, { externalId, token, type }: DeviceLogin): Promise<CountingDevice> {
  const topic = (end: Parameters<typeof deviceTopic>[2]): string => deviceTopic(stationId, externalId, end);
  const offline = Buffer.from('{"status":"offline"}');
  const client = connect(url, {
    username: externalId,
    password: token,
    reconnectPeriod: reconnectMs,
    will: { topic: topic('heartbeat'), payload: offline, qos: 1, retain: false },
  });
  client.on('error', () => undefined);
  // The broker refuses it until the leader has created its login; like any device, it retries.
  await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  const say = (end: Parameters<typeof deviceTopic>[2], body: object): Promise<unknown> =>
    client.publishAsync(topic(end), JSON.stringify(body), { qos: 1 });
  const event = (data: object): Promise<unknown> => say('event', { event: 'device_event', data });
  const commands: CountingDevice['commands'] = [];
  const acknowledged = new Set<number>();
  let number = 0;
  let isAway = false;
  const device: CountingDevice = {
    externalId,
    client,
    acknowledged,
    commands,
    confirms: true,
    lastState: () => number,
    count: async () => {
      const n = ++number;
      await Promise.all([event({ action: 'counted', n }), say('state', { state: { count: n } })]);
      acknowledged.add(n);
    },
    vanish: async () => {
      isAway = true;
      // Separates its last message from its last will.
      await sleep(quietMs);
      client.options.reconnectPeriod = 0;
      client.stream.destroy();
    },
    comeBack: () => {
      isAway = false;
      client.options.reconnectPeriod = reconnectMs;
      client.reconnect();
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(beating);
      await client.endAsync(true);
    },
  };
  client.on('message', (name, payload) => {
    if (!name.endsWith('/command')) return;
    const command = JSON.parse(payload.toString()) as { commandId: string; action: string };
    commands.push(command);
    if (device.confirms) void event({ action: 'command_ack', commandId: command.commandId }).catch(() => undefined);
  });
  await client.subscribeAsync([topic('handshake/ack'), topic('command')], { qos: 1 });
  const beat = (): void => {
    if (!isAway) say('heartbeat', { status: 'online' }).catch(() => undefined);
  };
  await say('handshake', { type, firmwareVersion: '1.0.0', chip: 'esp32' });
  const beating = setInterval(beat, heartbeatMs);
  beat();
  return device;
}
