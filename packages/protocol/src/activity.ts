import { Type, type Static } from 'typebox';
import { Nullable } from './nullable.ts';
import { Id } from './rest.ts';

/** What the activity (GET /api/activity) has beside the events of devices: commands, automations, the station and its people. */

const text = Type.String();
const maybeText = Nullable(text);

/** Events of the station, by kind, with their data. Texts are made by the reader's page. */
const stationEvents = {
  backend_started: Type.Object({ version: text }),
  /** The agent updated the stack, or rolled it back. `isManual`: a person asked for it. */
  updated: Type.Object({ from: maybeText, to: maybeText, isManual: Type.Boolean() }),
  rolled_back: Type.Object({ from: maybeText, to: maybeText, isManual: Type.Boolean() }),
  update_failed: Type.Object({ from: maybeText, to: maybeText, isManual: Type.Boolean() }),
  condition_raised: Type.Object({ source: Type.Enum(['station', 'agent']), condition: text, severity: text }),
  condition_cleared: Type.Object({ source: Type.Enum(['station', 'agent']), condition: text }),
  clock_corrected: Type.Object({ stepMs: Type.Number() }),
  backup_made: Type.Object({}),
  backup_failed: Type.Object({ reason: text }),
  network_lost: Type.Object({}),
  network_back: Type.Object({}),
  hotspot_started: Type.Object({}),
  hotspot_stopped: Type.Object({}),
} as const;

/** Events of people: what was done to whom. Members get those about themselves only. */
export const peopleEvents = {
  member_added: Type.Object({ userId: Id, name: text, role: text }),
  member_removed: Type.Object({ userId: Id, name: text }),
  role_changed: Type.Object({ userId: Id, name: text, role: text }),
  /** From a browser that this person had not used before. `userAgent`: as it names itself. */
  new_login: Type.Object({ userId: Id, userAgent: maybeText, address: text }),
} as const;

/** What became of devices; `name` as it was then. */
export const deviceEvents = {
  device_added: Type.Object({ deviceId: Id, name: text }),
  device_removed: Type.Object({ deviceId: Id, name: text }),
} as const;

export const activityEvents = { ...stationEvents, ...peopleEvents, ...deviceEvents } as const;
export type ActivityEventKind = keyof typeof activityEvents;
export type ActivityEventData<K extends ActivityEventKind> = Static<(typeof activityEvents)[K]>;

const activityTopics = ['devices', 'automations', 'station', 'people'] as const;
export type ActivityTopic = (typeof activityTopics)[number];

/** Who or what did it; `name` and `person` are null when it was removed since, and `id` is null where there is none. */
export const ActivityBy = Type.Object({
  kind: Type.Enum(['person', 'automation', 'scene', 'cloud', 'consumer']),
  id: Nullable(Id),
  name: Nullable(text),
  /** Of a scene: who ran it; null: it is not known. */
  person: Nullable(text),
});
export type ActivityBy = Static<typeof ActivityBy>;

/** What a command did, `data` of an entry of kind `command`. `params`: those that the state of the device shows anyway. */
export const CommandEntry = Type.Object({
  action: text,
  params: Type.Record(Type.String(), Type.Unknown()),
  status: Type.Enum(['pending', 'confirmed', 'failed', 'expired']),
});
export type CommandEntry = Static<typeof CommandEntry>;

/** `before` is the id of the last entry on the previous page. */
export const ActivityQuery = Type.Object(
  {
    before: Type.Optional(Id),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
    about: Type.Optional(Type.Enum([...activityTopics])),
    deviceId: Type.Optional(Id),
    userId: Type.Optional(Id),
  },
  { additionalProperties: false },
);
