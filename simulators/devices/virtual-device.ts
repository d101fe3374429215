import { connect, type MqttClient } from 'mqtt';
import { deviceTopic, type DeviceTopicEnd } from '@station/protocol/topics';
import { createBehaviour, type SimulatedType } from './behaviour.ts';
import { memoryStore, openFlash, type FlashStore } from './flash.ts';
import { createOta } from './ota.ts';
import { seededRandom } from './random.ts';

/** Login of a device, as provisioning writes it to a real one. */
export type DeviceLogin = { externalId: string; type: SimulatedType; name: string; token: string };

export type VirtualDevice = AsyncDisposable & {
  /** The station has answered its handshake on this connection. */
  isKnown(): boolean;
  client: MqttClient;
  state: Readonly<Record<string, number | boolean>>;
  counts: { said: number; acknowledged: number; commands: number; boots: number };
  /** Version of the running image. */
  firmwareVersion(): string;
  /** Cuts the power now, for so many milliseconds. */
  powerLoss(offMs?: number): void;
};

export type VirtualDeviceOptions = {
  url: string;
  stationId: string;
  login: DeviceLogin;
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

const usualHeartbeatMs = 30_000;
const handshakeRetryMs = 10_000;
/** Time from a restart to the network, as with a fast router. */
const bootMs = 400;
const crashMs = 200;
const usualOutageMs = 1_000;
const firstVersion = '1.0.0';
const chip = 'esp32';
const dayMs = 86_400_000;

/**
 * A virtual device over a real connection: handshake after each connect, heartbeat, last will, state and events at QoS 1. It executes and
 * confirms commands. It fetches, checks and starts firmware, and falls back from it (`ota.ts`, `flash.ts`). It reconnects automatically.
 */
export function startVirtualDevice(options: VirtualDeviceOptions): VirtualDevice {
  const { url, stationId, login, seed, heartbeatMs = usualHeartbeatMs, speed = 1, sleep } = options;
  const { externalId, type, token } = login;
  const random = seededRandom(`${seed}/${externalId}`);
  const behaviour = createBehaviour(type, random);
  const topic = (end: Parameters<typeof deviceTopic>[2]): string => deviceTopic(stationId, externalId, end);
  const counts = { said: 0, acknowledged: 0, commands: 0, boots: 0 };
  const flash = openFlash(options.flash ?? memoryStore(), { project: type, version: firstVersion, chip });
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
    // Randomised, so that a thousand devices do not reconnect at the same moment.
    reconnectPeriod: 1_000 + Math.round(1_000 * random()),
    reconnectOnConnackError: true,
    queueQoSZero: false,
    manualConnect: true,
    will: { topic: topic('heartbeat'), payload: Buffer.from('{"status":"offline"}'), qos: 1, retain: false },
  });
  const say = (end: DeviceTopicEnd, body: object): void => {
    // Unsent states are not queued; the next state replaces them.
    if (!client.connected) return;
    counts.said += 1;
    client.publish(topic(end), JSON.stringify(body), { qos: 1 }, (error) => {
      if (!error) counts.acknowledged += 1;
    });
  };
  const sayEvent = (action: string, more: object): void =>
    say('event', { event: 'device_event', data: { action, ...more } });
  const sayState = (): void => say('state', { state: behaviour.state });
  const shakeHands = (): void => {
    say('handshake', { type, firmwareVersion: flash.running().version, chip });
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

  /** Like pulling the plug: the broker publishes the last will. */
  const goDark = (): Promise<unknown> => {
    isKnown = false;
    ota.stop();
    for (const timer of timers.values()) clearTimeout(timer);
    return client.endAsync(true);
  };
  const boot = (): void => {
    counts.boots += 1;
    // A crash before it reaches the network; the bootloader then boots the previous image.
    if (flash.boot().isCrashing) return later('power', crashMs, boot);
    later('power', bootMs, () => client.reconnect());
    later('step', behaviour.pauseMs(random) / speed, live);
    if (sleep !== undefined) later('sleep', sleep.awakeMs, fallAsleep);
  };
  const powerLoss = (offMs = usualOutageMs): void => {
    void goDark().then(() => later('power', offMs, boot));
  };
  const fallAsleep = (): void => {
    if (sleep === undefined) return;
    if (ota.isBusy() || !isKnown) return later('sleep', 500, fallAsleep);
    client.publish(topic('heartbeat'), '{"status":"offline"}', { qos: 1 }, () => {
      void goDark().then(() => later('power', sleep.everyMs - sleep.awakeMs, boot));
    });
  };

  const ota = createOta({
    flash,
    type,
    chip,
    ...(options.otaBytesPerSecond === undefined ? {} : { bytesPerSecond: options.otaBytesPerSecond }),
    say: {
      progress: (percent) => sayEvent('ota_progress', { percent }),
      failed: (reason) => sayEvent('ota_failed', { reason }),
    },
    onReady: () => later('restart', 200, () => powerLoss(0)),
  });
  const takeUpdate = (params: Record<string, unknown>): void => {
    const { url: from, version, checksum, size } = params;
    // The station does not know the running version yet.
    if (version === flash.running().version) return shakeHands();
    ota.take({ url: String(from), version: String(version), checksum: String(checksum), size: Number(size) });
  };
  const takeCommand = (body: Record<string, unknown>): void => {
    const { action, commandId, ...params } = body;
    counts.commands += 1;
    // While an image is on trial, the previous one must not be overwritten.
    if (action === 'ota_update' && flash.running().isOnTrial) return;
    const isOwn = behaviour.carryOut(String(action), params);
    if (isOwn) sayState();
    if (isOwn || isBuiltIn(action)) sayEvent('command_ack', { commandId: String(commandId) });
    if (action === 'reboot' || action === 'factory_reset') later('restart', 200, () => powerLoss(0));
    if (action === 'ota_update') takeUpdate(params);
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
      flash.confirm();
    }
  });
  client.on('close', () => (isKnown = false));
  // The device retries; its status shows that the station does not know it.
  client.on('error', () => undefined);
  boot();

  return {
    client,
    counts,
    state: behaviour.state,
    isKnown: () => isKnown,
    firmwareVersion: () => flash.running().version,
    powerLoss,
    [Symbol.asyncDispose]: async () => {
      isEnding = true;
      await goDark();
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
