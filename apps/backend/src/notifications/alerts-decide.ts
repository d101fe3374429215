import type { Alert, NamedDevice } from './alert.ts';

/**
 * What people must be told now. All durations are monotonic and begin anew with each start of the program: a jump of the clock changes
 * nothing, and after a start every device has the whole time to connect.
 */
export type AlertFacts = {
  rules: {
    offlineMs: number | null;
    batteryPercent: number | null;
    updates: boolean;
    conditions: boolean;
  };
  /** Since this program can see devices: it leads, and has a connection to the broker. */
  watchingMs: number;
  devices: readonly DeviceFact[];
  conditions: readonly ConditionFact[];
  /** Whether the agent answered; without it its conditions are unknown. */
  isAgentKnown: boolean;
  /** Ended operations of the stack, the newest first; null: the agent did not answer. */
  operations: readonly OperationFact[] | null;
  /** Rollouts of firmware that ended because devices failed. */
  stoppedRollouts: readonly RolloutFact[];
  /** What people were told, by subject. */
  told: ReadonlyMap<string, ToldFact>;
};

export type DeviceFact = NamedDevice & {
  isOnline: boolean;
  /** Its firmware is being updated: it restarts. */
  isUpdating: boolean;
  /** How long it has been online or offline. */
  forMs: number;
  /** Percent; null: it reports none. */
  battery: number | null;
};
/** `forMs`: how long it stands, or how long it is over. */
export type ConditionFact = {
  id: string;
  source: 'station' | 'agent' | 'cloud';
  severity: 'info' | 'warning' | 'fault';
  stands: boolean;
  forMs: number;
};
export type OperationFact = {
  id: string;
  kind: 'update' | 'rollback' | 'bootstrap';
  result: 'updated' | 'rolled_back' | 'failed';
  from: string | null;
  to: string | null;
  /** Why it failed. */
  reason: string | null;
  /** Why the agent itself went back; absent: a person asked, or it is no rollback. */
  because?: object;
};
export type RolloutFact = { id: string; firmware: string; names: Readonly<Record<string, string>>; version: string };
/** `forMs`: since it was told, or since this program started. */
export type ToldFact = { state: string; forMs: number };

export type AlertDecision = {
  alerts: Alert[];
  /** The states to be kept, in the same transaction as the messages. */
  remember: Map<string, string>;
  forget: string[];
};

const minute = 60_000;
/** After a start, and after an outage of the broker, devices need this long to connect. */
export const connectMs = 3 * minute;
/** A device is back when it stays online this long. */
const backMs = 2 * minute;
/** A device that goes offline again within this time is unstable: that is told once, until it stays online as long. */
export const stableMs = 60 * minute;
/** Devices that follow one another share a message. */
export const gatherMs = 5 * minute;
/** A condition must stand this long, so that a short one tells nobody; longer when it was there lately. */
export const standMs = minute;
const standAgainMs = 10 * minute;
/** A battery is good again when it has this many percent more. */
const batteryMargin = 10;

export function decideAlerts(facts: AlertFacts): AlertDecision {
  const decision: AlertDecision = { alerts: [], remember: new Map(), forget: [] };
  decideOutages(facts, decision);
  decideBatteries(facts, decision);
  decideConditions(facts, decision);
  decideOperations(facts, decision);
  decideRollouts(facts, decision);
  return decision;
}

const deviceKey = (id: string): string => `device:${id}`;
const batteryKey = (id: string): string => `battery:${id}`;
const conditionKey = ({ source, id }: ConditionFact): string => `condition:${source}:${id}`;
const operationKey = 'operation';

type Move = { device: DeviceFact; to: 'offline' | 'unstable' | 'back'; lateMs: number };

function decideOutages({ rules, watchingMs, devices, told }: AlertFacts, decision: AlertDecision): void {
  const present = new Set(devices.map(({ id }) => deviceKey(id)));
  const { offlineMs } = rules;
  for (const key of told.keys()) {
    if (key.startsWith('device:') && (offlineMs === null || !present.has(key))) decision.forget.push(key);
  }
  if (offlineMs === null || watchingMs < connectMs) return;
  const due: Move[] = [];
  let leaving = false;
  let returning = false;
  for (const device of devices) {
    const state = told.get(deviceKey(device.id)) ?? null;
    const move = nextMove(device, state?.state ?? null, offlineMs);
    if (move !== null && move.lateMs >= 0) due.push(move);
    else if (move !== null && move.to === 'back') returning = true;
    else if (move !== null) leaving = true;
    else if (state?.state === 'back' && device.isOnline && Math.min(device.forMs, state.forMs) >= stableMs)
      decision.forget.push(deviceKey(device.id));
  }
  tellMoves(
    due.filter(({ to }) => to !== 'back'),
    leaving,
    decision,
  );
  tellMoves(
    due.filter(({ to }) => to === 'back'),
    returning,
    decision,
  );
}

/** What comes next for a device, and how long it is due; negative: not yet. */
function nextMove(device: DeviceFact, state: string | null, offlineMs: number): Move | null {
  const { isOnline, isUpdating, forMs } = device;
  if (!isOnline) {
    if (isUpdating || state === 'offline' || state === 'unstable') return null;
    return { device, to: state === 'back' ? 'unstable' : 'offline', lateMs: forMs - offlineMs };
  }
  if (state !== 'offline' && state !== 'unstable') return null;
  return { device, to: 'back', lateMs: forMs - (state === 'unstable' ? stableMs : backMs) };
}

