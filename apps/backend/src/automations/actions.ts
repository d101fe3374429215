import type { Clock } from '@station/kit/clock';
import type { ActionData } from '@station/protocol/automation-flow';
import type { WebhookClient } from '../adapters/webhook-client.ts';
import { commandExpiryMs, type Commands } from '../core/commands.ts';
import type { CommandChange, DeviceEvents } from '../core/device-events.ts';
import type { DeviceStore } from '../store/device-store.ts';

/** Actions with external effects. Delays and notifications are only database rows. */
export type Effect = Extract<ActionData, { kind: 'device_command' | 'webhook' }>;

export type EffectResult = { status: 'done' | 'failed' | 'expired'; detail: string | null };

type EffectContext = {
  /** Default body of a webhook. */
  about: Readonly<Record<string, unknown>>;
  /** Aborts when the backend stops: the result is no longer awaited. */
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
  // Subscribes before sending: the device may confirm before the broker answers.
  using endings = listenForEndings(events, deviceId);
  const result = await commands.send({ deviceId, action, params, userId: null });
  switch (result.kind) {
    case 'unknown_device':
      return failed('There is no such device.');
    case 'unknown_action':
    case 'bad_params':
      return failed('The device does not understand the command.');
    case 'too_large':
      return failed('The command is larger than the device can receive.');
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

/** The sender expires commands; this limit only prevents an endless wait. */
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

/** Waits until a command can reach a device, as far as the station knows. */
type Reach = Disposable & {
  /**
   * Resolves when it can, or when further waiting is useless.
   * @throws (rejects) the signal's reason when it aborts.
   */
  wait(deviceId: string, signal: AbortSignal): Promise<void>;
};

/** Devices reconnect within seconds after the broker returns. */
const settleMs = 30_000;
const brokerPatienceMs = 10_000;
const checkEveryMs = 100;

/**
 * Just after a start, a delay may end before the devices reconnect, and a command to an offline device would be lost.
 * @param comesBack whether the broker runs in the backend, so that every device must reconnect.
 */
export function createReach(options: {
  events: DeviceEvents;
  isReady: () => boolean;
  comesBack: boolean;
  clock: Clock;
}): Reach {
  const { events, isReady, comesBack, clock } = options;
  const startedMs = clock.monotonic();
  const reported = new Set<string>();
  const isSettled = (): boolean => !comesBack || clock.monotonic() - startedMs > settleMs;
  const listening = events.subscribe((event) => {
    if (event.kind !== 'reports' || isSettled()) return;
    for (const report of event.reports) {
      // A last will is not sent by the device itself.
      if (report.kind !== 'status' || report.status === 'online') reported.add(report.deviceId);
    }
  });
  return {
    wait: async (deviceId, signal) => {
      const sinceMs = clock.monotonic();
      for (;;) {
        signal.throwIfAborted();
        const isThere = isReady() || clock.monotonic() - sinceMs > brokerPatienceMs;
        if (isThere && (isSettled() || reported.has(deviceId))) return;
        await clock.sleep(checkEveryMs, signal);
      }
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
