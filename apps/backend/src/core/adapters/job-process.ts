import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** One JSON object a line, from the process to its parent. */
type JobMessage<Progress, Outcome> = { progress: Progress } | { outcome: Outcome };

/** Keeps the process small beside the backend in one container. */
const nodeFlags = ['--max-semi-space-size=2', '--max-old-space-size=96'];
/** Arguments of the backend's program that make it do one job: at the lowest priority, or at once. */
export const jobArgument = 'backup-job';
export const urgentJobArgument = 'urgent-job';
const maxNoteBytes = 4_000;
/** For a process that was told to end, and for one that was killed. */
const endsWithinMs = 5_000;

/**
 * Does a job in another process of this program, at the lowest priority. The job, which has a passphrase, goes over standard input. The
 * process ends when this one does, or when the signal aborts: it is killed when it does not end by itself, as inside a query of SQLite.
 * @param options.program main file of the backend.
 * @param options.mostSilenceMs it is killed when it reports no progress for so long; unset: it may be silent.
 * @throws JobTooSlowError, or when the process ends without an outcome; the message has the end of its standard error.
 */
export async function runInProcess<Progress, Outcome>(
  job: unknown,
  options: {
    program: string;
    onProgress: (progress: Progress) => void;
    signal: AbortSignal;
    mostSilenceMs?: (last: Progress | null) => number;
    /** Somebody waits for it, so it has the usual priority. What the job writes to descriptor 3 is the content. */
    urgent?: { content: Writable | null };
  },
): Promise<Outcome> {
  const { program, onProgress, signal, mostSilenceMs = () => Infinity, urgent } = options;
  const child = spawn(process.execPath, [...nodeFlags, program, urgent ? urgentJobArgument : jobArgument], {
    env: {},
    stdio: ['pipe', 'pipe', 'pipe', urgent?.content ? 'pipe' : 'ignore'],
  }) as ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable };
  if (urgent?.content) (child.stdio[3] as Readable).pipe(urgent.content, { end: false });
  // Before it has threads: each of them begins with this priority.
  if (child.pid !== undefined && !urgent) lowerPriorityOf(child.pid);
  let note = '';
  child.stderr.on('data', (chunk: Buffer) => {
    note = (note + chunk.toString('utf8')).slice(-maxNoteBytes);
  });
  // A child that ends early has not read its input; the missing outcome shows it.
  child.stdin.on('error', () => undefined);
  // Stays open: its end tells the child that nobody waits any more.
  child.stdin.write(`${JSON.stringify(job)}\n`);
  let outcome: Outcome | undefined;
  using patience = watchSilence(child);
  patience.heard(mostSilenceMs(null));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as JobMessage<Progress, Outcome>;
    if ('outcome' in message) outcome = message.outcome;
    else {
      patience.heard(mostSilenceMs(message.progress));
      onProgress(message.progress);
    }
  });
  using _stopping = endOnAbort(child, signal);
  try {
    const how = await howItEnded(child);
    if (how === hangs) throw new JobHangsError();
    if (patience.isOver()) throw new JobTooSlowError();
    if (outcome === undefined) throw new Error(`The process of a job ended (${how}): ${note.trim()}`);
    return outcome;
  } finally {
    child.kill('SIGKILL');
  }
}

/** The process reported no progress for longer than it may. */
export class JobTooSlowError extends Error {}

/** The kernel does not let its process go: it is inside a file system that does not answer. */
export class JobHangsError extends Error {}

const hangs = 'it hangs';

/** Resolves also when the kernel does not let a killed process go, as inside a file system that hangs. */
function howItEnded(child: ChildProcess): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, name) => resolve(name ?? `exit code ${code}`));
    child.once(wasKilled, () => setTimeout(() => resolve(hangs), endsWithinMs).unref());
  });
}

const wasKilled = 'station-killed';

function kill(child: ChildProcess): void {
  child.kill('SIGKILL');
  child.emit(wasKilled);
}

function watchSilence(child: ChildProcess): Disposable & { heard(mostMs: number): void; isOver(): boolean } {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const end = (): void => {
    isOver = true;
    kill(child);
  };
  return {
    heard: (mostMs) => {
      clearTimeout(timer);
      if (mostMs !== Infinity) timer = setTimeout(end, mostMs);
    },
    isOver: () => isOver,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** Closes the input of the process, which tells it to end; a moment later it is killed. */
function endOnAbort(child: ChildProcess, signal: AbortSignal): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    child.stdin?.end();
    timer = setTimeout(() => kill(child), endsWithinMs);
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    },
  };
}

/** The child's side: reads the job, and writes what it reports. The signal aborts when the parent has ended or cancels. */
export async function serveJob<Job, Progress, Outcome>(
  work: (job: Job, options: { onProgress: (progress: Progress) => void; signal: AbortSignal }) => Promise<Outcome>,
  { isUrgent }: { isUrgent: boolean },
): Promise<void> {
  if (!isUrgent) lowerPriority();
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
  const places = ['station-backend.mjs', '../../main.ts'];
  const found = places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find((path) => existsSync(path));
  if (found === undefined) throw new Error('The main file of the backend is missing');
  return found;
}
