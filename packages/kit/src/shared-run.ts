/**
 * Runs at the same time are one: who asks meanwhile gets the outcome of the run under way, however many ask. The next call after its end
 * runs again.
 */
export function shareRun<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () =>
    (running ??= run().finally(() => {
      running = null;
    }));
}
