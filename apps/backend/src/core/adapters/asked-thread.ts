import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort, type Transferable, Worker, workerData } from 'node:worker_threads';

type Numbered<Question> = { number: number; question: Question };
type Reply<Answer> = { number: number; answer: Answer } | { number: number; error: string };

/** A thread that answers questions; it runs only while it is used. */
export type AskedThread<Question, Answer> = AsyncDisposable & {
  /** @throws (rejects) when the thread cannot answer, ends, or cannot start. */
  ask(question: Question): Promise<Answer>;
};

/** Most of the heap of such a thread, MiB; V8 ends a thread that needs more. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

/**
 * @param options.data what the thread is given at its start. Structured clone.
 * @param options.idleMs it ends after so long without a question.
 */
export function createAskedThread<Question, Answer>(options: {
  program: () => string;
  data: unknown;
  idleMs: number;
}): AskedThread<Question, Answer> {
  const waiting = new Map<number, PromiseWithResolvers<Answer>>();
  let worker: Worker | null = null;
  let lastNumber = 0;
  let idle: NodeJS.Timeout | undefined;

  const gone = (one: Worker, error: Error): void => {
    if (worker !== one) return;
    worker = null;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const end = async (): Promise<void> => {
    clearTimeout(idle);
    const ending = worker;
    if (ending === null) return;
    gone(ending, new Error('The thread was ended'));
    await ending.terminate();
  };
  const start = (): Worker => {
    const started = new Worker(options.program(), { workerData: options.data, resourceLimits });
    started.on('message', (reply: Reply<Answer>) => {
      const asked = waiting.get(reply.number);
      waiting.delete(reply.number);
      if ('error' in reply) asked?.reject(new Error(reply.error));
      else asked?.resolve(reply.answer);
      if (waiting.size === 0) idle = setTimeout(() => void end(), options.idleMs).unref();
    });
    started.on('error', (error) => gone(started, error instanceof Error ? error : new Error(String(error))));
    started.on('exit', () => gone(started, new Error('The thread ended early')));
    // The process ends when nothing else is left to do.
    started.unref();
    return started;
  };
  return {
    ask: async (question) => {
      clearTimeout(idle);
      worker ??= start();
      lastNumber += 1;
      const answer = Promise.withResolvers<Answer>();
      waiting.set(lastNumber, answer);
      worker.postMessage({ number: lastNumber, question } satisfies Numbered<Question>);
      return answer.promise;
    },
    [Symbol.asyncDispose]: end,
  };
}

/**
 * The thread's side of `AskedThread`.
 * @param open called once with the thread's data. @param niceness of this thread beside the others of the process (Linux).
 * @param given buffers of an answer that are handed over instead of copied.
 */
export function answerQuestions<Question, Answer>(options: {
  niceness: number;
  open: (data: unknown) => (question: Question) => Promise<Answer>;
  given: (answer: Answer) => Transferable[];
}): void {
  lowerPriority(options.niceness);
  const port = parentPort;
  const answerOf = options.open(workerData);
  port?.on('message', ({ number, question }: Numbered<Question>) => {
    answerOf(question).then(
      (answer) => port.postMessage({ number, answer } satisfies Reply<Answer>, options.given(answer)),
      (error: unknown) => port.postMessage({ number, error: String(error) } satisfies Reply<Answer>),
    );
  });
}

/** Linux has a priority for each thread (setpriority(2)). */
function lowerPriority(niceness: number): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness);
  } catch {
    // Elsewhere it is as urgent as the rest.
  }
}
