import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { BadEnd, Exploration, ExploreOptions } from './explorer.ts';

/** Scenarios and flaws go by their names. */
export type Task =
  | { kind: 'crashes'; scenario: string; options: Omit<ExploreOptions, 'flaw'>; flaw?: string }
  | { kind: 'faults'; scenario: string; options: { every: number } };

/** `explore` on a thread of its own: an exploration only computes, and the others need not wait for it. */
export const exploreOnThread = (task: Omit<Extract<Task, { kind: 'crashes' }>, 'kind'>): Promise<Exploration> =>
  onThread({ ...task, kind: 'crashes' });

/** `exploreFaults` on a thread of its own. */
export const exploreFaultsOnThread = (
  task: Omit<Extract<Task, { kind: 'faults' }>, 'kind'>,
): Promise<{ points: number; badEnds: BadEnd[] }> => onThread({ ...task, kind: 'faults' });

/** @throws what the thread threw. */
async function onThread<Answer>(task: Task): Promise<Answer> {
  const worker = new Worker(new URL('exploring-thread.ts', import.meta.url), { workerData: task });
  const [answer] = (await once(worker, 'message')) as [Answer];
  return answer;
}
