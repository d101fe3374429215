/** A thread that executes one task of `on-thread.ts`, posts the result, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { explore } from './explorer.ts';
import { exploreFaults } from './fault-explorer.ts';
import { flaws } from './flaws.ts';
import type { Task } from './on-thread.ts';
import { scenarioNamed } from './scenarios.ts';

const task = workerData as Task;
const scenario = scenarioNamed(task.scenario);
if (task.kind === 'faults') {
  parentPort?.postMessage(await exploreFaults(scenario, task.options));
} else {
  const flaw = flaws.find(({ name }) => name === task.flaw);
  if (task.flaw !== undefined && flaw === undefined) throw new Error(`There is no flaw named ${task.flaw}`);
  const { counts, badEnds } = await explore(scenario, { ...task.options, ...(flaw === undefined ? {} : { flaw }) });
  parentPort?.postMessage({ counts, badEnds });
}
