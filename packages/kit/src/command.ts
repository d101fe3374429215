import { spawn } from 'node:child_process';
import { once } from 'node:events';

export type CommandResult = {
  /** Exit code; null when a signal ended it. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** The last `keptBytes` of each stream. */
  stdout: string;
  stderr: string;
};

export type CommandOptions = {
  cwd?: string;
  /** The whole environment of the child; nothing is inherited. */
  env: Record<string, string>;
  /**
   * Ends the process group: SIGTERM, then SIGKILL after 5 s or as soon as the child itself has ended.
   * The call rejects with the signal's reason.
   */
  abort?: AbortSignal;
  /** Bytes of each output stream to keep; default 64 KiB. */
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
  // A child may end before it has read its input; its exit code then shows it.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The group has already ended.
    }
  };
  let killTimer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    kill('SIGTERM');
    killTimer = setTimeout(() => {
      kill('SIGKILL');
      // A process that left the group may keep the streams open.
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
