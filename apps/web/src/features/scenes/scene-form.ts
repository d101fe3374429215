import { useRef, useState } from 'react';
import type { CommandRequest } from '@station/protocol/device-commands';
import type { Scene, SceneCommand } from '@station/protocol/scenes';

/** A command of the scene that is being made; null: nothing was chosen yet. */
type SceneLine = { key: number; command: SceneCommand | null };

export type SceneForm = {
  name: string;
  rename(name: string): void;
  lines: readonly SceneLine[];
  add(): void;
  change(key: number, command: SceneCommand): void;
  remove(key: number): void;
  /** What the lines of these devices become; other lines stay. */
  takeOver(states: ReadonlyMap<string, readonly CommandRequest[]>): void;
  /** Those that were chosen. */
  commands: readonly SceneCommand[];
  isChanged: boolean;
};

/** A new scene begins with an empty line. */
export function useSceneForm(scene: Scene | null): SceneForm {
  const keys = useRef(0);
  const line = (command: SceneCommand | null): SceneLine => ({ key: ++keys.current, command });
  const [name, rename] = useState(scene?.name ?? '');
  const [lines, setLines] = useState<readonly SceneLine[]>(() => (scene?.commands ?? [null]).map(line));
  const commands = lines.flatMap(({ command }) => command ?? []);
  const [initial] = useState(() => JSON.stringify([name, commands]));
  return {
    name,
    rename,
    lines,
    add: () => setLines([...lines, line(null)]),
    change: (key, command) => setLines(lines.map((one) => (one.key === key ? { key, command } : one))),
    remove: (key) => setLines(lines.filter((one) => one.key !== key)),
    takeOver: (states) => setLines([...linesWithout(lines, states), ...commandsOf(states).map(line)]),
    commands,
    isChanged: JSON.stringify([name, commands]) !== initial,
  };
}

/** Lines that nothing was chosen for make room, too. */
const linesWithout = (
  lines: readonly SceneLine[],
  states: ReadonlyMap<string, readonly CommandRequest[]>,
): readonly SceneLine[] => lines.filter(({ command }) => command !== null && !states.has(command.deviceId));

const commandsOf = (states: ReadonlyMap<string, readonly CommandRequest[]>): SceneCommand[] =>
  [...states].flatMap(([deviceId, requests]) => requests.map((request) => ({ deviceId, ...request })));
