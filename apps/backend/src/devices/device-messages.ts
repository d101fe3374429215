import { type Clock, isoTime } from '@station/kit/clock';
import type { CommandChange, DeviceEvent, DeviceEvents, DeviceReport } from '../core/device-events.ts';
import { readState, type State } from '../core/device-state.ts';
import { readValueTimes, stateTimesOf, type ValueTimes, valueTimesAfter } from '../core/value-times.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { DeviceRow, DeviceStore } from '../store/device-store.ts';

/**
 * Broadcasts device events at `/ws`. A state is sent whole, under the key of its device, so that a slow client receives only the latest
 * one. For that, this module keeps the merged states in memory.
 */
export async function startDeviceMessages(dependencies: {
  hub: Hub;
  events: DeviceEvents;
  devices: Pick<DeviceStore, 'list'>;
  clock: Clock;
}): Promise<Disposable & { reload(): Promise<void> }> {
  const { hub, events, devices, clock } = dependencies;
  const broadcaster: Broadcaster = { hub, clock, states: new Map() };
  const { states } = broadcaster;
  // Subscribes before it reads: a report in between is newer than what is read.
  const subscription = events.subscribe((event) => broadcastEvent(broadcaster, event));
  for (const row of await devices.list()) states.set(row.id, withNewer(knownState(row), states.get(row.id)));
  return {
    /** Call it after a gap in which reports may be lost. No report may arrive meanwhile. */
    reload: async () => {
      const rows = await devices.list();
      states.clear();
      for (const row of rows) states.set(row.id, knownState(row));
    },
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

type Hub = Pick<SocketHub, 'broadcast' | 'size'>;

/** `states`: the merged state of each device. */
type Broadcaster = { hub: Hub; clock: Clock; states: Map<string, KnownState> };

type KnownState = { state: State; stateAt: number | null; times: ValueTimes };

const unknownState: KnownState = { state: {}, stateAt: null, times: readValueTimes(null) };

const knownState = ({ state, state_at: stateAt, value_times: times }: DeviceRow): KnownState => ({
  state: readState(state),
  stateAt,
  times: readValueTimes(times),
});

function withNewer(known: KnownState, newer: KnownState | undefined): KnownState {
  if (newer === undefined) return known;
  const isIncluded = (known.stateAt ?? -Infinity) >= (newer.stateAt ?? -Infinity);
  return isIncluded ? known : afterReport(known, newer.state, newer.stateAt);
}

const afterReport = (known: KnownState, reported: State, stateAt: number | null): KnownState => ({
  state: { ...known.state, ...reported },
  stateAt,
  times: valueTimesAfter(known.times, known, reported),
});

function broadcastEvent(broadcaster: Broadcaster, event: DeviceEvent): void {
  const { hub, clock, states } = broadcaster;
  const now = (): string => isoTime(clock.now());
  switch (event.kind) {
    case 'reports':
      return broadcastReports(broadcaster, event.reports);
    case 'status': {
      const { deviceId, status, at } = event;
      const message = { type: 'device_status', at: isoTime(at), deviceId, status } as const;
      return hub.broadcast(message, `device_status ${deviceId}`);
    }
    case 'command':
      return hub.broadcast(commandMessage(event.command), `device_command ${event.command.commandId}`);
    case 'added':
    case 'changed': {
      const { deviceId } = event;
      return hub.broadcast({ type: 'device_changed', at: now(), deviceId }, `device_changed ${deviceId}`);
    }
    case 'described':
      return hub.broadcast({ type: 'device_types_changed', at: now() }, 'device_types_changed');
    case 'message':
      return hub.broadcast(event.message, event.key);
    case 'removed': {
      const { deviceId } = event;
      states.delete(deviceId);
      return hub.broadcast({ type: 'device_removed', at: now(), deviceId });
    }
    case 'login_ended':
      return;
  }
}

function broadcastReports({ hub, clock, states }: Broadcaster, reports: readonly DeviceReport[]): void {
  /** Of several states in one batch only the last is broadcast. */
  const changed = new Set<string>();
  for (const report of reports) {
    const { deviceId, at } = report;
    if (report.kind === 'state') {
      states.set(deviceId, afterReport(states.get(deviceId) ?? unknownState, report.state, at));
      changed.add(deviceId);
    } else if (report.kind === 'event' && report.data['action'] !== 'command_ack') {
      const { eventKind: kind, data } = report;
      hub.broadcast({ type: 'device_event', at: isoTime(at), deviceId, kind, data });
    } else if (report.kind === 'handshake' || isFaultChange(report)) {
      hub.broadcast({ type: 'device_changed', at: isoTime(at), deviceId }, `device_changed ${deviceId}`);
    }
  }
  if (hub.size() === 0) return;
  const now = isoTime(clock.now());
  for (const deviceId of changed) {
    const { state, stateAt, times } = states.get(deviceId) ?? unknownState;
    const shownAt = isoTime(stateAt ?? clock.now());
    const stateTimes = stateTimesOf(times, stateAt);
    const message = { type: 'device_state', at: now, deviceId, state, stateAt: shownAt, stateTimes } as const;
    hub.broadcast(message, `device_state ${deviceId}`);
  }
}

/** A fault began or ended. Further messages of that kind only raise its count. */
const isFaultChange = (report: DeviceReport): boolean =>
  report.kind === 'fault' && (report.fault === null || report.fault.count === 1);

const commandMessage = ({ commandId, deviceId, action, status, reason, at }: CommandChange) =>
  ({ type: 'device_command', at: isoTime(at), commandId, deviceId, action, status, reason }) as const;
