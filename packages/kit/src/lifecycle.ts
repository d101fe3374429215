/**
 * Runs a program until it is stopped: builds it, waits for SIGTERM or SIGINT, and disposes it.
 * A second signal while stopping ends the process at once.
 * @param start builds everything; what it returns is disposed in the end. It may end the program through `stop`.
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

/** The reason of an abort that ends the program on purpose; `message` names the signal. */
export class Stopping extends Error {
  constructor(signal: string) {
    super(signal);
    this.name = 'Stopping';
  }
}
