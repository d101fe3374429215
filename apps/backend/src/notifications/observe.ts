import { sql } from 'kysely';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import { HistoryEntry, ConditionStatus } from '@station/protocol/agent-api';
import { ownValue } from '@station/protocol/own-value';
import type { NotificationRules } from '@station/protocol/notifications';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import type { BackendConditions } from '../core/conditions.ts';
import { readState } from '../core/device-state.ts';
import { numberOf } from '../core/number-text.ts';
import type { LoggedReports } from '../store/logged-reports.ts';
import type { Database } from '../store/schema.ts';
import type { AlertFacts, ConditionFact, DeviceFact, RolloutFact, ToldFact } from './alerts-decide.ts';
import type { Told } from './notification-store.ts';

/** The part of the agent's status that notifications need; a newer agent may send more. */
const AgentFacts = Type.Object({ history: Type.Array(HistoryEntry), conditions: Type.Array(ConditionStatus) });
type AgentFacts = Static<typeof AgentFacts>;

const agentTimeoutMs = 5_000;

export type ObserverParts = {
  db: Database;
  /** What is newer than the tables; unset: nothing. */
  logged?: Pick<LoggedReports, 'over'>;
  conditions: Pick<BackendConditions, 'list'>;
  /** Null: this backend has none. */
  agent: Pick<AgentClient, 'call'> | null;
  /** Conditions of the cloud link; null: another backend holds it. */
  cloudConditions: () => Promise<readonly { id: string; severity: ConditionFact['severity'] }[] | null>;
  /** Names of a device type, by language. */
  typeNames: (type: string) => Readonly<Record<string, string>>;
  /** Whether messages of devices arrive. */
  isBrokerReady: () => boolean;
  told: () => Promise<Told[]>;
  clock: Pick<Clock, 'monotonic'>;
};

export type Observer = {
  observe(rules: NotificationRules): Promise<AlertFacts>;
  /** What was observed before no longer counts: another replica led meanwhile. */
  restart(): void;
};

/** Collects the facts. It measures how long each is so with the monotonic clock, so a jump of the wall clock is no outage. */
export function createObserver(parts: ObserverParts): Observer {
  const { clock } = parts;
  const watches = new Map<string, { value: string; sinceMs: number }>();
  let watchingSinceMs: number | null = null;
  /** Conditions that stood while this program watched, so that their ends are seen. */
  const seen = new Map<string, SeenCondition>();
  const forMs = (key: string, value: string): number => {
    const known = watches.get(key);
    if (known?.value === value) return clock.monotonic() - known.sinceMs;
    watches.set(key, { value, sinceMs: clock.monotonic() });
    return 0;
  };
  return {
    restart: () => {
      watches.clear();
      seen.clear();
      watchingSinceMs = null;
    },
    observe: async (rules) => {
      const [rows, updating, stopped, told, agent, cloud] = await Promise.all([
        readDevices(parts.db),
        readUpdating(parts.db),
        readStopped(parts),
        parts.told(),
        askAgent(parts.agent),
        parts.cloudConditions(),
      ]);
      const known = parts.logged?.over(rows) ?? rows;
      const isWatching = parts.isBrokerReady();
      if (!isWatching) watchingSinceMs = null;
      else watchingSinceMs ??= clock.monotonic();
      const devices = known.map((row): DeviceFact => ({
        id: row.id,
        name: row.name,
        battery: batteryOf(row.state),
        isUpdating: updating.has(row.id),
        isOnline: row.status !== 'offline',
        // While no message can arrive, an outage of a device cannot be told from that of the broker.
        forMs: isWatching ? forMs(`device ${row.id}`, row.status === 'offline' ? 'offline' : 'online') : 0,
      }));
      const lists = { station: parts.conditions.list(), agent: agent?.conditions ?? null, cloud };
      return {
        rules: rulesOf(rules),
        watchingMs: watchingSinceMs === null ? 0 : clock.monotonic() - watchingSinceMs,
        devices,
        conditions: conditionFacts(lists, told, { seen, forMs }),
        isAgentKnown: agent !== null,
        operations: agent?.history ?? null,
        stoppedRollouts: stopped,
        told: new Map(
          told.map(({ key, state }): [string, ToldFact] => [key, { state, forMs: forMs(`told ${key}`, state) }]),
        ),
      };
    },
  };
}

