import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import type { NewScene, Scene, SceneCommand, SceneRun } from '@station/protocol/scenes';
import type { Problem } from '../../api/request.ts';
import { scenesKey } from '../../api/scenes.ts';
import { useServices } from '../../api/services.ts';

type Command<Answer, Input> = UseMutationResult<Answer, Problem, Input>;

/** Sends the commands of a scene. */
export function useRunScene(): Command<SceneRun, string> {
  const { session } = useServices();
  return useMutation({ mutationFn: (id) => session.call('POST /api/scenes/:id/run', { params: { id } }) });
}

/** Adds a scene, or changes the one of this id. */
export function useSaveScene(id: string | null): Command<Scene, NewScene> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (body) =>
      id === null
        ? session.call('POST /api/scenes', { body })
        : session.call('PUT /api/scenes/:id', { params: { id }, body }),
    onSettled: () => queries.invalidateQueries({ queryKey: scenesKey }),
  });
}

/** Sends commands that are no scene yet. */
export function useTryScene(): Command<SceneRun, SceneCommand[]> {
  const { session } = useServices();
  return useMutation({ mutationFn: (commands) => session.call('POST /api/scenes/try', { body: { commands } }) });
}

/** Adds a scene again that was removed; what uses it finds it again. */
export function useAddAgain(): (removed: Scene) => Promise<Scene> {
  const { session, queries } = useServices();
  return (body) =>
    session.call('POST /api/scenes', { body }).finally(() => void queries.invalidateQueries({ queryKey: scenesKey }));
}

export function useRemoveScene(): Command<void, string> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (id) => session.call('DELETE /api/scenes/:id', { params: { id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: scenesKey }),
  });
}
