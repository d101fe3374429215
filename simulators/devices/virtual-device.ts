import { connect, type MqttClient } from 'mqtt';
import { deviceTopic, type DeviceTopicEnd } from '@station/protocol/topics';
import { createBehaviour, type SimulatedType } from './behaviour.ts';
import { seededRandom } from './random.ts';

/** What a device needs to log in, as provisioning writes it to a real one. */
export type DeviceLogin = { externalId: string; type: SimulatedType; name: string; token: string };

export type VirtualDevice = AsyncDisposable & {
  /** The station has answered its handshake on this connection. */
  isKnown(): boolean;
  client: MqttClient;
  state: Readonly<Record<string, number | boolean>>;
  counts: { said: number; acknowledged: number; commands: number };
};

export type VirtualDeviceOptions = {
  url: string;
  stationId: string;
  login: DeviceLogin;
  seed: string;
  heartbeatMs?: number;
  /** Divides the pauses between what happens at it. */
  speed?: number;
};

const usualHeartbeatMs = 30_000;
const handshakeRetryMs = 10_000;
const rebootMs = 1_500;
const firstVersion = '1.0.0';
const dayMs = 86_400_000;

/**
 * A device of the field, over a real connection: handshake after each connect, heartbeat, last will, state and events at QoS 1, and commands
 * that it carries out and confirms. Comes back by itself when the broker was away.
 */
export function startVirtualDevice(options: VirtualDeviceOptions): VirtualDevice {
  const { url, stationId, login, seed, heartbeatMs = usualHeartbeatMs, speed = 1 } = options;
  const { externalId, type, token } = login;
  const random = seededRandom(`${seed}/${externalId}`);
  const behaviour = createBehaviour(type, random);
  const topic = (end: Parameters<typeof deviceTopic>[2]): string => deviceTopic(stationId, externalId, end);
  const counts = { said: 0, acknowledged: 0, commands: 0 };
  let firmwareVersion = firstVersion;
  let isKnown = false;
  let isEnding = false;
  const timers = new Map<string, NodeJS.Timeout>();
  const later = (name: string, ms: number, run: () => void): void => {
    clearTimeout(timers.get(name));
    if (!isEnding) timers.set(name, setTimeout(run, ms));
  };

  const client = connect(url, {
    clientId: externalId,
    username: externalId,
    password: token,
    clean: true,
    keepalive: 30,
    // Spread, so that a thousand devices do not come back in the same moment.
    reconnectPeriod: 1_000 + Math.round(1_000 * random()),
    reconnectOnConnackError: true,
    queueQoSZero: false,
    will: { topic: topic('heartbeat'), payload: Buffer.from('{"status":"offline"}'), qos: 1, retain: false },
  });
  const say = (end: DeviceTopicEnd, body: object): void => {
    // What nobody can take is not kept: the next state says it anew.
    if (!client.connected) return;
    counts.said += 1;
    client.publish(topic(end), JSON.stringify(body), { qos: 1 }, (error) => {
      if (!error) counts.acknowledged += 1;
    });
  };
  const sayState = (): void => say('state', { state: behaviour.state });
  const shakeHands = (): void => {
    say('handshake', { type, firmwareVersion, chip: 'virtual' });
    later('handshake', handshakeRetryMs, shakeHands);
  };
  const beat = (): void => {
    say('heartbeat', { status: 'online' });
    later('heartbeat', heartbeatMs, beat);
  };
  const live = (): void => {
    const dayFraction = (Date.now() % dayMs) / dayMs;
    for (const said of behaviour.step(random, dayFraction)) say('event', said);
    sayState();
    later('step', behaviour.pauseMs(random) / speed, live);
  };

  const confirm = (commandId: string): void =>
    say('event', { event: 'device_event', data: { action: 'command_ack', commandId } });
  const takeCommand = (body: Record<string, unknown>): void => {
    const { action, commandId, ...params } = body;
    counts.commands += 1;
    const isOwn = behaviour.carryOut(String(action), params);
    if (isOwn) sayState();
    if (isOwn || isBuiltIn(action)) confirm(String(commandId));
    if (action === 'reboot' || action === 'factory_reset') later('reboot', 200, () => client.stream.destroy());
    if (action === 'ota_update') install(String(params['version']));
  };
  const install = (version: string): void => {
    for (const percent of [0, 50, 100]) {
      later(`ota ${percent}`, (percent * rebootMs) / 100, () => {
        say('event', { event: 'device_event', data: { action: 'ota_progress', percent } });
      });
    }
    later('ota end', rebootMs + 200, () => {
      firmwareVersion = version;
      client.stream.destroy();
    });
  };

  client.on('connect', () => {
    isKnown = false;
    client.subscribe([topic('handshake/ack'), topic('command')], { qos: 1 }, () => {
      beat();
      shakeHands();
      sayState();
    });
  });
  client.on('message', (name, payload) => {
    const body = readObject(payload);
    if (name === topic('command')) takeCommand(body);
    else if (body['status'] === 'ok') {
      isKnown = true;
      clearTimeout(timers.get('handshake'));
    }
  });
  client.on('close', () => (isKnown = false));
  // It tries again; whoever watches sees that it is not known.
  client.on('error', () => undefined);
  later('step', behaviour.pauseMs(random) / speed, live);

  return {
    client,
    counts,
    state: behaviour.state,
    isKnown: () => isKnown,
    [Symbol.asyncDispose]: async () => {
      isEnding = true;
      for (const timer of timers.values()) clearTimeout(timer);
      // Without a farewell, as when its plug is pulled: the broker publishes the last will.
      await client.endAsync(true);
    },
  };
}

const isBuiltIn = (action: unknown): boolean =>
  ['reboot', 'factory_reset', 'ota_update', 'wifi_update'].includes(String(action));

function readObject(payload: Buffer): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(payload.toString('utf8'));
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
