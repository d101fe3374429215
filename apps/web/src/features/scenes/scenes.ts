import type { NewScene, Scene, SceneCommand, SceneRun } from '@station/protocol/scenes';
import { type Command, useCommand } from '../../api/command.ts';
import { scenesKey } from '../../api/scenes.ts';
import { useServices } from '../../api/services.ts';

/** Sends the commands of a scene. */
export const useRunScene = (): Command<SceneRun, string> =>
  useCommand((session, id) => session.call('POST /api/scenes/:id/run', { params: { id } }));

/** Adds a scene, or changes the one of this id. */
export const useSaveScene = (id: string | null): Command<Scene, NewScene> =>
  useCommand(
    (session, body) =>
      id === null
        ? session.call('POST /api/scenes', { body })
        : session.call('PUT /api/scenes/:id', { params: { id }, body }),
    { reads: scenesKey },
  );

/** Sends commands that are no scene yet. */
export const useTryScene = (): Command<SceneRun, SceneCommand[]> =>
  useCommand((session, commands) => session.call('POST /api/scenes/try', { body: { commands } }));

/** Adds a scene again that was removed; what uses it finds it again. */
export function useAddAgain(): (removed: Scene) => Promise<Scene> {
  const { session, queries } = useServices();
  return (body) =>
    session.call('POST /api/scenes', { body }).finally(() => void queries.invalidateQueries({ queryKey: scenesKey }));
}

export const useRemoveScene = (): Command<void, string> =>
  useCommand((session, id) => session.call('DELETE /api/scenes/:id', { params: { id } }), { reads: scenesKey });
