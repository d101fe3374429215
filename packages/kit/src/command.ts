import { spawn } from 'node:child_process';
import { once } from 'node:events';

export type CommandResult = {
  /** Exit code; null when a signal ended it. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** The end of each stream: `keptBytes` of it. */
  stdout: string;
  stderr: string;
};

export type CommandOptions = {
  cwd?: string;
  /** The whole environment of the child: nothing is inherited that is not named here. */
  env: Record<string, string>;
  /**
   * Ends the child and its process group: SIGTERM, then SIGKILL after 5 s, or to what is left of the group once the child has
   * ended. The call then rejects with the signal's reason.
   */
  abort?: AbortSignal;
  /** How much of the end of each output stream to keep; 64 KiB when not given. */
  keptBytes?: number;
  /** Written to standard input, where secrets may go (never into `args`). */
  input?: string;
};

const defaultKeptBytes = 64 * 1024;
const killAfterMs = 5000;

/**
 * Runs a program without a shell and waits for its end. A non-zero exit is a result, not an exception.
 * @throws when the program cannot be started, or the abort signal's reason.
 */
export async function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  options.abort?.throwIfAborted();
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const stdout = keepTail(child.stdout, options.keptBytes);
  const stderr = keepTail(child.stderr, options.keptBytes);
  // A child that ends before it read its input closes the pipe; its exit code reports that.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The group has ended already.
    }
  };
  let killTimer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    kill('SIGTERM');
    killTimer = setTimeout(() => {
      kill('SIGKILL');
      // A process that left the group may hold the streams open for ever.
      child.stdout.destroy();
      child.stderr.destroy();
    }, killAfterMs);
  };
  options.abort?.addEventListener('abort', onAbort, { once: true });
  try {
    const [exitCode, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    options.abort?.throwIfAborted();
    return { exitCode, signal, stdout: stdout(), stderr: stderr() };
  } finally {
    clearTimeout(killTimer);
    if (options.abort?.aborted) kill('SIGKILL');
    options.abort?.removeEventListener('abort', onAbort);
  }
}

function keepTail(stream: NodeJS.ReadableStream, keptBytes = defaultKeptBytes): () => string {
  let chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > 2 * keptBytes) {
      chunks = [Buffer.concat(chunks).subarray(-keptBytes)];
      size = keptBytes;
    }
  });
  return () => Buffer.concat(chunks).subarray(-keptBytes).toString('utf8');
}
