/** Runs jobs one after another, in the order they were given. A job that fails does not stop the next. */
export type ExclusiveRunner = {
  /** Resolves or rejects with the job's own outcome. */
  run<T>(job: () => Promise<T>): Promise<T>;
};

export function createExclusiveRunner(): ExclusiveRunner {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run: (job) => {
      const next = last.then(job, job);
      last = next.catch(() => undefined);
      return next;
    },
  };
}
