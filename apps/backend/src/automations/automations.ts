import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { OutgoingProxy } from '@station/kit/outgoing-proxy';
import { keptRuns } from '@station/protocol/automations';
import type { ServerMessage } from '@station/protocol/socket';
import { createWebhookClient } from './adapters/webhook-client.ts';
import type { Commands } from '../core/commands.ts';
import { type DeviceEvents, eventsKeptMs } from '../core/device-events.ts';
import { readState } from '../core/device-state.ts';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import type { BackendConditions } from '../core/conditions.ts';
import { createEventIds } from '../core/event-ids.ts';
import type { Leadership } from '../core/leadership.ts';
import type { Store } from '../store/database.ts';
import type { DeviceTypes } from '../core/device-types.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { createSceneStore } from '../store/scene-store.ts';
import { createEffects, createReach } from './actions.ts';
import { type AutomationService, createAutomationService } from './automation-service.ts';
import { createAutomationStore } from './automation-store.ts';
import { toRunSummary } from './bodies.ts';
import { type ConditionWaits, type ConditionWaitsParts, watchConditionWaits } from './condition-waits.ts';
import type { ConditionFacts } from './conditions.ts';
import { localTime } from '../core/local-time.ts';
import { type BrokenWatch, watchBroken } from './broken-watch.ts';
import { createRegistry } from './registry.ts';
import { createRunStore, type NotificationRow, type RunRow } from './run-store.ts';
import { timeOf } from './run-rows.ts';
import { createRunner } from './runner.ts';
import type { Whereabouts } from './schedule.ts';
import { sunDays } from './sun.ts';
import { startTimer, type Timer } from './timer.ts';
import { listenForTriggers } from './trigger-listener.ts';

export type Automations = AsyncDisposable & {
  service: AutomationService;
  /** Resumes unfinished runs, and starts handling triggers, delays and schedules. */
  begin(): Promise<void>;
  /** Zones, scenes, or the place of the station, changed. */
  recheck(): Promise<void>;
  /** Deletes old runs and notifications. */
  prune(): Promise<void>;
};

export type AutomationsParts = {
  store: Pick<Store, 'db' | 'kind'>;
  devices: DeviceStore;
  types: DeviceTypes;
  commands: Pick<Commands, 'send'>;
  events: DeviceEvents;
  trustedTime?: TrustedTime;
  broker: { isReady: () => boolean; /** Whether the broker runs in this process. */ isEmbedded: boolean };
  where: () => Promise<Whereabouts>;
  leadership: Leadership;
  conditions: Pick<BackendConditions, 'set'>;
  /** Whether other backends work on the same database. */
  isShared: boolean;
  /** Private addresses that webhooks may call. */
  webhookAllow: readonly string[];
  proxy: OutgoingProxy;
  clock: Clock;
  logger: BackendLogger;
};

/** Automations of the station (contracts, section 14; docs/adr/0011). Nothing runs before `begin`. */
export function createAutomations(parts: AutomationsParts): Automations {
  const { store, devices, types, commands, events, broker, where, leadership, isShared, clock, logger } = parts;
  const stack = new AsyncDisposableStack();
  const automations = createAutomationStore({ db: store.db, clock });
  const runs = createRunStore(store);
  const registry = createRegistry(automations);
  const scenes = createSceneStore(store.db);
  const newId = createEventIds(() => clock.now());
  const broadcast = (message: ServerMessage, key: string): void => events.emit({ kind: 'message', message, key });
  const onRun = (row: RunRow): void => {
    const run = toRunSummary(row);
    broadcast({ type: 'automation_run', at: isoTime(clock.now()), run }, `automation_run ${row.id}`);
  };
  const onChanged = (automationId: string): void => {
    timer?.nudge();
    broken?.check();
    broadcast(
      { type: 'automation_changed', at: isoTime(clock.now()), automationId },
      `automation_changed ${automationId}`,
    );
  };
  let timer: Timer | null = null;
  let broken: BrokenWatch | null = null;
  let waits: ConditionWaits | null = null;

  const reach = stack.use(createReach({ events, isReady: broker.isReady, comesBack: broker.isEmbedded, clock }));
  const webhooks = stack.use(createWebhookClient({ allow: parts.webhookAllow, proxy: parts.proxy }));
  const runner = stack.use(
    createRunner({
      runs,
      perform: createEffects({ devices, types, scenes, commands, events, webhooks, reach, clock }),
      factsOf: (deviceId) => factsOf(deviceId, parts),
      nameOf: async (id) => (await automations.find(id))?.name ?? '',
      newId,
      onRun,
      onNotification: (row) => broadcast(notificationMessage(row), `notification ${row.id}`),
      onCondition: () => waits?.note(),
      onWaiting: (runId, until, time) => timer?.noteWaiting(runId, until, time),
      clock,
      logger,
    }),
  );
  const service = createAutomationService({
    automations,
    runs,
    runner,
    registry,
    devices,
    types,
    scenes,
    where,
    factsOf: (deviceId) => factsOf(deviceId, parts),
    newId,
    onChanged,
    onRun,
    clock,
  });
  const recheck = async (): Promise<void> => {
    await registry.reload();
    timer?.nudge();
    broken?.check();
  };
  /** A device may have come to another zone. */
  const reloadZones = (): Promise<void> =>
    registry.reload().catch((error: unknown) => {
      logger.failed('zones of automations', error);
    });
  return {
    service,
    begin: async () => {
      await registry.reload();
      broken = stack.use(watchBroken({ service, conditions: parts.conditions, events, logger }));
      stack.use(listenForTriggers({ events, devices, registry, runner, newId, clock, logger }));
      const meet: ConditionWaitsParts['meet'] = (run, nodeId, judgement) =>
        runner.meet(run, nodeId, judgement, timer?.takeTime(run.id) ?? timeOf(clock));
      const facts = (deviceId: string | null) => factsOf(deviceId, parts);
      const conditions = stack.use(watchConditionWaits({ runs, events, factsOf: facts, meet, clock, logger }));
      waits = conditions;
      const timed = { runs, runner, registry, leadership, where, conditions, isShared, clock, logger };
      const timing = stack.use(startTimer(timed));
      timer = timing;
      stack.use(
        events.subscribe(({ kind }) => {
          if (kind === 'added' || kind === 'changed') void reloadZones();
        }),
      );
      const onStep = (stepMs: number): void => {
        runner.noteStep(stepMs);
        timing.noteStep();
      };
      stack.use((parts.trustedTime ?? alwaysTrusted).subscribe(onStep));
    },
    recheck,
    prune: () =>
      runs.prune(keptRuns, (parts.trustedTime ?? alwaysTrusted).areAgesTrue() ? clock.now() - eventsKeptMs : 0),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function factsOf(deviceId: string | null, { devices, where, clock }: AutomationsParts): Promise<ConditionFacts> {
  const device = deviceId === null ? null : await devices.findById(deviceId);
  const state = device && readState(device.state);
  const { timeZone, place } = await where();
  const now = clock.now();
  return { state, time: localTime(now, timeZone), sun: place && sunDays(now, timeZone, place) };
}

const notificationMessage = (row: NotificationRow): ServerMessage => ({
  type: 'notification',
  at: isoTime(row.at),
  id: row.id,
  automationId: row.automation_id,
  automationName: row.automation_name,
  message: row.message,
});
