import type { MqttClient } from 'mqtt';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import type { DeviceType, DeviceTypeFinder } from '@station/protocol/device-types';

import { createBehaviour, type Behaviour } from './behaviour.ts';
import { createBootCheck, type BootCheck } from './boot-check.ts';
import { createConnection, type DeviceConnection } from './device-connection.ts';
import { memoryStore, openFlash, type Flash, type FlashStore } from './flash.ts';
import { createOta, type Ota } from './ota.ts';
import { profiles, type Profile, type ProfileName } from './profiles.ts';
import { seededRandom } from './random.ts';

/** Login of a device, as provisioning writes it to a real one. */
export type DeviceLogin = { externalId: string; type: string; name: string; token: string; profile: ProfileName };

/** Why a device of the field erased itself. */
type ErasedBy = 'unknown_device' | 'factory_reset';

export type VirtualDevice = AsyncDisposable & {
  login: DeviceLogin;
  /** Whether the station has answered its handshake on this connection. */
  isAccepted(): boolean;
  /** Whether it forgot its login. It then stays off, also after a restart with the same flash. */
  isErased(): boolean;
  erasedBy(): ErasedBy | null;
  client: MqttClient;
  state: Readonly<Record<string, number | boolean | string>>;
  counts: DeviceConnection['counts'] & { commands: number; boots: number; refusals: number };
  /** Version of the running image. */
  firmwareVersion(): string;
  publish: DeviceConnection['publish'];
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
  /** Default: esp32. */
  chip?: string;
  /** Write speed of its flash; default: unlimited. */
  otaBytesPerSecond?: number;
  /** Time awake in each period, longer during an update; default: always awake. */
  sleep?: { awakeMs: number; everyMs: number };
  /** Base URL of the station. A field device asks it for firmware at each start; unset: it does not. */
  httpUrl?: string;
  /** Whether its handshake describes its type. */
  announcesType?: boolean;
  /** Differences from the login's profile, such as shorter times. */
  profile?: Partial<Profile>;
  /** Called after each command that it executed. */
  onExecuted?: (commandId: string) => void;
  /** Called when it has erased itself and is off. */
  onErased?: () => void;
};

const defaultHeartbeatMs = 30_000;
/** Time from a restart to the network connection, with a fast router. */
const bootMs = 400;
const crashMs = 200;
const defaultOutageMs = 1_000;
const firstVersion = '1.0.0';
const dayMs = 86_400_000;
const erasedName = 'erased';

type Device = {
  options: VirtualDeviceOptions;
  profile: Profile;
  type: DeviceType;
  chip: string;
  random: () => number;
  behaviour: Behaviour;
  store: FlashStore;
  flash: Flash;
  connection: DeviceConnection;
  ota: Ota;
  /** Null: it does not ask over HTTP. */
  bootCheck: BootCheck | null;
  counts: VirtualDevice['counts'];
  timers: Timers;
  isAccepted: boolean;
  powerLosses: number;
  /** Answers `unknown_device` in a row. */
  refusals: number;
};

/**
 * A virtual device over a real connection, with one of two profiles (`profiles.ts`). After each connect it sends a handshake, then
 * heartbeats, states and events. It executes commands, and it installs firmware and falls back from it (`ota.ts`, `flash.ts`).
 */
export function startVirtualDevice(options: VirtualDeviceOptions): VirtualDevice {
  const device = createDevice(options);
  if (erasedBy(device) === null) boot(device);
  else device.timers.stop();

  return {
    client: device.connection.client,
    login: options.login,
    counts: device.counts,
    state: device.behaviour.state,
    isAccepted: () => device.isAccepted,
    isErased: () => erasedBy(device) !== null,
    erasedBy: () => erasedBy(device),
    firmwareVersion: () => device.flash.running().version,
    publish: device.connection.publish,
    powerLoss: (offMs) => powerLoss(device, offMs),
    [Symbol.asyncDispose]: async () => {
      await stop(device);
    },
  };
}

