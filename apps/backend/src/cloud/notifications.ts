import { type Clock, isoTime } from '@station/kit/clock';
import type { EventChannel } from '@station/protocol/cloud';
import type { CloudNotification } from '@station/protocol/cloud-rpc';
import type { ServerMessage } from '@station/protocol/socket';
import type { DeviceEvents, DeviceEvent } from '../core/device-events.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { Delivery } from './delivery.ts';

/** Goes into the outbox; `method` is taken out again before it is sent. */
type Kept = {
  channel: EventChannel;
  content: { method: CloudNotification } & Record<string, unknown>;
  at: number;
};

/** Of the agent's events those that say what became of the station; not the progress of a download. */
const quietAgentEvents: ReadonlySet<string> = new Set(['docker_pull', 'firmware_check_retry']);

/**
 * Takes what happens at the station to the cloud. Events and changes of status are in the outbox already, put there with the reports themselves;
 * the rest is kept from here, by the one backend that holds the link.
 */
export function followHappenings(parts: {
  events: DeviceEvents;
  tap: BroadcastTap;
  delivery: Pick<Delivery, 'wake' | 'stateChanged'>;
  isLeading(): boolean;
  add(kept: Kept): void;
  clock: Clock;
}): Disposable {
  const { delivery } = parts;
  const keep = (kept: Kept | null): void => {
    if (kept !== null && parts.isLeading()) parts.add(kept);
  };
  const onHappening = (happening: DeviceEvent): void => {
    if (happening.kind === 'reports') {
      for (const report of happening.reports) if (report.kind === 'state') delivery.stateChanged(report.deviceId);
      return delivery.wake();
    }
    keep(keptOf(happening, parts.clock.now()));
  };
  const listening = parts.events.subscribe(onHappening);
  const hearing = parts.tap.subscribe((message) => keep(keptOfBroadcast(message)));
  return {
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]();
      hearing[Symbol.dispose]();
    },
  };
}

function keptOf(happening: DeviceEvent, now: number): Kept | null {
  if (happening.kind === 'added' || happening.kind === 'removed') {
    const { deviceId, externalId } = happening;
    const method = happening.kind === 'added' ? 'device.added' : 'device.removed';
    return { channel: 'lifecycle', content: { method, deviceId, externalId, at: isoTime(now) }, at: now };
  }
  if (happening.kind !== 'command') return null;
  const { commandId, deviceId, action, status, at } = happening.command;
  const content = { method: 'device.commandSent', deviceId, commandId, action, status, at: isoTime(at) } as const;
  return { channel: 'commands', content, at };
}

/** What other rooms tell everyone at `/ws`. */
function keptOfBroadcast(message: ServerMessage): Kept | null {
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

/** Hears what is told to everyone at `/ws`, also while nobody is there. */
export type BroadcastTap = {
  /** The hub with the tap on it. */
  on(hub: SocketHub): SocketHub;
  subscribe(listener: (message: ServerMessage) => void): Disposable;
};

export function createBroadcastTap(): BroadcastTap {
  const listeners = new Set<(message: ServerMessage) => void>();
  return {
    on: (hub) => ({
      ...hub,
      broadcast: (message, key) => {
        hub.broadcast(message, key);
        for (const listener of listeners) listener(message);
      },
    }),
    subscribe: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
