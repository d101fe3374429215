import type { Clock } from '@station/kit/clock';
import type { ActionData } from '@station/protocol/automation-flow';
import type { WebhookClient } from '../adapters/webhook-client.ts';
import { commandExpiryMs, type Commands } from '../core/commands.ts';
import type { CommandChange, DeviceEvents } from '../core/device-events.ts';
import type { DeviceStore } from '../store/device-store.ts';

/** Actions that reach out of the station's own records. A delay and a notification are rows. */
export type Effect = Extract<ActionData, { kind: 'device_command' | 'webhook' }>;

export type EffectResult = { status: 'done' | 'failed' | 'expired'; detail: string | null };

type EffectContext = {
  /** What a webhook is sent when its configuration names nothing else. */
  about: Readonly<Record<string, unknown>>;
  /** The backend stops: how it ends is not waited for. */
  signal: AbortSignal;
};

/** @throws (rejects) the signal's reason when it aborts. */
export type PerformEffect = (effect: Effect, context: EffectContext) => Promise<EffectResult>;

type EffectParts = {
  devices: Pick<DeviceStore, 'findById'>;
  commands: Pick<Commands, 'send'>;
  events: DeviceEvents;
  webhooks: WebhookClient;
  reach: Reach;
  clock: Clock;
};

export function createEffects(parts: EffectParts): PerformEffect {
  const { webhooks } = parts;
  return async (effect, { about, signal }) => {
    switch (effect.kind) {
      case 'device_command':
        return sendCommand(parts, effect.config, signal);
      case 'webhook': {
        const { url, method = 'POST', body = about } = effect.config;
        const answer = await webhooks.call({ url, method, body: method === 'POST' ? body : null, signal });
        if (answer.kind === 'failed') return { status: 'failed', detail: answer.reason };
        const isGood = answer.statusCode >= 200 && answer.statusCode < 300;
        return { status: isGood ? 'done' : 'failed', detail: `It answered with status ${answer.statusCode}.` };
      }
    }
  };
}

type CommandConfig = Extract<ActionData, { kind: 'device_command' }>['config'];
const failed = (detail: string): EffectResult => ({ status: 'failed', detail });

async function sendCommand(
  { devices, commands, events, reach, clock }: EffectParts,
  { deviceId, action, params = {} }: CommandConfig,
  signal: AbortSignal,
): Promise<EffectResult> {
  await reach.wait(deviceId, signal);
  const device = await devices.findById(deviceId);
  if (device === null) return failed('There is no such device.');
  if (device.status === 'offline') return failed('The device is offline.');
  // From before it is sent: the device may be quicker than the answer of the broker.
  using endings = listenForEndings(events, deviceId);
  const result = await commands.send({ deviceId, action, params, userId: null });
  switch (result.kind) {
    case 'unknown_device':
      return failed('There is no such device.');
    case 'unknown_action':
    case 'bad_params':
      return failed('The device does not understand the command.');
    case 'accepted':
      break;
  }
  const { command } = result;
  return resultOf(command.status === 'pending' ? await endings.of(command, clock, signal) : command);
}

function resultOf({ status, reason }: Pick<CommandChange, 'status' | 'reason'>): EffectResult {
  switch (status) {
    case 'confirmed':
      return { status: 'done', detail: null };
    case 'failed':
      return failed(reason ?? 'The command failed.');
    case 'pending':
    case 'expired':
      return { status: 'expired', detail: 'The device did not confirm it in time.' };
  }
}

/** Commands are ended in time by who sent them; this only keeps a run from waiting for ever. */
const patienceMs = 2 * commandExpiryMs;

function listenForEndings(
  events: DeviceEvents,
  deviceId: string,
): Disposable & { of(command: CommandChange, clock: Clock, signal: AbortSignal): Promise<CommandChange> } {
  const ended = new Map<string, CommandChange>();
  let wake: () => void = () => undefined;
  const listening = events.subscribe((event) => {
    if (event.kind !== 'command' || event.command.deviceId !== deviceId) return;
    if (event.command.status === 'pending') return;
    ended.set(event.command.commandId, event.command);
    wake();
  });
  return {
    of: async (command, clock, signal) => {
      const patience = new AbortController();
      const giveUp = clock.sleep(patienceMs, AbortSignal.any([signal, patience.signal])).catch(() => undefined);
      let isOver = false;
      void giveUp.then(() => {
        isOver = true;
      });
      try {
        for (;;) {
          signal.throwIfAborted();
          const ending = ended.get(command.commandId);
          if (ending !== undefined) return ending;
          if (isOver) return { ...command, status: 'expired' };
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          await Promise.race([promise, giveUp]);
        }
      } finally {
        patience.abort();
      }
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}

/** Whether a command can come to a device, as far as the station knows. */
type Reach = Disposable & {
  /**
   * Resolves when it can, or when there is no use in waiting any longer.
   * @throws (rejects) the signal's reason when it aborts.
   */
  wait(deviceId: string, signal: AbortSignal): Promise<void>;
};

/** Devices come back to a broker that was away within seconds. */
const settleMs = 30_000;
const brokerPatienceMs = 10_000;
const lookEveryMs = 100;

/**
 * Just after a start a delay may be over before the devices are back: what is sent to nobody is lost.
 * @param comesBack whether the broker starts and ends with the backend, so that every device has to come back.
 */
export function createReach(options: {
  events: DeviceEvents;
  isReady: () => boolean;
  comesBack: boolean;
  clock: Clock;
}): Reach {
  const { events, isReady, comesBack, clock } = options;
  const startedMs = clock.monotonic();
  const heard = new Set<string>();
  const isSettled = (): boolean => !comesBack || clock.monotonic() - startedMs > settleMs;
  const listening = events.subscribe((event) => {
    if (event.kind !== 'reports' || isSettled()) return;
    for (const report of event.reports) {
      // A last will is not a word of the device.
      if (report.kind !== 'status' || report.status === 'online') heard.add(report.deviceId);
    }
  });
  return {
    wait: async (deviceId, signal) => {
      const sinceMs = clock.monotonic();
      for (;;) {
        signal.throwIfAborted();
        const isThere = isReady() || clock.monotonic() - sinceMs > brokerPatienceMs;
        if (isThere && (isSettled() || heard.has(deviceId))) return;
        await clock.sleep(lookEveryMs, signal);
      }
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
