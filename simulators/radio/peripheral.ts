import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import {
  improvCommandUuid,
  improvServiceDataUuid,
  improvServiceUuid,
  provisioningCharacteristicUuid,
  provisioningServiceUuid,
  type BleError,
  type Discovered,
} from '@station/protocol/ble-frames';
import { DeviceLoginSheet } from '@station/protocol/provisioning';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { folderStore, memoryStore, type FlashStore } from '../devices/flash.ts';
import { seededRandom } from '../devices/random.ts';
import { startVirtualDevice, type VirtualDevice } from '../devices/virtual-device.ts';
import { startDevicePage, type DevicePage } from './device-page.ts';
import { noFaults, type Faults, type Network, type PeripheralPlan } from './peripheral-plan.ts';

/**
 * `waiting`: it advertises. `joining`: it has credentials and tries to join the network. `page`: it is in the network, and waits for a
 * login in its own page. `running`: it has its login; whether the station took it: `isAccepted`.
 */
type PeripheralState = 'waiting' | 'joining' | 'page' | 'running';

export type PeripheralReport = {
  plan: PeripheralPlan;
  faults: Faults;
  state: PeripheralState;
  isAccepted: boolean;
  /** Number of writes that arrived completely. */
  writes: number;
  /** Why it did not join; null: it did, or never tried. */
  lastFailure: string | null;
  /** Address of its own page; null: it has none now. */
  pageUrl: string | null;
};

export type Peripheral = AsyncDisposable & {
  report(): PeripheralReport;
  /** Whether it advertises where the adapter hears it. */
  isHeard(): boolean;
  /** What it advertises now; null: it is not heard. */
  advertisement(): Omit<Discovered, 'event'> | null;
  /** What can be written to. */
  characteristic: { service: string; uuid: string };
  /** To be asked at each connection: whether it breaks before the write is complete. */
  breaksConnection(connection: { isFirstOfWrite: boolean }): boolean;
  /** Takes the bytes of one complete write. @returns why it refuses them. */
  receive(payload: Uint8Array): Promise<BleError | null>;
  setFaults(faults: Partial<Faults>): void;
  /** Forgets its credentials and login, and advertises again. */
  reset(): Promise<void>;
};

export type PeripheralOptions = {
  plan: PeripheralPlan;
  networks: readonly Network[];
  seed: string;
  /** Folder for what it remembers; null: only in memory. */
  folder: string | null;
  /** Divides its delays. */
  speed: number;
};

/** What provisioning writes to a device (contracts, section 11). */
const Payload = Type.Intersect([Type.Object({ ssid: Type.String(), password: Type.String() }), DeviceLoginSheet]);
const Credentials = Type.Object({ ssid: Type.String({ minLength: 1 }), password: Type.String() });
/** What it remembers over a power cut. No login: it is in the network and waits for one. */
const Memory = Type.Object({ login: Type.Union([DeviceLoginSheet, Type.Null()]) });
type Memory = Static<typeof Memory>;

/** Time to join a network that it hears, and until it gives up one that it does not. */
const joinMs = 1_500;
const giveUpMs = 20_000;
const heartbeatMs = 10_000;
const memoryName = 'provisioned';

type Parts = {
  options: PeripheralOptions;
  /** Two sequences, so that advertisements do not decide which connections break. */
  random: { signal: () => number; faults: () => number };
  store: FlashStore;
  faults: Faults;
  state: PeripheralState;
  rssi: number;
  writes: number;
  isBreakingWrite: boolean;
  lastFailure: string | null;
  device: VirtualDevice | null;
  page: DevicePage | null;
  timer: NodeJS.Timeout | undefined;
  isDisposed: boolean;
  /** Starts and stops what it runs as. */
  runner: ExclusiveRunner;
};

