import type { Database, DeviceEventsTable, NotificationsTable } from '../store/schema.ts';

type ActivityQuery = {
  /** Null: events of all devices. */
  deviceId: string | null;
  /** Continues before the event with this id; null starts with the newest. */
  before: string | null;
  limit: number;
};

export type ActivityRow = Omit<DeviceEventsTable, 'device_id'> & { device_id: string | null };

export type ActivityStore = {
  /** Newest first. For all devices it includes notifications of automations. It leaves out technical events of devices. */
  page(query: ActivityQuery): Promise<ActivityRow[]>;
};

/** Technical actions that do not interest people: answers to commands, and each step of a download. */
const technicalActions = ['command_ack', 'ota_progress'];

export function createActivityStore(db: Database): ActivityStore {
  const notifications = (before: string | null, limit: number): Promise<NotificationsTable[]> => {
    const query = db.selectFrom('notifications').selectAll().orderBy('id', 'desc').limit(limit);
    return (before === null ? query : query.where('id', '<', before)).execute();
  };
  return {
    page: async ({ deviceId, before, limit }) => {
      let query = db.selectFrom('device_events').selectAll();
      // Filtered here and not by the client: one update would fill whole pages with them.
      for (const action of technicalActions) query = query.where('data', 'not like', `%"action":"${action}"%`);
      if (deviceId !== null) query = query.where('device_id', '=', deviceId);
      if (before !== null) query = query.where('id', '<', before);
      const events = await query.orderBy('id', 'desc').limit(limit).execute();
      if (deviceId !== null) return events;
      const notified = (await notifications(before, limit)).map(toRow);
      // Ids sort by time.
      return [...events, ...notified].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
    },
  };
}

const toRow = ({ id, automation_id, automation_name, message, at }: NotificationsTable): ActivityRow => ({
  id,
  device_id: null,
  kind: 'notification',
  data: JSON.stringify({ message, automationId: automation_id, automationName: automation_name }),
  at,
});
