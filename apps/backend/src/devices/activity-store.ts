import type { ExpressionBuilder } from 'kysely';
import {
  type ActivityBy,
  type ActivityTopic,
  type CommandEntry,
  deviceEvents,
  peopleEvents,
} from '@station/protocol/activity';
import { consumerKinds, consumerNames } from '@station/protocol/consumers';
import { isManager, type Role } from '@station/protocol/roles';
import { inZones } from '../store/device-store.ts';
import type { Database, Schema } from '../store/schema.ts';
import type { DeviceEventsTable } from '../history/history-tables.ts';

type Page = {
  /** Continues before the entry with this id; null starts with the newest. */
  before: string | null;
  limit: number;
};

export type ActivityQuery = Page & {
  /** Who reads it. */
  reader: { userId: string; role: Role };
  /** Only what devices report and do that are in these zones now; null: everything. */
  zones: readonly string[] | null;
  /** Null: about everything. */
  about: ActivityTopic | null;
  /** Null: of all devices, and of what is no device. */
  deviceId: string | null;
  /** What this person did, and what concerns them; null: of everybody. */
  userId: string | null;
};

export type ActivityRow = Omit<DeviceEventsTable, 'device_id'> & { device_id: string | null; by?: ActivityBy | null };

export type ActivityStore = {
  /** Newest first: events of devices and the station, commands, and what automations have to say. */
  page(query: ActivityQuery): Promise<ActivityRow[]>;
  /** Events that the device itself reported, newest first. */
  ofDevice(query: Page & { deviceId: string }): Promise<ActivityRow[]>;
};

/** Technical actions that do not interest people: answers to commands, and each step of a download. */
const technicalActions = ['command_ack', 'ota_progress'];

export function createActivityStore(db: Database): ActivityStore {
  return {
    page: async (query) => {
      const read = query.zones === null ? sources : sourcesOfZones;
      const found = await Promise.all(read.map((source) => source(db, query)));
      // Ids sort by time.
      return found
        .flat()
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, query.limit);
    },
    ofDevice: (query) => reportedEvents(db, query),
  };
}

type Source = (db: Database, query: ActivityQuery) => Promise<ActivityRow[]>;

const isAbout = ({ about }: ActivityQuery, ...topics: ActivityTopic[]): boolean =>
  about === null || topics.includes(about);

