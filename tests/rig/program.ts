import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { runCommand, type CommandResult } from '@station/kit/command';

/** Environment of the rig's programs: a fixed search path, and where Node.js keeps what it compiled. */
export const systemEnv: Record<string, string> = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C.UTF-8',
  HOME: '/root',
  ...(process.env['NODE_COMPILE_CACHE'] === undefined ? {} : { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }),
};

export type RunOptions = { cwd?: string; env?: Record<string, string>; input?: string; signal?: AbortSignal };

/** Runs a program without a shell; `env` is added to {@link systemEnv}. A non-zero exit is a result. */
export function tryRun(program: string, args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  return runCommand(program, args, {
    env: { ...systemEnv, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.input === undefined ? {} : { input: options.input }),
    ...(options.signal === undefined ? {} : { abort: options.signal }),
  });
}

/**
 * As {@link tryRun}, but returns standard output without the last line break.
 * @throws with the last lines of standard error when the program fails.
 */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const result = await tryRun(program, args, options);
  if (result.exitCode === 0) return result.stdout.trimEnd();
  const why = result.stderr.trim().split('\n').slice(-8).join('\n');
  throw new Error(`${program} ${args.join(' ')} failed (${result.exitCode ?? result.signal}): ${why}`);
}

export type Daemon = AsyncDisposable & {
  pid: number;
  /** Resolves when the program has ended, whatever the reason. */
  ended: Promise<void>;
  running(): boolean;
  /** The end of what it printed, for error messages. */
  logTail(): Promise<string>;
  /** SIGTERM, and SIGKILL when it has not ended after `graceMs` (10 s). */
  stop(graceMs?: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
};

/** Starts a program that runs until it is stopped; both output streams are appended to `logFile`. Disposing stops it. */
export async function startDaemon(
  program: string,
  args: readonly string[],
  options: { logFile: string; env?: Record<string, string>; cwd?: string },
): Promise<Daemon> {
  const log = openSync(options.logFile, 'a');
  const child = spawn(program, args, {
    env: { ...systemEnv, ...options.env },
    cwd: options.cwd,
    stdio: ['ignore', log, log],
    // Its own group: Ctrl-C at a terminal is for the test, which then stops its programs in order.
    detached: true,
  });
  closeSync(log);
  await once(child, 'spawn');
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  const ended = once(child, 'exit').then(() => undefined);
  const stop = async (graceMs = 10_000): Promise<void> => {
    if (!running()) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await ended;
    clearTimeout(timer);
  };
  return {
    pid: child.pid as number,
    ended,
    running,
    logTail: async () => (await readFile(options.logFile, 'utf8')).slice(-2000),
    stop,
    kill: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** A probe that takes its time, such as a program that is started, is asked less often: it leaves the processor to what it waits for. */
const probeEvery = { leastMs: 50, mostMs: 1000 };

/**
 * Waits until `probe` gives something other than false, null or undefined. It is asked every 50 ms, or after twice the time that it takes, at most a
 * second.
 * @throws after `timeoutMs`, naming `what`; a probe that throws counts as "not yet" and its last error becomes the cause.
 */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T | false | null | undefined> | T | false | null | undefined,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    const asked = performance.now();
    try {
      const value = await probe();
      if (value !== false && value !== null && value !== undefined) return value;
    } catch (error) {
      cause = error;
    }
    const answered = performance.now();
    if (answered > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`, { cause });
    const pauseMs = Math.min(Math.max(probeEvery.leastMs, 2 * (answered - asked)), probeEvery.mostMs);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
