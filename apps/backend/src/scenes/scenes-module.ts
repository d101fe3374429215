import { isoTime } from '@station/kit/clock';
import { type Module, opened } from '../platform/module.ts';
import { registerSceneRoutes } from './scene-routes.ts';
import { createScenes, type ScenesParts } from './scenes.ts';

type ScenesNeeds = Pick<ScenesParts, 'devices' | 'types' | 'commands'> & {
  /** Automations may use a scene. */
  onScenesChanged: () => Promise<void>;
};

export const scenesModule: Module<ScenesNeeds, null> = {
  name: 'scenes',
  open: async ({ host: { clock }, store: { db }, hub }, { onScenesChanged, ...needs }) => {
    const onChanged = async (): Promise<void> => {
      await onScenesChanged();
      hub.broadcast({ type: 'scenes_changed', at: isoTime(clock.now()) }, 'scenes_changed');
    };
    const scenes = createScenes({ ...needs, db, onChanged, clock });
    return opened(null, null, { serve: ({ app }) => registerSceneRoutes(app, { scenes }) });
  },
};