function createDevice(options: VirtualDeviceOptions): Device {
  const { url, stationId, login, seed, chip = 'esp32', flash: store = memoryStore() } = options;
  const random = seededRandom(`${seed}/${login.externalId}`);
  const type = typeOf(options);
  const profile = { ...profiles[login.profile], ...options.profile };
  const behaviour = createBehaviour(type, random);
  const flash = openFlash(store, { project: login.type, version: firstVersion, chip });
  const connection = createConnection({
    url,
    stationId,
    login,
    profile,
    random,
    onConnected: () => handleConnect(device),
    onMessage: (end, body) => (end === 'command' ? handleCommand(device, body) : handleAnswer(device, body)),
    onClosed: () => (device.isAccepted = false),
  });
  const device: Device = {
    options,
    profile,
    type,
    chip,
    random,
    behaviour,
    store,
    flash,
    connection,
    ota: createOta({
      flash,
      type: login.type,
      chip,
      ...(options.otaBytesPerSecond === undefined ? {} : { bytesPerSecond: options.otaBytesPerSecond }),
      report: {
        progress: (percent) => reportCommand(device, 'ota_progress', { percent }),
        failed: (reason) => {
          reportCommand(device, 'ota_failed', { reason });
          void device.bootCheck?.reportFailure();
        },
      },
      onReady: () => device.timers.schedule('restart', 200, () => powerLoss(device, 0)),
    }),
    bootCheck: bootCheckOf(options, { chip, flash, store, ota: () => device.ota }),
    counts: Object.assign(connection.counts, { commands: 0, boots: 0, refusals: 0 }),
    timers: createTimers(),
    isAccepted: false,
    powerLosses: 0,
    refusals: 0,
  };
  return device;
}

function bootCheckOf(
  { httpUrl: server, login }: VirtualDeviceOptions,
  { chip, ...parts }: { chip: string } & Parameters<typeof createBootCheck>[1],
): BootCheck | null {
  const { externalId, type, token, profile } = login;
  if (server === undefined || profile !== 'field') return null;
  return createBootCheck({ server, externalId, type, chip, token }, parts);
}

function boot(device: Device): void {
  const { counts, flash, timers, connection, behaviour, random, options } = device;
  counts.boots += 1;
  device.refusals = 0;
  // The image crashes before it connects. The bootloader then boots the previous image.
  if (flash.boot().isCrashing) return timers.schedule('power', crashMs, () => boot(device));
  timers.schedule('power', bootMs, () => {
    connection.open();
    const { boots } = counts;
    void device.bootCheck?.run(() => counts.boots === boots && erasedBy(device) === null);
  });
  timers.schedule('step', behaviour.pauseMs(random) / (options.speed ?? 1), () => runStep(device));
  if (options.sleep !== undefined) timers.schedule('sleep', options.sleep.awakeMs, () => fallAsleep(device));
}

function handleConnect(device: Device): void {
  device.isAccepted = false;
  sendHeartbeat(device);
  sendHandshake(device);
  publishState(device);
}

const publishState = (device: Device): void =>
  void device.connection.publish('state', { state: device.behaviour.state });

function reportCommand(device: Device, action: string, more: object): void {
  if (!device.profile.reportsCommands) return;
  void device.connection.publish('event', { event: 'device_event', data: { action, ...more } });
}

function sendHandshake(device: Device): void {
  const { flash, chip, type, timers, profile, options } = device;
  const { handshakeTypes: _notSent, ...description } = type;
  const body = options.announcesType === true ? description : {};
  const firmwareVersion = flash.running().version;
  void device.connection.publish('handshake', { ...body, type: type.type, firmwareVersion, chip });
  timers.schedule('handshake', profile.handshakeRetryMs, () => sendHandshake(device));
}

function sendHeartbeat(device: Device): void {
  void device.connection.publish('heartbeat', { status: 'online' });
  const everyMs = device.options.heartbeatMs ?? defaultHeartbeatMs;
  device.timers.schedule('heartbeat', everyMs, () => sendHeartbeat(device));
}

function runStep(device: Device): void {
  const { behaviour, random, timers, options } = device;
  const dayFraction = (Date.now() % dayMs) / dayMs;
  for (const report of behaviour.step(random, dayFraction)) void device.connection.publish('event', report);
  publishState(device);
  timers.schedule('step', behaviour.pauseMs(random) / (options.speed ?? 1), () => runStep(device));
}

function handleAnswer(device: Device, body: Record<string, unknown>): void {
  if (body['status'] === 'ok') {
    device.isAccepted = true;
    device.refusals = 0;
    device.timers.cancel('handshake');
    device.flash.confirm();
  } else if (body['status'] === 'unknown_device') handleRefusal(device);
}

