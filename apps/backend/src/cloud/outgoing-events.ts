import { type Clock, isoTime } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import type { EventChannel } from '@station/protocol/cloud';
import type { CloudNotification } from '@station/protocol/cloud-rpc';
import type { ServerMessage } from '@station/protocol/socket';
import type { DeviceEvents, DeviceEvent } from '../core/device-events.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { Delivery } from './delivery.ts';

/** Content of an outbox row; `method` is removed before it is sent. */
type Message = {
  channel: EventChannel;
  content: { method: CloudNotification } & Record<string, unknown>;
  at: number;
};

/** Agent events that are not sent to the cloud: progress and retries. */
const quietAgentEvents: ReadonlySet<string> = new Set(['docker_pull', 'firmware_check_retry']);

/**
 * Queues station events for the cloud. Device events and status changes are already in the outbox, written together with the reports. The
 * backend that holds the link adds the rest here.
 */
export function followEvents(parts: {
  events: DeviceEvents;
  tap: BroadcastTap;
  delivery: Pick<Delivery, 'wake' | 'stateChanged'>;
  isLeading(): boolean;
  add(message: Message): void;
  clock: Clock;
}): Disposable {
  const { delivery } = parts;
  const add = (message: Message | null): void => {
    if (message !== null && parts.isLeading()) parts.add(message);
  };
  const onDeviceEvent = (event: DeviceEvent): void => {
    if (event.kind === 'reports') {
      for (const report of event.reports) if (report.kind === 'state') delivery.stateChanged(report.deviceId);
      return delivery.wake();
    }
    add(messageOfEvent(event, parts.clock.now()));
  };
  const listening = parts.events.subscribe(onDeviceEvent);
  const tapped = parts.tap.subscribe((message) => add(messageOfBroadcast(message)));
  return {
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]();
      tapped[Symbol.dispose]();
    },
  };
}

function messageOfEvent(event: DeviceEvent, now: number): Message | null {
  if (event.kind === 'added' || event.kind === 'removed') {
    const { deviceId, externalId } = event;
    const method = event.kind === 'added' ? 'device.added' : 'device.removed';
    return { channel: 'lifecycle', content: { method, deviceId, externalId, at: isoTime(now) }, at: now };
  }
  if (event.kind !== 'command') return null;
  const { commandId, deviceId, action, status, at } = event.command;
  const content = { method: 'device.commandSent', deviceId, commandId, action, status, at: isoTime(at) } as const;
  return { channel: 'commands', content, at };
}

/** Messages that other features broadcast at `/ws`. */
function messageOfBroadcast(message: ServerMessage): Message | null {
  const at = Date.parse('at' in message ? message.at : '');
  if (message.type === 'automation_run') {
    const { id: runId, automationId, status, endedAt } = message.run;
    if (endedAt === null) return null;
    const content = { method: 'automation.runCompleted', automationId, runId, status, at: endedAt } as const;
    return { channel: 'automations', content, at };
  }
  if (message.type === 'firmware_rollout' && message.target !== null) {
    const { deviceId, state: status, percent } = message.target;
    const content = { method: 'firmware.progress', deviceId, status, percent, at: message.at } as const;
    return { channel: 'firmware', content, at };
  }
  if (message.type === 'agent_event') {
    const { event, time: _time, level: _level, ...data } = message.event;
    if (quietAgentEvents.has(event)) return null;
    return { channel: 'system', content: { method: 'station.event', event, data, at: message.at }, at };
  }
  return null;
}

/** Receives all broadcasts at `/ws`, also while no client is connected. */
export type BroadcastTap = {
  /** The hub with the tap on it. */
  on(hub: SocketHub): SocketHub;
  subscribe(listener: (message: ServerMessage) => void): Disposable;
};

export function createBroadcastTap(): BroadcastTap {
  const broadcasts = createEmitter<ServerMessage>();
  return {
    on: (hub) => ({
      ...hub,
      broadcast: (message, key) => {
        hub.broadcast(message, key);
        broadcasts.emit(message);
      },
    }),
    subscribe: broadcasts.subscribe,
  };
}
