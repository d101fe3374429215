import { CommandRow, isCommandComplete } from '../features/automations/command-row.tsx';
import { useSurroundings } from '../features/automations/automations.ts';
import { stateCommands } from '../features/devices/state-commands.ts';
import { ScenePage } from '../features/scenes/scene-page.tsx';

/** A scene that is made or changed, with the commands of automations and what devices know of their own state. */
export function ScenePlace({ id }: { id: string | null }) {
  const around = useSurroundings();
  return (
    <ScenePage
      id={id}
      stateCommands={stateCommands}
      commands={
        around && {
          row: (row) => <CommandRow {...row} around={around} />,
          isComplete: (command) => isCommandComplete(around, command),
        }
      }
    />
  );
}
