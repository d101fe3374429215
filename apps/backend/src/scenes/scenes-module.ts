import { isoTime } from '@station/kit/clock';
import type { Scene, SceneRun } from '@station/protocol/scenes';
import { wholeStation } from '../core/sight.ts';
import { sightOf, userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { type Module, opened } from '../platform/module.ts';
import { createScenes, type Scenes, type ScenesParts } from './scenes.ts';

type ScenesNeeds = Pick<ScenesParts, 'devices' | 'types' | 'commands'> & {
  /** Automations may use a scene. */
  onScenesChanged: () => Promise<void>;
};

/** For whoever sees the whole station and is no person of it: the cloud. */
type ScenesDoor = { list(): Promise<Scene[]>; run(id: string): Promise<SceneRun> };

export const scenesModule: Module<ScenesNeeds, ScenesDoor> = {
  open: async ({ host: { clock }, store: { db }, hub }, { onScenesChanged, ...needs }) => {
    const onChanged = async (): Promise<void> => {
      await onScenesChanged();
      hub.broadcast({ type: 'scenes_changed', at: isoTime(clock.now()) }, 'scenes_changed');
    };
    const scenes = createScenes({ ...needs, db, onChanged, clock });
    const door: ScenesDoor = {
      list: () => scenes.list(wholeStation),
      run: (id) => scenes.run(id, wholeStation, null),
    };
    return opened(null, door, { serve: ({ app }) => registerRoutes(app, scenes) });
  },
};

/** /api/scenes: everybody runs those whose devices they see, owner and admins edit. */
async function registerRoutes(app: HttpServer, scenes: Scenes): Promise<void> {
  serve(app, 'GET /api/scenes', async (request, reply) =>
    pageOf({ request, reply }, await scenes.list(sightOf(request)), ({ id }) => id),
  );
  serve(app, 'POST /api/scenes', async (request, reply) => reply.code(201).send(await scenes.add(request.body)));
  serve(app, 'PUT /api/scenes/:id', (request) => scenes.change(request.params.id, request.body));
  serve(app, 'DELETE /api/scenes/:id', async (request, reply) => {
    await scenes.remove(request.params.id);
    return reply.code(204).send(null);
  });
  serve(app, 'POST /api/scenes/try', async (request, reply) =>
    reply.code(202).send(await scenes.try(request.body.commands, userOf(request).userId)),
  );
  serve(app, 'POST /api/scenes/:id/run', async (request, reply) =>
    reply.code(202).send(await scenes.run(request.params.id, sightOf(request), userOf(request).userId)),
  );
}
