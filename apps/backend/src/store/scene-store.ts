import type { Scene, SceneCommand } from '@station/protocol/scenes';
import type { Database, ScenesTable } from './schema.ts';

export type SceneStore = {
  /** By name. */
  list(): Promise<Scene[]>;
  find(id: string): Promise<Scene | null>;
};

/** Scenes as they are on disk. People and automations run them. */
export const createSceneStore = (db: Database): SceneStore => ({
  list: async () => (await db.selectFrom('scenes').selectAll().orderBy('name').orderBy('id').execute()).map(toScene),
  find: async (id) => {
    const row = await db.selectFrom('scenes').selectAll().where('id', '=', id).executeTakeFirst();
    return row === undefined ? null : toScene(row);
  },
});

export const toScene = ({ id, name, commands }: Pick<ScenesTable, 'id' | 'name' | 'commands'>): Scene => ({
  id,
  name,
  commands: JSON.parse(commands) as SceneCommand[],
});