const sources = ['station', 'agent', 'cloud'] as const;

type SeenCondition = Pick<ConditionFact, 'id' | 'source' | 'severity'>;
/** Null: nobody knows them now. */
type ConditionLists = Record<
  (typeof sources)[number],
  readonly { id: string; severity: ConditionFact['severity'] }[] | null
>;

/** Those that stand, and those that stood and are over. */
function conditionFacts(
  lists: ConditionLists,
  told: readonly Told[],
  { seen, forMs }: { seen: Map<string, SeenCondition>; forMs: (key: string, value: string) => number },
): ConditionFact[] {
  const standing = new Map<string, ConditionFact>();
  for (const source of sources) {
    for (const { id, severity } of lists[source] ?? []) {
      // A page shows it: a message about channels that fail would come through them when they work again.
      if (id === 'notifications_failing') continue;
      const condition = { id, source, severity };
      const key = `condition:${source}:${id}`;
      seen.set(key, condition);
      standing.set(key, { ...condition, stands: true, forMs: forMs(key, 'stands') });
    }
  }
  for (const { key } of told) {
    const [kind, source, id = ''] = key.split(':');
    if (kind !== 'condition' || seen.has(key)) continue;
    seen.set(key, { id, source: sources.find((one) => one === source) ?? 'station', severity: 'warning' });
  }
  return [...seen].map(([key, condition]): ConditionFact => {
    const stands = standing.get(key);
    if (stands !== undefined) return stands;
    const isUnknown = lists[condition.source] === null;
    return { ...condition, stands: false, forMs: isUnknown ? 0 : forMs(key, 'over') };
  });
}

const minuteMs = 60_000;
const rulesOf = ({ offlineMinutes, ...rest }: NotificationRules): AlertFacts['rules'] => ({
  ...rest,
  offlineMs: offlineMinutes === null ? null : offlineMinutes * minuteMs,
});

type DeviceColumns = { id: string; name: string; status: 'unknown' | 'online' | 'offline'; state: string };

/** The states of most devices have no battery, and are not read. */
const readDevices = (db: Database): Promise<DeviceColumns[]> =>
  db
    .selectFrom('devices')
    .select([
      'id',
      'name',
      'status',
      sql<string>`case when state like '%"battery"%' then state else '{}' end`.as('state'),
    ])
    .orderBy('name')
    .orderBy('id')
    .execute();

/** By people they are aborted, by the station stopped. */
async function readStopped({ db, typeNames }: ObserverParts): Promise<RolloutFact[]> {
  const rollouts = db.selectFrom('firmware_rollouts').select(['id', 'type', 'version']).where('state', '=', 'stopped');
  return (await rollouts.orderBy('id').execute()).map(({ id, type, version }) => {
    return { id, firmware: type, names: typeNames(type), version };
  });
}

async function readUpdating(db: Database): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('firmware_targets').select('device_id').where('state', '=', 'updating').execute();
  return new Set(rows.map(({ device_id: id }) => id));
}

/** Device types call it `battery`, in percent. */
function batteryOf(state: string): number | null {
  const battery = numberOf(ownValue(readState(state), 'battery'));
  return battery !== null && battery >= 0 && battery <= 100 ? battery : null;
}

/** Null when it does not answer, for example while it is updated. */
async function askAgent(agent: ObserverParts['agent']): Promise<AgentFacts | null> {
  if (agent === null) return null;
  try {
    const { statusCode, body } = await agent.call('GET', '/status', { timeoutMs: agentTimeoutMs });
    return statusCode === 200 && Value.Check(AgentFacts, body) ? body : null;
  } catch {
    return null;
  }
}
