import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** What a run of Node's test runner counted. */
type Totals = Record<(typeof counted)[number], number>;

export type TestRun = { totals: Totals; output: string; seconds: number };

const root = join(import.meta.dirname, '../..');
const counted = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo'] as const;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const running = new Set<ChildProcess>();
let interrupted = false;

/** The tests get the signal too and clean up, so this process keeps waiting for them. */
function forward(signal: NodeJS.Signals): void {
  interrupted = true;
  for (const child of running) child.kill(signal);
}

/** Tests that are told to end clean up meanwhile. */
const cleanUpMs = 60_000;

/**
 * Runs `node --test` from the repository with these arguments. A run that ends without totals counts as one failure.
 * @param options.inside a command that runs what follows it, such as `nice`.
 * @param options.isShown prints what the run prints, as it comes.
 * @param options.limitMinutes a run that takes longer hangs: it is ended and has failed.
 */
export async function runTests(
  args: readonly string[],
  env: Record<string, string> = {},
  {
    inside = [],
    limitMinutes,
    isShown = false,
  }: { inside?: readonly string[]; limitMinutes?: number; isShown?: boolean } = {},
): Promise<TestRun> {
  if (running.size === 0) for (const signal of signals) process.on(signal, forward);
  const started = performance.now();
  const [program = process.execPath, ...rest] = [
    ...inside,
    process.execPath,
    '--test',
    '--test-reporter=spec',
    ...args,
  ];
  const child = spawn(program, rest, {
    cwd: root,
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  if (isShown) {
    child.stdout.pipe(process.stdout, { end: false });
    child.stderr.pipe(process.stderr, { end: false });
  }
  const endHung = limitMinutes === undefined ? null : endAfter(child, limitMinutes);
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [printed, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  const output = endHung?.cancel() ? `${printed}It was ended after ${limitMinutes} minutes.\n` : printed;
  running.delete(child);
  if (running.size === 0) for (const signal of signals) process.off(signal, forward);
  const totals = readTotals(output);
  if (code !== 0 && totals.fail + totals.cancelled === 0) totals.fail = 1;
  return { totals, output: `${errors}${output}`, seconds: (performance.now() - started) / 1000 };
}

/** Ends a program that hangs. `cancel` stops watching, and tells whether it was ended. */
function endAfter(child: ChildProcess, minutes: number): { cancel(): boolean } {
  let isEnded = false;
  let killing: NodeJS.Timeout | undefined;
  const ending = setTimeout(() => {
    isEnded = true;
    child.kill('SIGTERM');
    killing = setTimeout(() => child.kill('SIGKILL'), cleanUpMs);
  }, minutes * 60_000);
  return {
    cancel: () => {
      clearTimeout(ending);
      clearTimeout(killing);
      return isEnded;
    },
  };
}

/** Whether a signal asked this process to end; what has not begun then stays undone. */
export const isInterrupted = (): boolean => interrupted;

/** Before the failures of several runs, together once more: `.ci/run` repeats what follows it. */
const failuresTitle = '✖ failures of all runs:';

/** Adds runs up and prints their failures and the totals as Node's test runner does. @returns the exit code. */
export function printTotals(runs: readonly TestRun[], startedMs: number): 0 | 1 {
  const failed = runs.filter(({ totals }) => totals.fail + totals.cancelled > 0);
  if (runs.length > 1 && failed.length > 0) {
    process.stdout.write(
      `${failuresTitle}\n\n${failed.map(({ output }) => lastLines(failuresOf(output))).join('\n')}\n`,
    );
  }
  const sum = (key: keyof Totals): number => runs.reduce((total, run) => total + run.totals[key], 0);
  const lines = counted.map((key) => `ℹ ${key} ${sum(key)}\n`);
  process.stdout.write(`${lines.join('')}ℹ duration_ms ${Math.round(performance.now() - startedMs)}\n`);
  return sum('pass') > 0 && sum('fail') + sum('cancelled') === 0 && !interrupted ? 0 : 1;
}

/** The failures in a report; all of it when it was cut short. */
export function failuresOf(output: string): string {
  const at = output.indexOf('\n✖ failing tests:');
  return at === -1 ? output : output.slice(at + 1);
}

/** Of a run that was cut short there is all of its output. */
const lastLines = (report: string): string => report.split('\n').slice(-80).join('\n');

function readTotals(output: string): Totals {
  const read = (key: string): number => Number(new RegExp(`^ℹ ${key} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);
  return Object.fromEntries(counted.map((key) => [key, read(key)])) as Totals;
}
