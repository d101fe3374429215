/**
 * Starts a program, waits for SIGTERM or SIGINT, and disposes it.
 * A second signal during the stop ends the process immediately.
 * @param start returns the program, which is disposed at the end. It may end the program with `stop`.
 * @returns exit code for `main.ts` to set.
 */
export async function runUntilSignal(
  start: (context: { signal: AbortSignal; stop: (exitCode: number) => void }) => Promise<AsyncDisposable>,
): Promise<number> {
  const controller = new AbortController();
  let exitCode = 0;
  const ended = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort(new Stopping(name));
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const stop = (code: number): void => {
    exitCode = code;
    controller.abort(new Stopping('stop'));
  };
  try {
    await using _running = await start({ signal: controller.signal, stop });
    await ended;
  } catch (error) {
    if (!(controller.signal.aborted && error === controller.signal.reason)) throw error;
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
  return exitCode;
}

/** The abort reason of a regular stop; `message` is the name of the signal. */
export class Stopping extends Error {
  constructor(signal: string) {
    super(signal);
    this.name = 'Stopping';
  }
}
