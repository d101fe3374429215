import { useRef, useState } from 'react';
import type { CommandRequest } from '@station/protocol/device-commands';
import type { SceneCommand } from '@station/protocol/scenes';

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

/** What is kept of a scene that is not saved. */
export type SceneDraft = { name: string; commands: readonly SceneCommand[] };

export function isSceneDraft(kept: unknown): kept is SceneDraft {
  const { name, commands } = (kept ?? {}) as Partial<SceneDraft>;
  const isCommand = (one: Partial<SceneCommand> | null): boolean =>
    typeof one?.deviceId === 'string' && typeof one.action === 'string';
  return typeof name === 'string' && Array.isArray(commands) && commands.every(isCommand);
}

/** A new scene begins with an empty line. @param start `saved`, or what was kept. */
export function useSceneForm(saved: SceneDraft, start: SceneDraft): SceneForm {
  const keys = useRef(0);
  const line = (command: SceneCommand | null): SceneLine => ({ key: ++keys.current, command });
  const [name, rename] = useState(start.name);
  const [lines, setLines] = useState<readonly SceneLine[]>(() =>
    (start.commands.length === 0 ? [null] : start.commands).map(line),
  );
  const commands = lines.flatMap(({ command }) => command ?? []);
  return {
    name,
    rename,
    lines,
    add: () => setLines([...lines, line(null)]),
    change: (key, command) => setLines(lines.map((one) => (one.key === key ? { key, command } : one))),
    remove: (key) => setLines(lines.filter((one) => one.key !== key)),
    takeOver: (states) => setLines([...linesWithout(lines, states), ...commandsOf(states).map(line)]),
    commands,
    isChanged: JSON.stringify([name, commands]) !== JSON.stringify([saved.name, saved.commands]),
  };
}

/** Lines that nothing was chosen for make room, too. */
const linesWithout = (
  lines: readonly SceneLine[],
  states: ReadonlyMap<string, readonly CommandRequest[]>,
): readonly SceneLine[] => lines.filter(({ command }) => command !== null && !states.has(command.deviceId));

const commandsOf = (states: ReadonlyMap<string, readonly CommandRequest[]>): SceneCommand[] =>
  [...states].flatMap(([deviceId, requests]) => requests.map((request) => ({ deviceId, ...request })));
