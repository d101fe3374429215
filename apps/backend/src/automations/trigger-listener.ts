import { nextTurn } from '@station/kit/timers';
import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import type { TriggerData } from '@station/protocol/automation-flow';
import type { RunTrigger } from '@station/protocol/automations';
import { ownValue } from '@station/protocol/own-value';
import type { DeviceEvents, DeviceReport, StatesBefore } from '../core/device-events.ts';
import { readState, type State } from '../core/device-state.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { compare } from './flow-conditions.ts';
import type { ArmedTrigger, Registry } from './registry.ts';
import type { Start } from './run-rows.ts';
import type { Runner } from './runner.ts';

export type TriggerListenerParts = {
  events: DeviceEvents;
  devices: Pick<DeviceStore, 'findById'>;
  registry: Pick<Registry, 'ofDevice'>;
  runner: Pick<Runner, 'start' | 'skip'>;
  newId: () => string;
  clock: Clock;
  logger: BackendLogger;
};

/** Maximum queued starts of one automation; further ones are skipped. */
const maxWaiting = 50;
/** An older status change was delivered late and starts nothing. */
const freshStatusMs = 60_000;

/**
 * Starts runs for reports of devices. Only the process that wrote a report checks it. A status change is emitted in all processes, and the
 * first one that stores a run for it owns the run.
 */
export function listenForTriggers(parts: TriggerListenerParts): Disposable {
  const { events, newId, logger } = parts;
  const enqueue = createStartQueues(parts);
  const fire: Fire = ({ automation, nodeId, data }, deviceId, firing, cause = newId()) => {
    const trigger: RunTrigger = { kind: data.kind, nodeId, deviceId, userId: null, data: firing };
    enqueue({ automation, trigger, cause });
  };
  return events.subscribe((event) => {
    if (event.kind === 'reports' && event.before !== undefined) {
      onReports(parts, fire, event.reports, event.before);
    } else if (event.kind === 'status') {
      onStatus(parts, fire, event.deviceId, event.status).catch((error: unknown) =>
        logger.failed('a trigger of an automation', error),
      );
    }
  });
}

/** Starts a run, in order of arrival. @param cause unset: only this process sees the cause. */
type Fire = (trigger: ArmedTrigger, deviceId: string, firing: Firing, cause?: string) => void;

/**
 * @returns starts the runs of each automation one after another. In between the process does other work: SQLite answers in the same turn, so
 * that hundreds of starts would otherwise hold up everything else for seconds.
 */
function createStartQueues({ runner, logger }: TriggerListenerParts): (start: Start) => void {
  const pace = createExclusiveRunner();
  const queues = new Map<string, { turn: ExclusiveRunner; waiting: number }>();
  return (start) => {
    const { id } = start.automation;
    const queue = queues.get(id) ?? { turn: createExclusiveRunner(), waiting: 0 };
    queues.set(id, queue);
    const isTooMany = queue.waiting >= maxWaiting;
    queue.waiting += 1;
    const begun = isTooMany
      ? runner.skip(start, 'rate_limited')
      : queue.turn.run(async () => {
          await pace.run(nextTurn);
          return runner.start(start);
        });
    void Promise.resolve(begun)
      .catch((error: unknown) => logger.failed('the start of an automation', error))
      .finally(() => {
        queue.waiting -= 1;
        if (queue.waiting === 0) queues.delete(id);
      });
  };
}

function onReports(
  { registry }: TriggerListenerParts,
  fire: Fire,
  reports: readonly DeviceReport[],
  before: StatesBefore,
): void {
  /** States after each report of the batch; only of devices with triggers. */
  const states = new Map<string, State>();
  for (const report of reports) {
    if (report.kind !== 'state' && report.kind !== 'event') continue;
    const { deviceId } = report;
    const armed = registry.ofDevice(deviceId);
    if (armed.length === 0) continue;
    const state = states.get(deviceId) ?? readState(before.get(deviceId) ?? '{}');
    for (const trigger of armed) {
      const firing = firingOf(trigger, state, report);
      if (firing !== null) fire(trigger, deviceId, firing);
    }
    if (report.kind === 'state') states.set(deviceId, { ...state, ...report.state });
  }
}

async function onStatus(
  { registry, devices, clock }: TriggerListenerParts,
  fire: Fire,
  deviceId: string,
  status: 'online' | 'offline',
): Promise<void> {
  const armed = registry
    .ofDevice(deviceId)
    .filter(({ data }) => data.kind === 'device_status_changed' && (data.config.status ?? status) === status);
  if (armed.length === 0) return;
  const device = await devices.findById(deviceId);
  if (device === null || device.status !== status || device.status_at === null) return;
  if (clock.now() - device.status_at > freshStatusMs) return;
  for (const trigger of armed) {
    fire(trigger, deviceId, { status }, `status ${trigger.nodeId} ${deviceId} ${status} ${device.status_at}`);
  }
}

function firingOf(
  { data }: ArmedTrigger,
  state: State,
  report: Extract<DeviceReport, { kind: 'state' | 'event' }>,
): Firing | null {
  if (data.kind === 'device_event_received' && report.kind === 'event') return fireOnEvent(data.config, report);
  const isState = data.kind === 'device_state_changed' || data.kind === 'zone_state_changed';
  if (isState && report.kind === 'state') return fireOnState(data.config, state, report);
  return null;
}

type ConfigOf<K extends TriggerData['kind']> = Extract<TriggerData, { kind: K }>['config'];
/** Why a trigger fired. */
type Firing = Pick<RunTrigger, 'data'>['data'];

/** Confirmations and progress are answers to the station and start no run. */
const answers = new Set<unknown>(['command_ack', 'ota_progress']);

/** @returns null when the trigger does not fire. Pure. */
export function fireOnEvent(
  config: ConfigOf<'device_event_received'>,
  report: Extract<DeviceReport, { kind: 'event' }>,
): Firing | null {
  const { action } = report.data;
  if (config.action === undefined ? answers.has(action) : config.action !== action) return null;
  if (config.event !== undefined && config.event !== report.eventKind) return null;
  return { event: report.eventKind, data: shortened(report.data) };
}

/**
 * Fires when the value begins to match, not on each report of it.
 * @param before state of the device without the report.
 * @returns null when the trigger does not fire. Pure.
 */
export function fireOnState(
  config: Pick<ConfigOf<'device_state_changed'>, 'capability' | 'operator' | 'value'>,
  before: State,
  report: Extract<DeviceReport, { kind: 'state' }>,
): Firing | null {
  const { capability, operator, value } = config;
  if (!Object.hasOwn(report.state, capability)) return null;
  const from = ownValue(before, capability);
  const to = ownValue(report.state, capability);
  const fired =
    operator === undefined || value === undefined
      ? !isSame(from, to)
      : compare(operator, to, value) && !compare(operator, from, value);
  return fired ? { capability, from: shortened(from ?? null), to: shortened(to) } : null;
}

const isSame = (left: unknown, right: unknown): boolean =>
  left === right || (typeof left === 'object' && JSON.stringify(left) === JSON.stringify(right));

const longest = 1_000;
/** Limit of the stored value of a run: a device may send much. */
const shortened = (value: unknown): unknown => {
  const text = JSON.stringify(value) ?? 'null';
  return text.length <= longest ? value : `${text.slice(0, longest)}…`;
};