/** A virtual device that can be provisioned: BLE peripheral, firmware, and then a device over MQTT. */
export async function createPeripheral(options: PeripheralOptions): Promise<Peripheral> {
  const { plan, seed } = options;
  const parts: Parts = {
    options,
    store: openStore(options),
    faults: { ...noFaults, ...plan.faults },
    random: {
      signal: seededRandom(`${seed}/${plan.address}/signal`),
      faults: seededRandom(`${seed}/${plan.address}/faults`),
    },
    state: 'waiting',
    rssi: plan.rssi,
    writes: 0,
    isBreakingWrite: false,
    lastFailure: null,
    device: null,
    page: null,
    timer: undefined,
    isDisposed: false,
    runner: createExclusiveRunner(),
  };
  await parts.runner.run(() => boot(parts));
  return {
    report: () => ({
      plan,
      faults: parts.faults,
      state: parts.state,
      writes: parts.writes,
      lastFailure: parts.lastFailure,
      isAccepted: parts.device?.isAccepted() ?? false,
      pageUrl: parts.page?.url ?? null,
    }),
    characteristic: characteristicOf(plan),
    isHeard: () => isHeard(parts),
    advertisement: () => (isHeard(parts) ? advertise(parts) : null),
    breaksConnection: ({ isFirstOfWrite }) => breaksConnection(parts, isFirstOfWrite),
    receive: (payload) => {
      parts.writes += 1;
      return plan.protocol === 'improv' ? receiveImprov(parts, payload) : receive(parts, payload);
    },
    setFaults: (faults) => void Object.assign(parts.faults, faults),
    reset: () => reset(parts),
    [Symbol.asyncDispose]: async () => {
      parts.isDisposed = true;
      await parts.runner.run(() => stop(parts));
    },
  };
}

const characteristicOf = ({ protocol }: PeripheralPlan): Peripheral['characteristic'] =>
  protocol === 'improv'
    ? { service: improvServiceUuid, uuid: improvCommandUuid }
    : { service: provisioningServiceUuid, uuid: provisioningCharacteristicUuid };

/** Continues with what it remembers. */
async function boot(parts: Parts): Promise<void> {
  if (parts.isDisposed) return;
  const memory = readMemory(parts.store);
  if (memory?.login) run(parts, memory.login);
  else if (memory !== null || parts.options.plan.protocol === 'page') await openPage(parts);
  else parts.state = 'waiting';
}

async function stop(parts: Parts): Promise<void> {
  clearTimeout(parts.timer);
  const { device, page } = parts;
  parts.device = null;
  parts.page = null;
  await device?.[Symbol.asyncDispose]();
  await page?.[Symbol.asyncDispose]();
}

const reset = (parts: Parts): Promise<void> =>
  parts.runner.run(async () => {
    await stop(parts);
    const folder = folderOf(parts.options);
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
    parts.store = openStore(parts.options);
    parts.faults = { ...noFaults, ...parts.options.plan.faults };
    parts.lastFailure = null;
    await boot(parts);
  });

const isHeard = ({ state, faults, options }: Parts): boolean =>
  state === 'waiting' && options.plan.protocol !== 'page' && !faults.isOutOfRange;

function advertise(parts: Parts): Omit<Discovered, 'event'> {
  const { plan } = parts.options;
  const { service } = characteristicOf(plan);
  // The signal wanders around its mean, as when people walk through the room.
  parts.rssi += (plan.rssi - parts.rssi) / 4 + (parts.random.signal() - 0.5) * 6;
  return {
    address: plan.address,
    name: plan.name,
    service_uuids: [service],
    rssi: Math.max(-100, Math.min(-20, Math.round(parts.rssi))),
    service_data: {
      ...(plan.serviceData === null ? {} : { [service]: Buffer.from(plan.serviceData).toString('base64') }),
      ...(plan.protocol === 'improv' ? { [improvServiceDataUuid]: improvServiceData(parts.faults) } : {}),
    },
  };
}

/** Improv, "Service data": state (1: waits for its button, 2: authorized), capabilities, four reserved bytes. */
const improvServiceData = ({ needsButton }: Faults): string =>
  Buffer.from([needsButton ? 1 : 2, 0, 0, 0, 0, 0]).toString('base64');

