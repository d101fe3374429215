import { connect, type MqttClient } from 'mqtt';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import type { DeviceType, DeviceTypeFinder } from '@station/protocol/device-types';
import { deviceTopic, type DeviceTopicEnd } from '@station/protocol/topics';
import { createBehaviour } from './behaviour.ts';
import { memoryStore, openFlash, type FlashStore } from './flash.ts';
import { createOta } from './ota.ts';
import { seededRandom } from './random.ts';

/** Login of a device, as provisioning writes it to a real one. */
export type DeviceLogin = { externalId: string; type: string; name: string; token: string; profile: 'station' };

export type VirtualDevice = AsyncDisposable & {
  /** Whether the station has answered its handshake on this connection. */
  isAccepted(): boolean;
  client: MqttClient;
  state: Readonly<Record<string, number | boolean | string>>;
  counts: { sent: number; acknowledged: number; commands: number; boots: number };
  /** Version of the running image. */
  firmwareVersion(): string;
  /** Cuts the power now, for `offMs` milliseconds. */
  powerLoss(offMs?: number): void;
};

export type VirtualDeviceOptions = {
  url: string;
  stationId: string;
  login: DeviceLogin;
  /** Default: the built-in types. */
  types?: DeviceTypeFinder;
  seed: string;
  heartbeatMs?: number;
  /** Divides the delays between its events. */
  speed?: number;
  /** Its flash; default: in memory. */
  flash?: FlashStore;
  /** Write speed of its flash; default: unlimited. */
  otaBytesPerSecond?: number;
  /** Time awake in each period, longer during an update; default: always awake. */
  sleep?: { awakeMs: number; everyMs: number };
};

const defaultHeartbeatMs = 30_000;
const handshakeRetryMs = 10_000;
/** Time from a restart to the network connection, with a fast router. */
const bootMs = 400;
const crashMs = 200;
const defaultOutageMs = 1_000;
const firstVersion = '1.0.0';
const chip = 'esp32';
const dayMs = 86_400_000;

/**
 * A virtual device over a real connection. After each connect it sends a handshake, then heartbeats, states and events at QoS 1.
 * It executes and confirms commands, and it installs firmware and falls back from it (`ota.ts`, `flash.ts`).
 */
