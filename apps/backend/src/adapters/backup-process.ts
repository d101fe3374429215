import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** One JSON object a line, from the process to its parent. */
type JobMessage<Progress, Outcome> = { progress: Progress } | { outcome: Outcome };

/** Keeps the process small beside the backend in one container. */
const nodeFlags = ['--max-semi-space-size=2', '--max-old-space-size=96'];
/** Argument of the backend's program that makes it do one job. */
export const jobArgument = 'backup-job';
const maxNoteBytes = 4_000;

/**
 * Does a job in another process of this program, at the lowest priority. The job, which has a passphrase, goes over standard input. The
 * process ends when this one does, or when the signal aborts.
 * @param options.program main file of the backend.
 * @throws when the process ends without an outcome; the message has the end of its standard error.
 */
export async function runInProcess<Progress, Outcome>(
  job: unknown,
  options: { program: string; onProgress: (progress: Progress) => void; signal: AbortSignal },
): Promise<Outcome> {
  const { program, onProgress, signal } = options;
  const child = spawn(process.execPath, [...nodeFlags, program, jobArgument], {
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // Before it has threads: each of them begins with this priority.
  if (child.pid !== undefined) lowerPriorityOf(child.pid);
  let note = '';
  child.stderr.on('data', (chunk: Buffer) => {
    note = (note + chunk.toString('utf8')).slice(-maxNoteBytes);
  });
  // A child that ends early has not read its input; the missing outcome shows it.
  child.stdin.on('error', () => undefined);
  // Stays open: its end tells the child that nobody waits any more.
  child.stdin.write(`${JSON.stringify(job)}\n`);
  let outcome: Outcome | undefined;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as JobMessage<Progress, Outcome>;
    if ('outcome' in message) outcome = message.outcome;
    else onProgress(message.progress);
  });
  const stop = (): void => void child.stdin.end();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const how = await new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, name) => resolve(name ?? `exit code ${code}`));
    });
    if (outcome === undefined) throw new Error(`The process of the backup ended (${how}): ${note.trim()}`);
    return outcome;
  } finally {
    signal.removeEventListener('abort', stop);
    child.kill('SIGKILL');
  }
}

/** The child's side: reads the job, and writes what it reports. The signal aborts when the parent has ended or cancels. */
export async function serveJob<Job, Progress, Outcome>(
  work: (job: Job, options: { onProgress: (progress: Progress) => void; signal: AbortSignal }) => Promise<Outcome>,
): Promise<void> {
  lowerPriority();
  const ending = new AbortController();
  const lines = createInterface({ input: process.stdin });
  const first = Promise.withResolvers<string>();
  lines.once('line', first.resolve);
  lines.once('close', () => {
    first.reject(new Error('No job was given'));
    ending.abort(new Error('The job was cancelled'));
  });
  const send = (message: JobMessage<Progress, Outcome>): void =>
    void process.stdout.write(`${JSON.stringify(message)}\n`);
  const job = JSON.parse(await first.promise) as Job;
  const outcome = await work(job, { onProgress: (progress) => send({ progress }), signal: ending.signal });
  send({ outcome });
  lines.close();
  process.stdin.destroy();
}

/** Everything else on the station goes first. On Linux a priority belongs to one thread, so each one that exists is told. */
export function lowerPriority(): void {
  const threads = existsSync('/proc/self/task') ? readdirSync('/proc/self/task').map(Number) : [process.pid];
  for (const thread of threads) lowerPriorityOf(thread);
}

function lowerPriorityOf(thread: number): void {
  try {
    setPriority(thread, constants.priority.PRIORITY_LOW);
  } catch {
    // Some sandboxes forbid it, or it has just ended; the work is the same.
  }
}

/** The main file of the backend: the built one, or the one of this repository. */
export function findBackendProgram(): string {
  const places = ['station-backend.mjs', '../main.ts'];
  const found = places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find((path) => existsSync(path));
  if (found === undefined) throw new Error('The main file of the backend is missing');
  return found;
}
