import { randomUUIDv7 } from 'node:crypto';
import type { Flow } from '@station/protocol/automation-flow';
import type { RunMode } from '@station/protocol/automations';
import type { Clock } from '@station/kit/clock';
import type { Database } from '../store/schema.ts';
import type { AutomationsTable } from './automations-tables.ts';

export type AutomationRow = AutomationsTable;

export type AutomationStore = {
  /** Sorted by name. */
  list(): Promise<AutomationRow[]>;
  find(id: string): Promise<AutomationRow | null>;
  count(): Promise<number>;
  add(automation: { name: string; mode: RunMode; flow: Flow }): Promise<AutomationRow>;
  /**
   * @param revision the change applies only if the stored revision is still this one; null: always.
   * @returns null when there is no such automation, or it has another revision.
   */
  change(id: string, change: AutomationChange, revision: number | null): Promise<AutomationRow | null>;
  remove(id: string): Promise<boolean>;
  /** Ids of the zones. */
  zones(): Promise<string[]>;
  /** Zone by device, of the devices that are in one. */
  zonesOfDevices(): Promise<Map<string, string>>;
  /** A fingerprint that differs after another process changed automations. */
  fingerprint(): Promise<string>;
};

type AutomationChange = {
  name?: string;
  mode?: RunMode;
  flow?: Flow;
  /** The flow that runs from now on; null: none. */
  published?: { mode: RunMode; flow: string } | null;
};

export function createAutomationStore({ db, clock }: { db: Database; clock: Clock }): AutomationStore {
  return {
    list: () => db.selectFrom('automations').selectAll().orderBy('name').orderBy('id').execute(),
    find: async (id) =>
      (await db.selectFrom('automations').selectAll().where('id', '=', id).executeTakeFirst()) ?? null,
    count: async () => {
      const { count } = await db
        .selectFrom('automations')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return Number(count);
    },
    add: ({ name, mode, flow }) =>
      db
        .insertInto('automations')
        .values({
          id: randomUUIDv7(),
          name,
          mode,
          flow: JSON.stringify(flow),
          published_mode: null,
          published_flow: null,
          revision: 1,
          created_at: clock.now(),
          updated_at: clock.now(),
          published_at: null,
        })
        .returningAll()
        .executeTakeFirstOrThrow(),
    change: async (id, change, revision) => {
      let query = db.updateTable('automations').set(columnsOf(change, clock.now())).where('id', '=', id);
      query = query.set((eb) => ({ revision: eb('revision', '+', 1) }));
      if (revision !== null) query = query.where('revision', '=', revision);
      return (await query.returningAll().executeTakeFirst()) ?? null;
    },
    remove: async (id) => {
      const deleted = await db.deleteFrom('automations').where('id', '=', id).executeTakeFirst();
      return deleted.numDeletedRows === 1n;
    },
    zones: async () => (await db.selectFrom('zones').select('id').execute()).map(({ id }) => id),
    zonesOfDevices: async () => {
      const rows = await db.selectFrom('devices').select(['id', 'zone_id']).where('zone_id', 'is not', null).execute();
      return new Map(rows.flatMap(({ id, zone_id }) => (zone_id === null ? [] : [[id, zone_id] as const])));
    },
    fingerprint: async () => {
      const { count, revisions } = await db
        .selectFrom('automations')
        .select(({ fn }) => [fn.countAll<number>().as('count'), fn.sum<number>('revision').as('revisions')])
        .executeTakeFirstOrThrow();
      const { updated } = await db
        .selectFrom('automations')
        .select(({ fn }) => fn.max('updated_at').as('updated'))
        .executeTakeFirstOrThrow();
      return `${count} ${revisions} ${updated}`;
    },
  };
}

function columnsOf({ name, mode, flow, published }: AutomationChange, now: number): Partial<AutomationRow> {
  return {
    updated_at: now,
    ...(name === undefined ? {} : { name }),
    ...(mode === undefined ? {} : { mode }),
    ...(flow === undefined ? {} : { flow: JSON.stringify(flow) }),
    ...(published === undefined
      ? {}
      : {
          published_mode: published?.mode ?? null,
          published_flow: published?.flow ?? null,
          published_at: published === null ? null : now,
        }),
  };
}
