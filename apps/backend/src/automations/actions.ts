import type { Clock } from '@station/kit/clock';
import type { ActionData } from '@station/protocol/automation-flow';
import { takesCommand } from '@station/protocol/automation-flow-check';
import type { StepSeen } from '@station/protocol/automations';
import type { WebhookClient } from './adapters/webhook-client.ts';
import { commandExpiryMs, type Commands } from '../core/commands.ts';
import type { CommandChange, DeviceEvents } from '../core/device-events.ts';
import type { DeviceTypes } from '../core/type-registry.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { SceneStore } from '../store/scene-store.ts';
import { shownDevices } from './dry-run.ts';

/** Actions with external effects. Delays and notifications are only database rows. */
export type Effect = Extract<ActionData, { kind: 'device_command' | 'zone_command' | 'scene' | 'webhook' }>;

export type EffectResult = { status: 'done' | 'failed' | 'expired'; detail: string | null; seen?: StepSeen };

type EffectContext = {
  /** Default body of a webhook. */
  about: Readonly<Record<string, unknown>>;
  automationId: string;
  /** Aborts when the backend stops: the result is no longer awaited. */
  signal: AbortSignal;
};

/** @throws (rejects) the signal's reason when it aborts. */
export type PerformEffect = (effect: Effect, context: EffectContext) => Promise<EffectResult>;

type EffectParts = {
  devices: Pick<DeviceStore, 'findById' | 'list'>;
  types: Pick<DeviceTypes, 'of'>;
  scenes: Pick<SceneStore, 'find'>;
  commands: Pick<Commands, 'send'>;
  events: DeviceEvents;
  webhooks: WebhookClient;
  reach: Reach;
  clock: Clock;
};

export function createEffects(parts: EffectParts): PerformEffect {
  const { webhooks } = parts;
  return async (effect, context) => {
    const { about, signal } = context;
    switch (effect.kind) {
      case 'device_command':
        return resultOfDevice(await sendCommand(parts, effect.config, context));
      case 'zone_command':
        return sendToZone(parts, effect.config, context);
      case 'scene':
        return runScene(parts, effect.config, context);
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
type ZoneConfig = Extract<ActionData, { kind: 'zone_command' }>['config'];
type SceneConfig = Extract<ActionData, { kind: 'scene' }>['config'];
type Sent = { status: NonNullable<StepSeen['devices']>[number]['status']; detail: string | null };

const failed = (detail: string): Sent => ({ status: 'failed', detail });

/** In the record of a run a device that is offline has failed. */
const resultOfDevice = ({ status, detail }: Sent): EffectResult => ({
  status: status === 'offline' ? 'failed' : status,
  detail,
});

async function sendToZone(
  parts: EffectParts,
  { zoneId, action, params = {} }: ZoneConfig,
  context: EffectContext,
): Promise<EffectResult> {
  const { devices, types } = parts;
  const targets = (await devices.list()).filter(
    (device) => device.zone_id === zoneId && takesCommand(types.of(device), { zoneId, action, params }),
  );
  if (targets.length === 0) return { status: 'failed', detail: 'No device of the zone understands the command.' };
  const sent = await Promise.all(
    targets.map(async ({ id, name }) => {
      return { deviceId: id, name, ...(await sendCommand(parts, { deviceId: id, action, params }, context)) };
    }),
  );
  return resultOfAll(sent);
}

async function runScene(parts: EffectParts, { sceneId }: SceneConfig, context: EffectContext): Promise<EffectResult> {
  const scene = await parts.scenes.find(sceneId);
  if (scene === null) return { status: 'failed', detail: 'There is no such scene.' };
  const ofDevices = [...Map.groupBy(scene.commands, ({ deviceId }) => deviceId)];
  return resultOfAll(
    await Promise.all(
      ofDevices.map(async ([deviceId, commands]) => {
        const name = (await parts.devices.findById(deviceId))?.name ?? deviceId;
        let whole: Sent = { status: 'done', detail: null };
        // One after the other: the commands of one device keep their order.
        for (const command of commands) {
          const sent = await sendCommand(parts, command, context);
          if (sent.status !== 'done') whole = sent;
        }
        return { deviceId, name, ...whole };
      }),
    ),
  );
}

/** Of a command for several devices. */
function resultOfAll(sent: readonly (Sent & { deviceId: string; name: string })[]): EffectResult {
  const bad = sent.filter(({ status }) => status !== 'done');
  const isExpired = bad.length > 0 && bad.every(({ status }) => status === 'expired');
  return {
    status: bad.length === 0 ? 'done' : isExpired ? 'expired' : 'failed',
    detail: bad.length === 0 ? null : describeBad(bad, sent.length),
    seen: { devices: sent.slice(0, shownDevices).map(({ deviceId, status }) => ({ deviceId, status })) },
  };
}

const namedBad = 5;
function describeBad(bad: readonly { name: string; detail: string | null }[], count: number): string {
  const some = bad.slice(0, namedBad).map(({ name, detail }) => `${name}: ${detail ?? ''}`);
  return `${bad.length} of ${count} devices did not do it. ${some.join(' ')}`.slice(0, 500);
}

async function sendCommand(
  { devices, commands, events, reach, clock }: EffectParts,
  { deviceId, action, params = {} }: CommandConfig,
  { automationId, signal }: EffectContext,
): Promise<Sent> {
  await reach.wait(deviceId, signal);
  const device = await devices.findById(deviceId);
  if (device === null) return failed('There is no such device.');
  if (device.status === 'offline') return { status: 'offline', detail: 'The device is offline.' };
  // Subscribes before sending: the device may confirm before the broker answers.
  using endings = listenForEndings(events, deviceId);
  const result = await commands.send({
    deviceId,
    action,
    params,
    userId: null,
    cause: { kind: 'automation', id: automationId },
  });
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

function resultOf({ status, reason }: Pick<CommandChange, 'status' | 'reason'>): Sent {
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
