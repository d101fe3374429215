import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { BadEnd, Exploration, ExploreOptions } from './explorer.ts';

/** Scenarios and flaws are passed by name. */
export type Task =
  | { kind: 'crashes'; scenario: string; options: Omit<ExploreOptions, 'flaw'>; flaw?: string }
  | { kind: 'faults'; scenario: string; options: { every: number } };

/** `explore` on its own thread: it only computes, so several can run in parallel. */
export const exploreOnThread = (task: Omit<Extract<Task, { kind: 'crashes' }>, 'kind'>): Promise<Exploration> =>
  onThread({ ...task, kind: 'crashes' });

/** `exploreFaults` on its own thread. */
export const exploreFaultsOnThread = (
  task: Omit<Extract<Task, { kind: 'faults' }>, 'kind'>,
): Promise<{ points: number; badEnds: BadEnd[] }> => onThread({ ...task, kind: 'faults' });

/** @throws what the thread threw. */
async function onThread<Answer>(task: Task): Promise<Answer> {
  const worker = new Worker(new URL('exploring-thread.ts', import.meta.url), { workerData: task });
  const [answer] = (await once(worker, 'message')) as [Answer];
  return answer;
}
