import { isLimited } from '@station/protocol/roles';
import { useUser } from '../api/services.ts';
import { UsedByAutomations } from '../features/automations/used-by-automations.tsx';
import { UsedByScenes } from '../features/scenes/used-by-scenes.tsx';

/** What uses devices, zones or scenes. */
export function UsedByAll(props: { ids: readonly string[]; isLinked?: boolean }) {
  return isLimited(useUser().role) ? null : (
    <>
      <UsedByAutomations {...props} />
      <UsedByScenes {...props} />
    </>
  );
}