function breaksConnection(parts: Parts, isFirstOfWrite: boolean): boolean {
  if (isFirstOfWrite) {
    parts.isBreakingWrite = parts.faults.brokenWrites > 0;
    if (parts.isBreakingWrite) parts.faults.brokenWrites -= 1;
  }
  return parts.isBreakingWrite || parts.random.faults() < parts.faults.disconnectShare;
}

async function receive(parts: Parts, payload: Uint8Array): Promise<null> {
  const body = parseJson(payload);
  // As the firmware: it has acknowledged the bytes already, and drops what it cannot read.
  if (!Value.Check(Payload, body)) {
    parts.lastFailure = 'It could not read what it was sent.';
    return null;
  }
  const { ssid, password, ...login } = body;
  parts.state = 'joining';
  const isJoining = canJoin(parts, { ssid, password });
  const later = (): void => {
    if (!isJoining) return giveUp(parts, ssid);
    remember(parts, { login });
    run(parts, login);
  };
  clearTimeout(parts.timer);
  parts.timer = setTimeout(later, (isJoining ? joinMs : giveUpMs) / parts.options.speed);
  return null;
}

/** The connection stays until the device has joined, or has said why not. */
async function receiveImprov(parts: Parts, payload: Uint8Array): Promise<BleError | null> {
  const body = parseJson(payload);
  if (!Value.Check(Credentials, body)) return 'payload_invalid';
  if (parts.faults.needsButton) return 'improv_not_authorized';
  parts.state = 'joining';
  await delay(joinMs / parts.options.speed);
  if (!canJoin(parts, body)) {
    giveUp(parts, body.ssid);
    return 'improv_wrong_credentials';
  }
  remember(parts, { login: null });
  await parts.runner.run(() => boot(parts));
  return null;
}

function canJoin({ options, faults }: Parts, { ssid, password }: Network): boolean {
  return (
    !faults.isWithoutWifi && options.networks.some((network) => network.ssid === ssid && network.password === password)
  );
}

function giveUp(parts: Parts, ssid: string): void {
  parts.lastFailure = `It could not join the network “${ssid}”.`;
  parts.state = 'waiting';
}

function run(parts: Parts, login: DeviceLoginSheet): void {
  const { plan, seed } = parts.options;
  parts.state = 'running';
  parts.lastFailure = null;
  parts.device = startVirtualDevice({
    url: `mqtt://${login.mqtt_host}:${login.mqtt_port}`,
    stationId: login.station_id,
    login: {
      externalId: login.device_id,
      token: login.device_token,
      type: plan.type,
      name: plan.label,
      profile: 'field',
    },
    seed,
    heartbeatMs,
    flash: parts.store,
    // A removed device forgets everything, and can be added again.
    onErased: () => void reset(parts),
  });
}

async function openPage(parts: Parts): Promise<void> {
  parts.state = 'page';
  parts.page = await startDevicePage({
    title: parts.options.plan.label,
    onLogin: (login) =>
      parts.runner.run(async () => {
        if (parts.page === null) return;
        await stop(parts);
        remember(parts, { login });
        run(parts, login);
      }),
  });
}

const folderOf = ({ folder, plan }: PeripheralOptions): string | null =>
  folder === null ? null : join(folder, plan.address.replaceAll(':', ''));

function openStore(options: PeripheralOptions): FlashStore {
  const folder = folderOf(options);
  return folder === null ? memoryStore() : folderStore(folder);
}

function remember({ store }: Parts, memory: Memory): void {
  store.replace(memoryName, Buffer.from(JSON.stringify(memory)));
}

function readMemory(store: FlashStore): Memory | null {
  const bytes = store.read(memoryName);
  const memory = bytes === null ? null : parseJson(bytes);
  return Value.Check(Memory, memory) ? memory : null;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return null;
  }
}
