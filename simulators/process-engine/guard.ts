import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { finished } from 'node:stream/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/**
 * Runs a program that never outlives this process, not even after a SIGKILL.
 *
 * A shell runs between the two. It reads a pipe, the lifeline, whose writing end only this process has. When the lifeline
 * ends, or a line with a number of seconds arrives, the shell sends the program SIGTERM and later SIGKILL.
 * On a second pipe the shell reports the program's process id and then its exit code. Finally it kills the whole process
 * group, itself included. Node cannot set PR_SET_PDEATHSIG (prctl(2)), and it would not affect grandchildren.
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
  /** Exit code; 128 + n after signal n, 127 when the program was not found. The whole process group has ended then. */
  ended: Promise<number>;
  /** SIGTERM, then SIGKILL after `graceMs`. Resolves when it has ended. In repeated calls the shorter time counts. */
  stop(graceMs?: number): Promise<void>;
};

/**
 * Starts a program. `stdout` and `stderr` must be read, otherwise the program blocks when they are full.
 * @param options.env the whole environment; nothing is inherited.
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
    // Its own process group can be killed as a whole, and Ctrl-C in a terminal does not reach it.
    detached: true,
  });
  await once(shell, 'spawn');
  const pid = shell.pid as number;
  const lifeline = shell.stdin;
  lifeline.on('error', () => undefined);
  const outputEnded = finished(shell.stdout, { writable: false }).catch(() => undefined);
  const reports = createInterface(shell.stdio[3] as Readable);
  const numbers: number[] = [];
  reports.on('line', (line) => numbers.push(Number(line)));
  const allReported = once(reports, 'close');
  const ended = once(shell, 'exit').then(async () => {
    await allReported;
    const [, code] = numbers;
    if (code !== undefined) return code;
    // The shell itself was killed, so its program must be killed here.
    kill(-pid);
    await Promise.race([outputEnded, delay(1000, undefined, { ref: false })]);
    return killedExitCode;
  });
  const stop = async (graceMs = ownGraceMs): Promise<void> => {
    // Usually the shell kills the program. This timer is for a time that was shortened later, and for a blocked shell.
    // The process id stays valid until the exit code is reported.
    const killAfterMs = lifeline.writableEnded ? graceMs : graceMs + 1000;
    if (!lifeline.writableEnded) lifeline.end(`${graceMs / 1000}\n`);
    const timer = setTimeout(() => numbers.length < 2 && kill(numbers[0] ?? -pid), killAfterMs);
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