function reportedEvents(
  db: Database,
  { deviceId, zones = null, before, limit }: Page & { deviceId: string | null; zones?: ActivityQuery['zones'] },
) {
  let query = db.selectFrom('device_events').selectAll();
  // Filtered here and not by the client: one update would fill whole pages with them.
  for (const action of technicalActions) query = query.where('data', 'not like', `%"action":"${action}"%`);
  if (deviceId !== null) query = query.where('device_id', '=', deviceId);
  if (zones !== null) query = query.where('device_id', 'in', devicesIn(db, zones));
  if (before !== null) query = query.where('id', '<', before);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

const devicesIn = (db: Database, zones: readonly string[]) =>
  db.selectFrom('devices').select('id').where(inZones(zones));

const readDeviceEvents: Source = async (db, query) =>
  isAbout(query, 'devices') && query.userId === null ? reportedEvents(db, query) : [];

/**
 * Commands without a cause are the station's own; their ids do not sort by time. Who sees some zones only does not
 * learn what others did.
 */
const readCommands: Source = async (db, query) => {
  const { about, deviceId, userId, zones, reader, before, limit } = query;
  const isOfOthers = about === 'automations' || (userId !== null && userId !== reader.userId);
  if (zones !== null && isOfOthers) return [];
  if (!isAbout(query, 'devices', 'automations', 'people')) return [];
  let commands = db
    .selectFrom('device_commands as command')
    .leftJoin('users', 'users.id', 'command.user_id')
    .leftJoin('automations', 'automations.id', 'command.cause_id')
    .leftJoin('scenes', 'scenes.id', 'command.cause_id')
    .select(['command.id', 'command.device_id', 'command.action', 'command.params', 'command.status', 'command.at'])
    .select(['command.cause', 'command.cause_id', 'command.user_id'])
    .select(['users.name as person', 'automations.name as automation', 'scenes.name as scene'])
    .where('command.cause', 'is not', null);
  if (about === 'automations') commands = commands.where('command.cause', '=', 'automation');
  if (about === 'people')
    commands =
      zones === null
        ? commands.where('command.user_id', 'is not', null)
        : commands.where('command.user_id', '=', reader.userId);
  if (zones !== null) commands = commands.where('command.device_id', 'in', devicesIn(db, zones));
  if (deviceId !== null) commands = commands.where('command.device_id', '=', deviceId);
  if (userId !== null) commands = commands.where('command.user_id', '=', userId);
  if (before !== null) commands = commands.where('command.id', '<', before);
  return (await commands.orderBy('command.id', 'desc').limit(limit).execute()).map((row): ActivityRow => {
    const params = JSON.parse(row.params ?? '{}') as CommandEntry['params'];
    const data: CommandEntry = { action: row.action, params, status: row.status };
    const isTold = zones === null || row.user_id === reader.userId;
    return { ...entryOf(row, 'command', data), device_id: row.device_id, by: isTold ? causeOf(row) : null };
  });
};

type CauseColumns = {
  cause: ActivityBy['kind'] | null;
  cause_id: string | null;
  user_id: string | null;
  person: string | null;
  automation: string | null;
  scene: string | null;
};

function causeOf({ cause, cause_id: id, user_id, person, automation, scene }: CauseColumns): ActivityBy | null {
  switch (cause) {
    case 'person':
      return { kind: 'person', id: user_id, name: person, person };
    case 'automation':
      return { kind: 'automation', id, name: automation, person: null };
    case 'scene':
      return { kind: 'scene', id, name: scene, person };
    case 'cloud':
      return { kind: 'cloud', id: null, name: null, person };
    case 'consumer':
      return { kind: 'consumer', id: null, name: nameOfConsumer(id), person: null };
    case null:
      return null;
  }
}

const nameOfConsumer = (id: string | null): string | null =>
  consumerKinds.flatMap((kind) => (kind === id ? consumerNames[kind] : []))[0] ?? null;

const readNotifications: Source = async (db, query) => {
  const { deviceId, userId, before, limit } = query;
  if (!isAbout(query, 'automations') || deviceId !== null || userId !== null) return [];
  let notes = db.selectFrom('notifications').selectAll();
  if (before !== null) notes = notes.where('id', '<', before);
  return (await notes.orderBy('id', 'desc').limit(limit).execute()).map((row) =>
    entryOf(row, 'notification', {
      message: row.message,
      automationId: row.automation_id,
      automationName: row.automation_name,
    }),
  );
};

/** Runs that did not succeed: what the others did is in their commands. */
const readRuns: Source = async (db, query) => {
  const { deviceId, userId, before, limit } = query;
  if (!isAbout(query, 'automations') || deviceId !== null || userId !== null) return [];
  let runs = db
    .selectFrom('automation_runs as run')
    .innerJoin('automations', 'automations.id', 'run.automation_id')
    .select(['run.id', 'run.automation_id', 'run.status', 'run.reason', 'run.started_at', 'run.ended_at'])
    .select('automations.name')
    .where('run.status', 'in', ['failed', 'interrupted', 'missed']);
  if (before !== null) runs = runs.where('run.id', '<', before);
  return (await runs.orderBy('run.id', 'desc').limit(limit).execute()).map((row): ActivityRow => {
    const { automation_id: automationId, name, status, reason } = row;
    const by: ActivityBy = { kind: 'automation', id: automationId, name, person: null };
    const at = row.ended_at ?? row.started_at;
    return { ...entryOf({ ...row, at }, 'automation_run', { automationId, status, reason }), by };
  });
};

const ofPeople = Object.keys(peopleEvents);
const ofDevices = Object.keys(deviceEvents);

/** Members get events of people only when they are about themselves. */
const readStationEvents: Source = async (db, query) => {
  const { about, deviceId, userId, reader, before, limit } = query;
  if (!isAbout(query, 'station', 'people', 'devices')) return [];
  let events = db
    .selectFrom('station_events as event')
    .leftJoin('users', 'users.id', 'event.user_id')
    .select(['event.id', 'event.kind', 'event.data', 'event.at', 'event.user_id', 'users.name']);
  if (about === 'people') events = events.where('event.kind', 'in', ofPeople);
  if (about === 'station') events = events.where('event.kind', 'not in', [...ofPeople, ...ofDevices]);
  if (about === 'devices' || deviceId !== null) events = events.where('event.kind', 'in', ofDevices);
  if (deviceId !== null) events = events.where('event.data', 'like', `%"deviceId":"${deviceId}"%`);
  if (userId !== null) events = events.where((where) => concerns(where, userId));
  if (!isManager(reader.role))
    events = events.where((where) =>
      where.or([where('event.kind', 'not in', ofPeople), concerns(where, reader.userId)]),
    );
  if (before !== null) events = events.where('event.id', '<', before);
  return (await events.orderBy('event.id', 'desc').limit(limit).execute()).map((row): ActivityRow => {
    const { user_id: id, name } = row;
    const by: ActivityBy | null = id === null ? null : { kind: 'person', id, name, person: name };
    return { ...entryOf(row, row.kind, JSON.parse(row.data) as object), by };
  });
};

/** Done by this person, or to them. */
const concerns = (where: ExpressionBuilder<Schema & { event: Schema['station_events'] }, 'event'>, userId: string) =>
  where.or([where('event.user_id', '=', userId), where('event.data', 'like', `%"userId":"${userId}"%`)]);

/** What is not about a device is not told to those who see some zones only. */
const sourcesOfZones: readonly Source[] = [readDeviceEvents, readCommands];
const sources: readonly Source[] = [...sourcesOfZones, readNotifications, readRuns, readStationEvents];

const entryOf = ({ id, at }: { id: string; at: number }, kind: string, data: object): ActivityRow => ({
  id,
  kind,
  at,
  device_id: null,
  data: JSON.stringify(data),
});
