import { Type } from 'typebox';
import { isoTime } from '@station/kit/clock';
import { Id, PageQuery } from '@station/protocol/rest';
import { NewScene, Scene, SceneRun, Scenes as SceneList, SceneTry } from '@station/protocol/scenes';
import { sightOf, userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import type { HttpServer } from '../http/server.ts';
import { type Module, opened } from '../platform/module.ts';
import { createScenes, type Scenes, type ScenesParts } from './scenes.ts';

type ScenesNeeds = Pick<ScenesParts, 'devices' | 'types' | 'commands'> & {
  /** Automations may use a scene. */
  onScenesChanged: () => Promise<void>;
};

export const scenesModule: Module<ScenesNeeds, null> = {
  open: async ({ host: { clock }, store: { db }, hub }, { onScenesChanged, ...needs }) => {
    const onChanged = async (): Promise<void> => {
      await onScenesChanged();
      hub.broadcast({ type: 'scenes_changed', at: isoTime(clock.now()) }, 'scenes_changed');
    };
    const scenes = createScenes({ ...needs, db, onChanged, clock });
    return opened(null, null, { serve: ({ app }) => registerRoutes(app, scenes) });
  },
};

const params = Type.Object({ id: Id });

/** /api/scenes: everybody runs those whose devices they see, owner and admins edit. */
async function registerRoutes(app: HttpServer, scenes: Scenes): Promise<void> {
  const forGuests = { access: 'guest' } as const;
  const forAdmins = { access: { station: 'admin' } } as const;
  const tags = ['scenes'];

  app.get(
    '/api/scenes',
    { config: forGuests, schema: { tags, querystring: PageQuery, response: { 200: SceneList } } },
    async (request, reply) => pageOf({ request, reply }, await scenes.list(sightOf(request)), ({ id }) => id),
  );
  app.post(
    '/api/scenes',
    { config: forAdmins, schema: { tags, body: NewScene, response: { 201: Scene } } },
    async (request, reply) => reply.code(201).send(await scenes.add(request.body)),
  );
  app.put(
    '/api/scenes/:id',
    { config: forAdmins, schema: { tags, params, body: NewScene, response: { 200: Scene } } },
    (request) => scenes.change(request.params.id, request.body),
  );
  app.delete(
    '/api/scenes/:id',
    { config: forAdmins, schema: { tags, params, response: { 204: Type.Null() } } },
    async (request, reply) => {
      await scenes.remove(request.params.id);
      return reply.code(204).send(null);
    },
  );
  app.post(
    '/api/scenes/try',
    { config: forAdmins, schema: { tags, body: SceneTry, response: { 202: SceneRun } } },
    async (request, reply) => reply.code(202).send(await scenes.try(request.body.commands, userOf(request).userId)),
  );
  app.post(
    '/api/scenes/:id/run',
    { config: forGuests, schema: { tags, params, response: { 202: SceneRun } } },
    async (request, reply) =>
      reply.code(202).send(await scenes.run(request.params.id, sightOf(request), userOf(request).userId)),
  );
}
