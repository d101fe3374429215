import { type Clock, isoTime } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
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
import type { DeviceTypes } from '../core/type-registry.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { createSceneStore } from '../store/scene-store.ts';
import { createEffects, createReach } from './actions.ts';
import { type AutomationService, createAutomationService } from './automation-service.ts';
import { createAutomationStore } from './automation-store.ts';
import { toRunSummary } from './bodies.ts';
import { type ConditionWaits, type ConditionWaitsParts, watchConditionWaits } from './condition-waits.ts';
import type { ConditionFacts } from './flow-conditions.ts';
import { localTime } from '../core/local-time.ts';
import { createRegistry, type Registry } from './registry.ts';
import { createRunStore, type NotificationRow, type RunRow, type RunStore } from './run-store.ts';
import { timeOf } from './run-rows.ts';
import { createRunner, type Runner } from './runner.ts';
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
  const { store, devices, types, commands, events, broker, where, trustedTime = alwaysTrusted, clock, logger } = parts;
  const stack = new AsyncDisposableStack();
  const automations = createAutomationStore({ db: store.db, clock });
  const runs = createRunStore(store);
  const registry = createRegistry(automations);
  const scenes = createSceneStore(store.db);
  const newId = createEventIds(() => clock.now());
  const messages = createMessages(parts);
  let following: Following | null = null;
  const reach = stack.use(createReach({ events, isReady: broker.isReady, comesBack: broker.isEmbedded, clock }));
  const webhooks = stack.use(createWebhookClient({ allow: parts.webhookAllow, proxy: parts.proxy }));
  const facts = (deviceId: string | null) => factsOf(deviceId, parts);
  const runner = stack.use(
    createRunner({
      runs,
      perform: createEffects({ devices, types, scenes, commands, events, webhooks, reach, clock }),
      factsOf: facts,
      nameOf: async (id) => (await automations.find(id))?.name ?? '',
      newId,
      onRun: messages.run,
      onNotification: messages.notification,
      onCondition: () => following?.waits.note(),
      onWaiting: (runId, until, time) => following?.timer.noteWaiting(runId, until, time),
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
    factsOf: facts,
    newId,
    onChanged: (automationId) => {
      following?.recheck();
      messages.changed(automationId);
    },
    onRun: messages.run,
    clock,
  });
  return {
    service,
    begin: async () => {
      await registry.reload();
      following = follow(stack, parts, { service, runs, runner, registry, newId });
    },
    recheck: async () => {
      await registry.reload();
      following?.recheck();
    },
    prune: () => runs.prune(keptRuns, trustedTime.areAgesTrue() ? clock.now() - eventsKeptMs : 0),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** What `begin` starts. */
type Following = { timer: Timer; waits: ConditionWaits; recheck(): void };

type Followed = {
  service: AutomationService;
  runs: RunStore;
  runner: Runner;
  registry: Registry;
  newId: () => string;
};

/** Starts handling triggers, delays, schedules and waits. */
function follow(stack: AsyncDisposableStack, parts: AutomationsParts, followed: Followed): Following {
  const { devices, events, where, leadership, trustedTime = alwaysTrusted, isShared, clock, logger } = parts;
  const { service, runs, runner, registry, newId } = followed;
  const broken = stack.use(watchBroken(service, parts));
  stack.use(listenForTriggers({ events, devices, registry, runner, newId, clock, logger }));
  let timer: Timer | null = null;
  const meet: ConditionWaitsParts['meet'] = (run, nodeId, judgement) =>
    runner.meet(run, nodeId, judgement, timer?.takeTime(run.id) ?? timeOf(clock));
  const facts = (deviceId: string | null) => factsOf(deviceId, parts);
  const waits = stack.use(watchConditionWaits({ runs, events, factsOf: facts, meet, clock, logger }));
  const timed = { runs, runner, registry, leadership, where, conditions: waits, isShared, clock, logger };
  const timing = stack.use(startTimer(timed));
  timer = timing;
  /** A device may have come to another zone. */
  const reloadZones = (): Promise<void> =>
    registry.reload().catch((error: unknown) => {
      logger.failed('zones of automations', error);
    });
  stack.use(
    events.subscribe(({ kind }) => {
      if (kind === 'added' || kind === 'changed') void reloadZones();
    }),
  );
  const onStep = (stepMs: number): void => {
    runner.noteStep(stepMs);
    timing.noteStep();
  };
  stack.use(trustedTime.subscribe(onStep));
  const recheck = (): void => {
    timing.nudge();
    broken.check();
  };
  return { timer: timing, waits, recheck };
}

/** What browsers are told about automations. */
function createMessages({ events, clock }: AutomationsParts) {
  const broadcast = (message: ServerMessage, key: string): void => events.emit({ kind: 'message', message, key });
  const at = (): string => isoTime(clock.now());
  return {
    run: (row: RunRow): void =>
      broadcast({ type: 'automation_run', at: at(), run: toRunSummary(row) }, `automation_run ${row.id}`),
    changed: (automationId: string): void =>
      broadcast({ type: 'automation_changed', at: at(), automationId }, `automation_changed ${automationId}`),
    notification: (row: NotificationRow): void => broadcast(notificationMessage(row), `notification ${row.id}`),
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

/** Checks again after an automation was changed. */
type BrokenWatch = Disposable & { check(): void };

const namesShown = 20;

/** The condition `automations_broken`: published automations whose devices or commands are gone. */
function watchBroken(service: AutomationService, { conditions, events, logger }: AutomationsParts): BrokenWatch {
  const runner = createExclusiveRunner();
  let isWaiting = false;
  const judge = async (): Promise<void> => {
    isWaiting = false;
    const broken = await service.broken();
    const names = broken.slice(0, namesShown).map(({ name }) => name);
    conditions.set('automations_broken', broken.length > 0, { names, count: broken.length });
  };
  const check = (): void => {
    // One that waits sees this change too.
    if (isWaiting) return;
    isWaiting = true;
    runner.run(judge).catch((error: unknown) => {
      logger.failed('broken automations', error);
    });
  };
  const subscription = events.subscribe(({ kind }) => {
    if (kind === 'added' || kind === 'changed' || kind === 'removed') check();
  });
  check();
  return { check, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