function handleRefusal(device: Device): void {
  const { counts, profile, timers } = device;
  counts.refusals += 1;
  device.refusals += 1;
  if (profile.erasesItself === null) return;
  const { afterRefusals, refusalRetryMs } = profile.erasesItself;
  if (device.refusals >= afterRefusals) erase(device, 'unknown_device');
  else timers.schedule('handshake', refusalRetryMs, () => sendHandshake(device));
}

function handleCommand(device: Device, body: Record<string, unknown>): void {
  const { counts, flash, behaviour, options, timers } = device;
  const { action, commandId, ...params } = body;
  counts.commands += 1;
  // While an image is on trial, the previous one must not be overwritten.
  if (action === 'ota_update' && flash.running().isOnTrial) return;
  const isOwn = behaviour.execute(String(action), params);
  if (isOwn || isBuiltIn(action)) options.onExecuted?.(String(commandId));
  if (isOwn) publishState(device);
  if (isOwn || isBuiltIn(action)) reportCommand(device, 'command_ack', { commandId: String(commandId) });
  if (action === 'factory_reset' && device.profile.erasesItself !== null) erase(device, 'factory_reset');
  else if (action === 'reboot' || action === 'factory_reset' || action === 'wifi_update') {
    timers.schedule('restart', 200, () => powerLoss(device, 0));
  }
  if (action === 'ota_update') handleUpdate(device, params);
}

function handleUpdate(device: Device, params: Record<string, unknown>): void {
  const { url, version, checksum, size } = params;
  // The station does not yet have the running version.
  if (version === device.flash.running().version) return sendHandshake(device);
  device.ota.start({ url: String(url), version: String(version), checksum: String(checksum), size: Number(size) });
}

/** Disconnects as in a power cut: the broker publishes the last will. */
function disconnect(device: Device): Promise<void> {
  device.isAccepted = false;
  device.ota.stop();
  device.timers.cancelAll();
  return device.connection.close();
}

/** Disconnects for good. */
function stop(device: Device): Promise<void> {
  device.timers.stop();
  device.isAccepted = false;
  device.ota.stop();
  return device.connection.close();
}

/** The latest one counts, also while one before still disconnects. */
function powerLoss(device: Device, offMs = defaultOutageMs): void {
  const loss = (device.powerLosses += 1);
  void disconnect(device).then(() => {
    if (loss === device.powerLosses) device.timers.schedule('power', offMs, () => boot(device));
  });
}

function fallAsleep(device: Device): void {
  const { ota, timers, connection, options } = device;
  const { sleep } = options;
  if (sleep === undefined) return;
  if (ota.isBusy() || !device.isAccepted) return timers.schedule('sleep', 500, () => fallAsleep(device));
  void connection
    .publish('heartbeat', { status: 'offline' })
    .then(() => disconnect(device))
    .then(() => timers.schedule('power', sleep.everyMs - sleep.awakeMs, () => boot(device)));
}

function erase(device: Device, cause: ErasedBy): void {
  device.store.replace(erasedName, Buffer.from(cause));
  void stop(device).then(() => device.options.onErased?.());
}

const erasedBy = ({ store }: Device): ErasedBy | null =>
  (store.read(erasedName)?.toString('utf8') as ErasedBy | undefined) ?? null;

type Timers = {
  /** Replaces the timer of this name. */
  schedule(name: string, ms: number, run: () => void): void;
  cancel(name: string): void;
  cancelAll(): void;
  /** Cancels all, and ignores new ones. */
  stop(): void;
};

function createTimers(): Timers {
  const timers = new Map<string, NodeJS.Timeout>();
  let isStopped = false;
  const cancelAll = (): void => timers.forEach((timer) => clearTimeout(timer));
  return {
    schedule: (name, ms, run) => {
      clearTimeout(timers.get(name));
      if (!isStopped) timers.set(name, setTimeout(run, ms));
    },
    cancel: (name) => clearTimeout(timers.get(name)),
    cancelAll,
    stop: () => {
      isStopped = true;
      cancelAll();
    },
  };
}

/** A type that is not known has no capabilities. */
const typeOf = ({ login: { type }, types = findBuiltInType }: VirtualDeviceOptions): DeviceType =>
  types(type) ?? { type, category: 'sensor', capabilities: [], commands: [], events: [] };

const isBuiltIn = (action: unknown): boolean =>
  ['reboot', 'factory_reset', 'ota_update', 'wifi_update'].includes(String(action));
