import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { finished } from 'node:stream/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/**
 * Runs a program so that it never outlives this process, not even when this process is killed with SIGKILL.
 *
 * A shell stands between the two and holds the reading end of a pipe, the lifeline, whose writing end only this process has.
 * When the lifeline ends (closed on purpose, or by the kernel because this process is gone) the shell sends the program
 * SIGTERM and, after a while, SIGKILL; a line on it does the same, with the seconds in between. On a second pipe the shell tells
 * the program's process id and, when it has ended, its exit code; then it kills all that is left of their process group, itself
 * included. Node cannot set PR_SET_PDEATHSIG (prctl(2)), and that would not reach what the program itself started.
 */
const guardScript = (graceMs: number): string => `
exec 4<&0
unset PWD OLDPWD SHLVL
"$@" </dev/null 3>&- 4<&- &
program=$!
(
  read -r seconds <&4 || seconds=${graceMs / 1000}
  kill -s TERM "$program"
  command -p sleep "$seconds"
  kill -s KILL "$program"
) 3>&- >/dev/null 2>&1 &
exec 4<&-
trap '' PIPE
echo "$program" >&3
wait "$program"
echo "$?" >&3
kill -s KILL -- "-$$"
`;

/** Exit code of a killed program (128 + SIGKILL), as in shells and Docker. */
export const killedExitCode = 137;
const defaultGraceMs = 10_000;

export type GuardedProcess = AsyncDisposable & {
  /** The shell's process id, which is also that of the process group. */
  pid: number;
  stdout: Readable;
  stderr: Readable;
  /** Exit code of the program, 128 + n when signal n ended it, 127 when it was not found. It has ended then, with all it started. */
  ended: Promise<number>;
  /** SIGTERM, then SIGKILL when it has not ended after `graceMs`; called again, the shorter time counts. Resolves when it has. */
  stop(graceMs?: number): Promise<void>;
};

/**
 * Starts a program. `stdout` and `stderr` must be read, or it will stall once they are full.
 * @param options.env the whole environment: nothing is inherited that is not named here.
 * @throws when there is no `/bin/sh`, or no process can be started.
 */
export async function startGuarded(
  command: string,
  args: readonly string[],
  options: { env: Readonly<Record<string, string>>; cwd?: string; graceMs?: number },
): Promise<GuardedProcess> {
  const { env, cwd, graceMs: ownGraceMs = defaultGraceMs } = options;
  const shell = spawn('/bin/sh', ['-c', guardScript(ownGraceMs), 'station-guard', command, ...args], {
    env,
    cwd,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    // A process group of its own: it can be killed as a whole, and Ctrl-C at a terminal does not reach it.
    detached: true,
  });
  await once(shell, 'spawn');
  const pid = shell.pid as number;
  const lifeline = shell.stdin;
  lifeline.on('error', () => undefined);
  const outputEnded = finished(shell.stdout, { writable: false }).catch(() => undefined);
  const told = createInterface(shell.stdio[3] as Readable);
  const heard: number[] = [];
  told.on('line', (line) => heard.push(Number(line)));
  const toldAll = once(told, 'close');
  const ended = once(shell, 'exit').then(async () => {
    await toldAll;
    const [, code] = heard;
    if (code !== undefined) return code;
    // The shell itself was killed (its output has ended): its program must not stay.
    kill(-pid);
    await Promise.race([outputEnded, delay(1000, undefined, { ref: false })]);
    return killedExitCode;
  });
  const stop = async (graceMs = ownGraceMs): Promise<void> => {
    // The shell does it; from here only when the time was shortened afterwards, or the shell does not come to it. The id is
    // the program's until its exit code was told: nobody else has waited for it.
    const killAfterMs = lifeline.writableEnded ? graceMs : graceMs + 1000;
    if (!lifeline.writableEnded) lifeline.end(`${graceMs / 1000}\n`);
    const timer = setTimeout(() => heard.length < 2 && kill(heard[0] ?? -pid), killAfterMs);
    await ended;
    clearTimeout(timer);
  };
  return {
    pid,
    stdout: shell.stdout,
    stderr: shell.stderr,
    ended,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** @param pid of a process, or of a process group with a minus sign. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
