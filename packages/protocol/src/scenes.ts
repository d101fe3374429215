import { Type, type Static } from 'typebox';
import { CommandRequest } from './device-commands.ts';
import { DeviceName } from './devices.ts';
import { Id } from './rest.ts';

/** Bodies of /api/scenes. A scene is a name and a set of commands, which are sent together. */

const closed = { additionalProperties: false } as const;

/** Scenes of one station, and commands of one scene. */
export const maxScenes = 100;
const maxSceneCommands = 100;

/** One that every device understands (restart, reset, …) is refused. */
export const SceneCommand = Type.Object({ deviceId: Id, ...CommandRequest.properties }, closed);
export type SceneCommand = Static<typeof SceneCommand>;
const SceneCommands = Type.Array(SceneCommand, { minItems: 1, maxItems: maxSceneCommands });

/**
 * GET /api/scenes (user) → Scene[], by name; POST (station role admin) → 201 Scene; PUT /:id (station role admin) → Scene; DELETE /:id
 * (station role admin) → 204. 400 with the pointer of each command that its device does not have; 409 conflict: there are too many.
 */
export const Scene = Type.Object({ id: Id, name: Type.String(), commands: Type.Array(SceneCommand) });
export type Scene = Static<typeof Scene>;
export const Scenes = Type.Array(Scene);
export const NewScene = Type.Object({ name: DeviceName, commands: SceneCommands }, closed);
export type NewScene = Static<typeof NewScene>;
/** `id`: of a scene that was removed, so that what uses it finds it again; 409 conflict where there is such a scene. */
export const AddedScene = Type.Object({ ...NewScene.properties, id: Type.Optional(Id) }, closed);
export type AddedScene = Static<typeof AddedScene>;

/** POST /api/scenes/try (station role admin) → 202 SceneRun: sends the commands and keeps no scene. 400 as for POST /api/scenes. */
export const SceneTry = Type.Object({ commands: SceneCommands }, closed);

/**
 * POST /api/scenes/:id/run (user) → 202 SceneRun: which devices the commands were sent to; `device_command` on /ws reports their progress.
 * A device that is gone, offline or does not understand its command does not stop the others.
 */
export const SceneRun = Type.Object({
  sent: Type.Array(Id),
  failed: Type.Array(
    Type.Object({ deviceId: Id, reason: Type.Enum(['removed', 'offline', 'not_understood', 'not_taken']) }),
  ),
});
export type SceneRun = Static<typeof SceneRun>;
