import { connect, type MqttClient } from 'mqtt';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { timeoutMs } from './browser.ts';
import { waitFor } from '../../rig/program.ts';

/** A device on a real connection; the test controls each step of its update. */
export type ScriptedDevice = AsyncDisposable & {
  name: string;
  /** Takes one command to install this version; false when there is none. */
  take(version: string): boolean;
  /** It has downloaded so much. */
  progress(percent: number): void;
  refuse(reason: string): void;
  /** Restarts with this version. */
  restartWith(version: string): void;
  sleep(): Promise<void>;
  wake(): Promise<void>;
};

const heartbeatMs = 5_000;

export function startScriptedDevice(options: {
  url: string;
  stationId: string;
  login: DeviceLogin;
  firmwareVersion: string;
}): ScriptedDevice {
  const { url, stationId, login } = options;
  const { externalId, type, name, token } = login;
  const topic = (end: Parameters<typeof deviceTopic>[2]): string => deviceTopic(stationId, externalId, end);
  let { firmwareVersion } = options;
  const orders: string[] = [];
  let client: MqttClient = open();

  const say = (end: 'heartbeat' | 'handshake' | 'event', body: object): void =>
    void client.publish(topic(end), JSON.stringify(body), { qos: 1 });
  const happen = (data: { action: string } & Record<string, unknown>): void =>
    say('event', { event: 'device_event', data });
  const beating = setInterval(() => client.connected && say('heartbeat', { status: 'online' }), heartbeatMs);

  function open(): MqttClient {
    const opened = connect(url, {
      clientId: externalId,
      username: externalId,
      password: token,
      reconnectPeriod: 200,
      reconnectOnConnackError: true,
      will: { topic: topic('heartbeat'), payload: Buffer.from('{"status":"offline"}'), qos: 1, retain: false },
    });
    opened.on('connect', () => {
      opened.subscribe([topic('handshake/ack'), topic('command')], { qos: 1 }, () => {
        say('heartbeat', { status: 'online' });
        say('handshake', { type, firmwareVersion, chip: 'virtual' });
      });
    });
    opened.on('message', (at, payload) => {
      if (at !== topic('command')) return;
      const { action, commandId, version } = JSON.parse(payload.toString('utf8')) as Record<string, string>;
      happen({ action: 'command_ack', commandId });
      if (action === 'ota_update' && version !== undefined) orders.push(version);
    });
    // It tries again automatically.
    opened.on('error', () => undefined);
    return opened;
  }

  return {
    name,
    take: (version) => {
      const at = orders.indexOf(version);
      if (at >= 0) orders.splice(at, 1);
      return at >= 0;
    },
    progress: (percent) => happen({ action: 'ota_progress', percent }),
    refuse: (reason) => happen({ action: 'ota_failed', reason }),
    restartWith: (version) => {
      firmwareVersion = version;
      client.stream.destroy();
    },
    // Without DISCONNECT, so that the broker publishes its last will.
    sleep: async () => void (await client.endAsync(true)),
    wake: async () => {
      client = open();
      await waitFor(`${name} to be awake`, () => client.connected, timeoutMs);
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(beating);
      await client.endAsync(true);
    },
  };
}
