import { PageQuery } from './rest.ts';
import { forAdmins, IdParams as params, noContent, type RouteTable } from './route.ts';
import { AddedScene, NewScene, Scene, SceneRun, Scenes, SceneTry } from './scenes.ts';

const tags = ['scenes'];

/** Everybody runs those whose devices they see, owner and admins edit. */
export const sceneRoutes = {
  'GET /api/scenes': { access: 'guest', tags, querystring: PageQuery, response: { 200: Scenes } },
  'POST /api/scenes': { access: forAdmins, tags, body: AddedScene, response: { 201: Scene } },
  'PUT /api/scenes/:id': { access: forAdmins, tags, params, body: NewScene, response: { 200: Scene } },
  'DELETE /api/scenes/:id': { access: forAdmins, tags, params, response: noContent },
  'POST /api/scenes/try': { access: forAdmins, tags, body: SceneTry, response: { 202: SceneRun } },
  'POST /api/scenes/:id/run': { access: 'guest', tags, params, response: { 202: SceneRun } },
} satisfies RouteTable;
