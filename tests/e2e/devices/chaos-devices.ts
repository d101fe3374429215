import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { startVirtualDevice, type VirtualDevice } from '@station/simulators/devices/virtual-device';
import { stationId } from '../backend/installation.ts';

/** @property cutMs when the power of its device was cut next; Infinity if it never was. */
export type Press = { externalId: string; n: number; sentMs: number; cutMs: number };

export type ChaosDevice = AsyncDisposable & {
  login: DeviceLogin;
  device: VirtualDevice;
  /** Button presses that left the device, or that the broker acknowledged, as its profile does it. */
  presses: Press[];
  press(): void;
  reportState(): void;
  /** Cuts its power for a moment. */
  cutPower(): void;
  /** Whether it is online and has no command under way, so that no other command can look like the result of this one. */
  isFree(): boolean;
  /** A command that changes a value which no other command sets to the same. */
  nextCommand(random: () => number): { action: string; params?: Record<string, unknown> };
  commanded(commandId: string): void;
  /** The command was refused. */
  free(): void;
  executed: ReadonlySet<string>;
  /** Times that the station told it to reset or did not know it. */
  harms(): number;
};

/** Short, so that a wrong refusal within a short life of the backend resets a device. */
const refusalRetryMs = 200;
const handshakeRetryMs = 2_000;
/** Longer than a command lives. */
const commandMs = 20_000;
/** So slow that a device does nothing of its own: only what the test asks for. */
const speed = 0.001;

export function startChaosDevice(url: string, login: DeviceLogin): ChaosDevice {
  const executed = new Set<string>();
  const presses: Press[] = [];
  let pressed = 0;
  let harms = 0;
  let busyUntilMs = 0;
  let cutMs = 0;
  let awaited: string | null = null;
  const device = startVirtualDevice({
    url,
    stationId,
    login,
    seed: 'chaos',
    speed,
    heartbeatMs: 2_000,
    profile: {
      reconnectMs: 100,
      handshakeRetryMs,
      ...(login.profile === 'field' ? { erasesItself: { afterRefusals: 3, refusalRetryMs } } : {}),
    },
    onExecuted: (commandId) => {
      executed.add(commandId);
      if (commandId === awaited) awaited = null;
    },
  });
  const commandTopic = deviceTopic(stationId, login.externalId, 'command');
  device.client.on('message', (topic, payload) => {
    const body = JSON.parse(payload.toString('utf8')) as Record<string, unknown>;
    if (topic === commandTopic ? body['action'] === 'factory_reset' : body['status'] === 'unknown_device') harms += 1;
  });
  return {
    login,
    device,
    executed,
    presses,
    press: () => {
      const press = { externalId: login.externalId, n: (pressed += 1), sentMs: performance.now(), cutMs: Infinity };
      const data = { action: 'button_press', n: press.n };
      void device.publish('event', { event: 'user_event', data }).then((isSent) => {
        if (isSent && press.sentMs > cutMs) presses.push(press);
      });
    },
    reportState: () => void device.publish('state', { state: device.state }),
    cutPower: () => {
      cutMs = performance.now();
      for (const press of presses) press.cutMs = Math.min(press.cutMs, cutMs);
      device.powerLoss(200);
    },
    isFree: () => device.isAccepted() && (awaited === null || performance.now() > busyUntilMs),
    nextCommand: (random) => {
      const isOn = device.state['on'] === true;
      const dice = random();
      if (dice < 0.4) return { action: isOn ? 'turn_off' : 'turn_on' };
      if (dice < 0.6) return { action: 'toggle' };
      const brightness = (Number(device.state['brightness']) + 25 + Math.floor(50 * random())) % 100;
      return { action: 'set_brightness', params: { brightness: Math.max(1, brightness) } };
    },
    commanded: (commandId) => {
      busyUntilMs = performance.now() + commandMs;
      awaited = executed.has(commandId) ? null : commandId;
    },
    free: () => (awaited = null),
    harms: () => harms,
    [Symbol.asyncDispose]: () => device[Symbol.asyncDispose](),
  };
}