/** @param othersFollow others are on their way into the same message: it waits for them, but not long. */
function tellMoves(due: readonly Move[], othersFollow: boolean, { alerts, remember }: AlertDecision): void {
  if (due.length === 0) return;
  if (othersFollow && Math.max(...due.map(({ lateMs }) => lateMs)) < gatherMs) return;
  for (const [to, kind] of [
    ['offline', 'devices_offline'],
    ['unstable', 'devices_unstable'],
    ['back', 'devices_back'],
  ] as const) {
    const devices = due.filter((move) => move.to === to).map(({ device: { id, name } }) => ({ id, name }));
    if (devices.length === 0) continue;
    alerts.push({ kind, devices });
    for (const { id } of devices) remember.set(deviceKey(id), to);
  }
}

function decideBatteries({ rules, devices, told }: AlertFacts, { alerts, remember, forget }: AlertDecision): void {
  const limit = rules.batteryPercent;
  const present = new Set(devices.map(({ id }) => batteryKey(id)));
  for (const key of told.keys()) {
    if (key.startsWith('battery:') && (limit === null || !present.has(key))) forget.push(key);
  }
  if (limit === null) return;
  const low: NamedDevice[] = [];
  for (const { id, name, battery } of devices) {
    const isTold = told.has(batteryKey(id));
    if (battery === null) continue;
    if (!isTold && battery <= limit) {
      low.push({ id, name });
      remember.set(batteryKey(id), 'low');
    } else if (isTold && battery >= Math.min(limit + batteryMargin, 100)) forget.push(batteryKey(id));
  }
  if (low.length > 0) alerts.push({ kind: 'battery_low', devices: low });
}

function decideConditions(facts: AlertFacts, { alerts, remember, forget }: AlertDecision): void {
  const { rules, watchingMs, conditions, isAgentKnown, told } = facts;
  const raised: ConditionFact[] = [];
  const over: ConditionFact[] = [];
  for (const condition of conditions) {
    const key = conditionKey(condition);
    const state = told.get(key) ?? null;
    const isLoud = condition.severity !== 'info' && rules.conditions;
    if (condition.stands) {
      const needsMs = state?.state === 'over' ? standAgainMs : standMs;
      if (isLoud && state?.state !== 'raised' && condition.forMs >= needsMs) raised.push(condition);
    } else if (state?.state === 'over') {
      if (Math.min(condition.forMs, state.forMs) >= stableMs) forget.push(key);
    } else if (state !== null) {
      // After a start it takes a while until the facts are known again.
      const isKnown = watchingMs >= connectMs && (condition.source !== 'agent' || isAgentKnown);
      if (isKnown && condition.forMs >= standMs) over.push(condition);
    }
  }
  for (const condition of raised) remember.set(conditionKey(condition), 'raised');
  for (const condition of over) remember.set(conditionKey(condition), 'over');
  const ids = (some: readonly ConditionFact[]): string[] => some.map(({ id }) => id);
  const isFault = raised.some(({ severity }) => severity === 'fault');
  if (raised.length > 0) alerts.push({ kind: 'conditions_raised', conditions: ids(raised), isFault });
  if (over.length > 0 && rules.conditions)
    alerts.push({ kind: 'conditions_over', conditions: ids(over), isFault: false });
}

/** Told by the agent's own history: nothing is lost while this backend is replaced by the update itself. */
function decideOperations({ rules, operations, told }: AlertFacts, { alerts, remember }: AlertDecision): void {
  const newest = operations?.[0];
  if (operations === null || newest === undefined) return;
  const known = told.get(operationKey)?.state ?? null;
  if (known === newest.id) return;
  remember.set(operationKey, newest.id);
  // The first look at a station tells nothing: its past is not news.
  if (known === null || !rules.updates) return;
  const at = operations.findIndex(({ id }) => id === known);
  const fresh = at < 0 ? [newest] : operations.slice(0, at);
  for (const operation of fresh.toReversed()) {
    const alert = alertOf(operation);
    if (alert !== null) alerts.push(alert);
  }
}

function alertOf({ kind, result, from, to, reason, because }: OperationFact): Alert | null {
  if (result === 'updated') return null;
  const isBack = because !== undefined && reason === null && result === 'rolled_back';
  if (isBack) return { kind: 'update_rolled_back', version: from, kept: to };
  if (kind === 'rollback') return result === 'failed' ? { kind: 'rollback_failed', version: to, kept: from } : null;
  if (result === 'rolled_back') return { kind: 'update_rolled_back', version: to, kept: from };
  return { kind: 'update_failed', version: to, kept: from };
}

const rolloutsKey = 'rollouts';
const rolloutKey = (id: string): string => `rollout:${id}`;

/** Each is told once. The first look at a station tells nothing: its past is not news. */
function decideRollouts(
  { rules, stoppedRollouts, told }: AlertFacts,
  { alerts, remember, forget }: AlertDecision,
): void {
  const isFirst = !told.has(rolloutsKey);
  if (isFirst) remember.set(rolloutsKey, 'watched');
  for (const { id, ...rollout } of stoppedRollouts) {
    if (told.has(rolloutKey(id))) continue;
    remember.set(rolloutKey(id), 'stopped');
    if (!isFirst && rules.updates) alerts.push({ kind: 'firmware_stopped', ...rollout });
  }
  const present = new Set(stoppedRollouts.map(({ id }) => rolloutKey(id)));
  for (const key of told.keys()) if (key.startsWith(rolloutKey('')) && !present.has(key)) forget.push(key);
}
