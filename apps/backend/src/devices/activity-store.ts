import type { Database, DeviceEventsTable } from '../store/schema.ts';

export type ActivityQuery = {
  /** Null: of all devices. */
  deviceId: string | null;
  /** Id of the event before which to go on; null begins with the newest. */
  before: string | null;
  limit: number;
};

export type ActivityStore = {
  /** Newest first. */
  page(query: ActivityQuery): Promise<DeviceEventsTable[]>;
};

export function createActivityStore(db: Database): ActivityStore {
  return {
    page: ({ deviceId, before, limit }) => {
      let query = db.selectFrom('device_events').selectAll();
      if (deviceId !== null) query = query.where('device_id', '=', deviceId);
      if (before !== null) query = query.where('id', '<', before);
      return query.orderBy('id', 'desc').limit(limit).execute();
    },
  };
}
