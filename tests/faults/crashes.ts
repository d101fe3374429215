import { extremes } from './choice.ts';
import { pruneImages } from './engine-state.ts';
import type { Scenario } from './scenarios.ts';
import { copyWorld, cutPower, damageStateFile, isOpen, killAgent, type World } from './world.ts';

/**
 * One crash: its point in the agent's process, and its kind. `cut`: a power cut, with a survival variant; `kill`: only the
 * agent; `orphan`: the agent, while its `up` continues to the end; `damage`: the agent, and a state file is damaged
 * afterwards.
 */
export type Crash = { point: number; kind: 'cut' | 'kill' | 'orphan' | 'damage'; variant: number };

/** The world right before a crash point takes effect. */
export type Snapshot = { index: number; label: string; world: World };

/** A copy of the world in which the crash has happened and the network has failed. */
export function crashed(snapshot: Snapshot, crash: Crash, scenario: Scenario): World {
  const world = copyWorld(snapshot.world);
  applyCrash(world, crash, scenario);
  return world;
}

export function applyCrash(world: World, crash: Crash, scenario: Scenario): void {
  if (crash.kind === 'cut') cutPower(world, crash.variant);
  else killAgent(world, crash.kind === 'orphan');
  if (crash.kind === 'damage') damageStateFile(world, crash.variant);
  // A person frees disk space while the agent is stopped.
  if (crash.variant % 2 === 1) pruneImages(world.engine);
  world.engine.registry = scenario.recovery;
}

/**
 * The crashes at one point that can have different results.
 * @param randomVariants number of random survival variants beside the extremes, where the results can differ.
 */
export function crashesAt({ index, label, world }: Snapshot, randomVariants: number, random: () => number): Crash[] {
  const at = (kind: Crash['kind'], variant: number): Crash => ({ point: index, kind, variant });
  const kills = [at('kill', index), ...(label.startsWith('engine.up,') ? [at('orphan', index)] : [])];
  if (!isOpen(world)) return [...kills, at('cut', index)];
  const seeds = Array.from({ length: randomVariants }, () => extremes + Math.floor(random() * 1_000_000));
  const variants = [...Array.from({ length: extremes }, (_, variant) => variant), ...seeds];
  return [...kills, ...variants.map((variant) => at('cut', variant))];
}

/**
 * Keeps a copy of the world at each crash point. A health gate repeats the same questions; crashes between them are
 * equal, so only one in `quietEvery` is kept.
 */
export function createSnapshots(world: World, quietEvery: number) {
  const kept: Snapshot[] = [];
  let asked = 0;
  return {
    kept,
    onPoint: (index: number, label: string): void => {
      asked = isQuestion(label) ? asked + 1 : 0;
      if (asked <= 2 || asked % quietEvery === 0) kept.push({ index, label, world: copyWorld(world) });
    },
  };
}

export const isQuestion = (label: string): boolean => label === 'probe' || label === 'engine.containers';

/** `SCENARIO@POINT:KIND:VARIANT,…`, as a wrong result is printed and as `replay.ts` reads it. */
export const describeCrashes = (scenario: Scenario, crashes: readonly Crash[]): string =>
  `${scenario.name}@${crashes.map(({ point, kind, variant }) => `${point}:${kind}:${variant}`).join(',')}`;

export function readCrashes(text: string): Crash[] {
  const parts = text.split(',').filter((part) => part !== '');
  return parts.map((part) => {
    const [point, kind, variant] = part.split(':');
    return { point: Number(point), kind: kind as Crash['kind'], variant: Number(variant) };
  });
}