export function startVirtualDevice(options: VirtualDeviceOptions): VirtualDevice {
  const { url, stationId, login, seed, heartbeatMs = defaultHeartbeatMs, speed = 1, sleep } = options;
  const { externalId, type, token } = login;
  const random = seededRandom(`${seed}/${externalId}`);
  const behaviour = createBehaviour(typeOf(options), random);
  const topic = (end: Parameters<typeof deviceTopic>[2]): string => deviceTopic(stationId, externalId, end);
  const counts = { sent: 0, acknowledged: 0, commands: 0, boots: 0 };
  const flash = openFlash(options.flash ?? memoryStore(), { project: type, version: firstVersion, chip });
  let isAccepted = false;
  let isEnding = false;
  const timers = new Map<string, NodeJS.Timeout>();
  const schedule = (name: string, ms: number, run: () => void): void => {
    clearTimeout(timers.get(name));
    if (!isEnding) timers.set(name, setTimeout(run, ms));
  };

  const client = connect(url, {
    clientId: externalId,
    username: externalId,
    password: token,
    clean: true,
    keepalive: 30,
    // Randomised, so that a thousand devices do not reconnect at the same moment.
    reconnectPeriod: 1_000 + Math.round(1_000 * random()),
    reconnectOnConnackError: true,
    queueQoSZero: false,
    manualConnect: true,
    will: { topic: topic('heartbeat'), payload: Buffer.from('{"status":"offline"}'), qos: 1, retain: false },
  });
  const publish = (end: DeviceTopicEnd, body: object): void => {
    // Unsent states are not queued; the next state replaces them.
    if (!client.connected) return;
    counts.sent += 1;
    client.publish(topic(end), JSON.stringify(body), { qos: 1 }, (error) => {
      if (!error) counts.acknowledged += 1;
    });
  };
  const publishEvent = (action: string, more: object): void =>
    publish('event', { event: 'device_event', data: { action, ...more } });
  const publishState = (): void => publish('state', { state: behaviour.state });
  const sendHandshake = (): void => {
    publish('handshake', { type, firmwareVersion: flash.running().version, chip });
    schedule('handshake', handshakeRetryMs, sendHandshake);
  };
  const sendHeartbeat = (): void => {
    publish('heartbeat', { status: 'online' });
    schedule('heartbeat', heartbeatMs, sendHeartbeat);
  };
  const runStep = (): void => {
    const dayFraction = (Date.now() % dayMs) / dayMs;
    for (const report of behaviour.step(random, dayFraction)) publish('event', report);
    publishState();
    schedule('step', behaviour.pauseMs(random) / speed, runStep);
  };

  /** Disconnects as in a power cut: the broker publishes the last will. */
  const disconnect = (): Promise<unknown> => {
    isAccepted = false;
    ota.stop();
    for (const timer of timers.values()) clearTimeout(timer);
    return client.endAsync(true);
  };
  const boot = (): void => {
    counts.boots += 1;
    // The image crashes before it connects. The bootloader then boots the previous image.
    if (flash.boot().isCrashing) return schedule('power', crashMs, boot);
    schedule('power', bootMs, () => client.reconnect());
    schedule('step', behaviour.pauseMs(random) / speed, runStep);
    if (sleep !== undefined) schedule('sleep', sleep.awakeMs, fallAsleep);
  };
  const powerLoss = (offMs = defaultOutageMs): void => {
    void disconnect().then(() => schedule('power', offMs, boot));
  };
  const fallAsleep = (): void => {
    if (sleep === undefined) return;
    if (ota.isBusy() || !isAccepted) return schedule('sleep', 500, fallAsleep);
    client.publish(topic('heartbeat'), '{"status":"offline"}', { qos: 1 }, () => {
      void disconnect().then(() => schedule('power', sleep.everyMs - sleep.awakeMs, boot));
    });
  };

  const ota = createOta({
    flash,
    type,
    chip,
    ...(options.otaBytesPerSecond === undefined ? {} : { bytesPerSecond: options.otaBytesPerSecond }),
    report: {
      progress: (percent) => publishEvent('ota_progress', { percent }),
      failed: (reason) => publishEvent('ota_failed', { reason }),
    },
    onReady: () => schedule('restart', 200, () => powerLoss(0)),
  });
  const handleUpdate = (params: Record<string, unknown>): void => {
    const { url: from, version, checksum, size } = params;
    // The station does not yet have the running version.
    if (version === flash.running().version) return sendHandshake();
    ota.start({ url: String(from), version: String(version), checksum: String(checksum), size: Number(size) });
  };
  const handleCommand = (body: Record<string, unknown>): void => {
    const { action, commandId, ...params } = body;
    counts.commands += 1;
    // While an image is on trial, the previous one must not be overwritten.
    if (action === 'ota_update' && flash.running().isOnTrial) return;
    const isOwn = behaviour.execute(String(action), params);
    if (isOwn) publishState();
    if (isOwn || isBuiltIn(action)) publishEvent('command_ack', { commandId: String(commandId) });
    if (action === 'reboot' || action === 'factory_reset') schedule('restart', 200, () => powerLoss(0));
    if (action === 'ota_update') handleUpdate(params);
  };

  client.on('connect', () => {
    isAccepted = false;
    client.subscribe([topic('handshake/ack'), topic('command')], { qos: 1 }, () => {
      sendHeartbeat();
      sendHandshake();
      publishState();
    });
  });
  client.on('message', (name, payload) => {
    const body = readObject(payload);
    if (name === topic('command')) handleCommand(body);
    else if (body['status'] === 'ok') {
      isAccepted = true;
      clearTimeout(timers.get('handshake'));
      flash.confirm();
    }
  });
  client.on('close', () => (isAccepted = false));
  // The client reconnects automatically.
  client.on('error', () => undefined);
  boot();

  return {
    client,
    counts,
    state: behaviour.state,
    isAccepted: () => isAccepted,
    firmwareVersion: () => flash.running().version,
    powerLoss,
    [Symbol.asyncDispose]: async () => {
      isEnding = true;
      await disconnect();
    },
  };
}

/** A type that is not known has no capabilities. */
const typeOf = ({ login: { type }, types = findBuiltInType }: VirtualDeviceOptions): DeviceType =>
  types(type) ?? { type, category: 'sensor', capabilities: [], commands: [], events: [] };

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
