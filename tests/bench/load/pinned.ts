import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { systemEnv } from '../../rig/program.ts';

/** Core of the measured program, and core of the load. */
export const cores = { measured: 0, load: 1 } as const;

/** @throws when there is no second core for the load. */
export function needTwoCores(): void {
  if (availableParallelism() < 2)
    throw new Error('This bench needs two cores: one for the measured program, one for the load');
}

export type Pinned = AsyncDisposable & { pid: number; child: ChildProcess };

/** Command line that runs a program on only one core. */
export const onCore = (core: number, command: readonly string[]): [string, ...string[]] => [
  'taskset',
  '--cpu-list',
  String(core),
  ...command,
];

/** Starts a script of this repository on one core, with a channel for `request`. Killed when disposed. */
export async function startScript(
  core: number,
  script: string,
  options: { logFile: string; args?: readonly string[]; env?: Readonly<Record<string, string>> },
): Promise<Pinned> {
  const [program, ...args] = onCore(core, [process.execPath, script, ...(options.args ?? [])]);
  const log = openSync(options.logFile, 'a');
  const child = spawn(program, args, { env: { ...systemEnv, ...options.env }, stdio: ['ignore', log, log, 'ipc'] });
  closeSync(log);
  await once(child, 'spawn');
  const ended = once(child, 'exit');
  return {
    pid: child.pid as number,
    child,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Sends a request to a script (see `answerRequests`) and waits for its answer.
 * @throws when the script ends instead, or answers with an error.
 */
export async function request<T>({ child }: Pinned, body: object): Promise<T> {
  const answer = new AbortController();
  const { signal } = answer;
  try {
    const answered = Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(([code]) =>
        Promise.reject(new Error(`A script ended with exit code ${String(code)}`)),
      ),
    ]);
    child.send(body);
    const [message] = (await answered) as [{ error: string } | { result: T }];
    if ('error' in message) throw new Error(message.error);
    return message.result;
  } finally {
    answer.abort();
  }
}

/** The script's side of `request`. */
export function answerRequests<B>(handle: (body: B) => Promise<unknown>): void {
  process.on('message', (body) => {
    handle(body as B).then(
      (result) => process.send?.({ result: result ?? null }),
      (error: unknown) => process.send?.({ error: String(error) }),
    );
  });
}

/** Milliseconds of a clock that all processes of the machine share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;
